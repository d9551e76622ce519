package perfdata_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/dynosim/dynosim/internal/perfdata"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

var llama = operators.AttentionKey{KVHeads: 8, HeadSize: 128}

func open(b *testing.B) *operators.Tables {
	sets, err := embeddedOnly()
	if err != nil {
		b.Fatal(err)
	}
	t, err := perfdata.OpenIn(sets, "h200_sxm", "vllm", "")
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// openFolder is open without anything that was read before.
func openFolder(b *testing.B) *operators.Tables {
	s, err := perfdata.OpenFolder("data")
	if err != nil {
		b.Fatal(err)
	}
	t, err := perfdata.OpenIn([]*perfdata.Set{s}, "h200_sxm", "vllm", "")
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// BenchmarkOpen opens a set and answers the first queries of a dense model: catalogue, footers and
// the row groups of one mode.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		t := openFolder(b)
		_, err1 := t.GEMM(operators.BFloat16, false, 7, 4096, 4096)
		_, err2 := t.PrefillAttention(llama, 32, 1, 1000, 0)
		_, err3 := t.DecodeAttention(llama, 32, 1, 1000)
		_, err4 := t.AllReduce(2, 4096)
		if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
			b.Fatal(err1, err2, err3, err4)
		}
	}
}

func BenchmarkOpenCatalogue(b *testing.B) {
	for b.Loop() {
		if _, err := perfdata.OpenFolder("data"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenExperts(b *testing.B) {
	for b.Loop() {
		t := openFolder(b)
		if _, err := t.Experts(experts, 100); err != nil {
			b.Fatal(err)
		}
	}
}

var experts = operators.ExpertsKey{Mode: operators.BFloat16, Distribution: "power_law_1.2", TopK: 8, Experts: 128, Hidden: 2048, Inter: 768, TP: 1, EP: 1}

func BenchmarkOperator(b *testing.B) {
	t := open(b)
	site, err1 := t.PrepareGEMM(operators.BFloat16, false, 4096, 4096)
	noSite, err2 := t.PrepareGEMM(operators.BFloat16, false, 4100, 4097)
	prefill, err3 := t.PreparePrefillAttention(llama, 32)
	decode, err4 := t.PrepareDecodeAttention(llama, 32)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		b.Fatal(err1, err2, err3, err4)
	}
	for _, c := range []struct {
		name string
		ask  func(i int64) (float64, error)
	}{
		{"gemm", func(i int64) (float64, error) { return site.MS(1 + i&1023) }},
		{"gemm-neighbours", func(i int64) (float64, error) { return noSite.MS(1 + i&1023) }},
		{"prefill", func(i int64) (float64, error) { return prefill.MS(1, 1+i&4095, 0) }},
		{"decode", func(i int64) (float64, error) { return decode.MS(1+i&63, 1000+i&4095) }},
		{"decode-hold", func(i int64) (float64, error) { return decode.MS(2000+i&63, 200_000+i&4095) }},
		{"all-reduce", func(i int64) (float64, error) { return t.AllReduce(2, float64(4096*(1+i&63))) }},
		{"experts", func(i int64) (float64, error) { return t.Experts(experts, 1+i&1023) }},
		{"memory", func(i int64) (float64, error) { return t.Memory(float64(i)), nil }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			i := int64(0)
			for b.Loop() {
				if _, err := c.ask(i); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// BenchmarkFiles says how large the embedded set is.
func BenchmarkFiles(b *testing.B) {
	total := int64(0)
	for b.Loop() {
		total = 0
		err := fs.WalkDir(os.DirFS("data"), ".", func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			total += info.Size()
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(total)/(1<<20), "MiB")
}
