package ingest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestIDStore reads lists back in any order, however many of them are in the file.
func TestIDStore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &idStore{limit: rapid.SampledFrom([]int{1, 100, 20_000}).Draw(rt, "limit")}
		defer s.close()
		lists := rapid.SliceOfN(rapid.IntRange(0, 9000), 1, 20).Draw(rt, "lengths")
		first, content := make([]int64, len(lists)), make([][]uint64, len(lists))
		for i, n := range lists {
			for k := range n {
				content[i] = append(content[i], uint64(i)<<40+uint64(k))
			}
			var err error
			if first[i], err = s.add(content[i]); err != nil {
				rt.Fatal(err)
			}
		}
		for range 30 {
			i := rapid.IntRange(0, len(lists)-1).Draw(rt, "list")
			got, err := s.read([]uint64{7}, first[i], lists[i])
			if err != nil || !slices.Equal(got[1:], content[i]) || got[0] != 7 {
				rt.Fatalf("list %d: %d of %d ids, %v", i, len(got)-1, lists[i], err)
			}
		}
	})
}
