package chacha

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The vectors are those of spec 01 section 4.3.
func TestKeyAndDraws(t *testing.T) {
	for _, c := range []struct {
		seed  uint64
		key   string
		draws []uint64
	}{
		{0, "ecf273f981b5cd4587f0467306ad6cadd0d0a3e33317e767f29bea72d78a7dfe", []uint64{0xbb2a3fb2cd2c6f7f, 0xc6017c948e27697b, 0x069dc102cf310a16}},
		{42, "a48fa17b58323d0aeab8a1cc690114b82b8cc87518b4f7548d446ea1e4df20f2", []uint64{0x86cc7763222724a2, 0x8af00a133fad517d, 0xa2ef6071de5134d1}},
		{math.MaxUint64, "2f4792e3d610281035542d952cf95e439ae9347b03ddc537637ac7b04320613e", []uint64{0x0fa798482e3d5fb8, 0x0a3370b44112469e, 0x12a43d6f65c61658}},
	} {
		s := New(c.seed)
		var key []byte
		for _, w := range s.key {
			key = binary.LittleEndian.AppendUint32(key, w)
		}
		if got := hex.EncodeToString(key); got != c.key {
			t.Errorf("seed %d: key %s, want %s", c.seed, got, c.key)
		}
		for i, want := range c.draws {
			if got := s.Uint64(); got != want {
				t.Errorf("seed %d: draw %d is %#x, want %#x", c.seed, i, got, want)
			}
		}
	}
}

func TestFloat64(t *testing.T) {
	s := New(42)
	got := []float64{s.Float64(), s.Float64(), s.Float64()}
	if want := []float64{0.52655740900277381, 0.54272520990314388, 0.63646509914389493}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBelow(t *testing.T) {
	for n, want := range map[uint32][]uint32{
		5:    {0, 2, 1, 2, 4, 3, 4, 2, 4, 0, 3, 2, 1, 3, 0, 4},
		2:    {0, 1, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1},
		1000: {133, 526, 248, 542, 868, 636, 990, 405},
	} {
		s := New(42)
		got := make([]uint32, len(want))
		for i := range got {
			got[i] = s.Below(n)
		}
		if !slices.Equal(got, want) {
			t.Errorf("n %d: got %v, want %v", n, got, want)
		}
	}
}

func TestBelowStaysBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint32Range(1, math.MaxUint32).Draw(t, "n")
		s := New(rapid.Uint64().Draw(t, "seed"))
		for range 100 {
			if v := s.Below(n); v >= n {
				t.Fatalf("%d is not below %d", v, n)
			}
		}
	})
}
