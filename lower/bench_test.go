package lower_test

import (
	"testing"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// BenchmarkInterning lowers prompts of 24 blocks of which conversations share the first 16, with ids
// that are numbered already (as in published traces) and with hashes.
func BenchmarkInterning(b *testing.B) {
	spec := &schemas.RunSpec{Source: schemas.SourceSpec{Kind: schemas.SourceTrace, Format: schemas.FormatMooncake},
		Load: schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: 1}}
	for name, factor := range map[string]uint64{"numbered": 1, "hashed": 0x9E3779B97F4A7C15} {
		b.Run(name, func(b *testing.B) {
			var batches []*schemas.RequestBatch
			blocks, next := 0, uint64(1)
			for range 20 {
				var rows []request
				for i := range 1000 {
					at := float64(len(batches)*1000 + i)
					r := request{line: int64(at) + 1, input: 24 * 512, timestamp: &at, blocks: make([]uint64, 24)}
					for j := 1; j < 24; j++ {
						if i%3 > 0 && j < 16 {
							r.blocks[j] = rows[i-1].blocks[j]
							continue
						}
						r.blocks[j] = next * factor
						next++
					}
					blocks += 24
					rows = append(rows, r)
				}
				batches = append(batches, batchOf(512, rows))
			}
			b.ReportAllocs()
			for b.Loop() {
				builder := lower.NewBuilder(spec)
				for _, batch := range batches {
					if err := builder.Add(batch); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := builder.Finish(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(blocks), "ns/block")
			b.ReportMetric(float64(next), "distinct-blocks")
		})
	}
}
