package perfmodel

import "testing"

// BenchmarkPasses prices passes of a worker: decode steps of changing batches, prefills of token counts that
// were seen before, and prefills of new ones.
func BenchmarkPasses(b *testing.B) {
	e, err := New(Options{Model: "meta-llama/Meta-Llama-3.1-8B", System: "h200_sxm", Backend: "vllm", Parallel: parallel(1, 1, 1, 1, 1)})
	if err != nil {
		b.Fatal(err)
	}
	p := e.Pricer()
	price := func(_ float64, err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			price(p.DecodeMS(int64(30+i%40), int64(1000+i%5000)))
		}
	})
	b.Run("prefill", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			price(p.PrefillMS(int64(1+i%3), int64(100+i%2000), int64(i%3*512)))
		}
	})
	b.Run("prefill-new", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			price(p.PrefillMS(1, int64(1+i%100000), int64(i%3*512)))
		}
	})
}
