package inspect

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestFiguresOfLengths compares with sorting everything.
func TestFiguresOfLengths(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 300), 1, 200).Draw(rt, "values")
		var l lengths
		want := Lengths{}
		for _, v := range values {
			l.add(v, 1)
			want.Sum += v
		}
		rank := func(percent int) int64 {
			for v := int64(0); ; v++ {
				below := 0
				for _, x := range values {
					if x <= v {
						below++
					}
				}
				if below*100 >= percent*len(values) {
					return v
				}
			}
		}
		want.P50, want.P90, want.P99, want.Max = rank(50), rank(90), rank(99), rank(100)
		if got := l.figures(); got != want {
			rt.Fatalf("%+v, want %+v", got, want)
		}
	})
}

// TestLargeLengths checks that large values keep their order and nearly their size.
func TestLargeLengths(t *testing.T) {
	var l lengths
	for i := range int64(100) {
		l.add(i*1_000_003_000, 1)
	}
	l.add(math.MaxInt64-1<<42, 1)
	f := l.figures()
	if want := float64(50) * 1_000_003_000; math.Abs(float64(f.P50)-want) > want/65536 || f.Max != math.MaxInt64-1<<42 {
		t.Errorf("%+v, want a median near %g and the exact maximum", f, want)
	}
}

// TestSample compares estimates with what is known of a stream that is far beyond the limit, and the
// exact result below it.
func TestSample(t *testing.T) {
	for _, n := range []int{1000, 3 * sampleLimit} {
		var s sample
		for round := range 2 {
			for i := range n {
				s.add(mix(uint64(i)), 1)
			}
			off := math.Abs(s.fresh-float64(n)) / float64(n)
			if n <= sampleLimit && off != 0 || off > 0.01 {
				t.Errorf("round %d over %d things: %g new ones", round, n, s.fresh)
			}
		}
		if s.n > sampleLimit || s.all != float64(2*n) {
			t.Errorf("%d things: %d remembered, all %g", n, s.n, s.all)
		}
	}
}

func TestSessionsAreBounded(t *testing.T) {
	var s sessions
	name := make([]byte, 3)
	total := int64(1 << 20)
	for i := range total {
		name[0], name[1], name[2] = byte(i), byte(i>>8), byte(i>>16)
		s.add(string(name))
		s.add(string(name))
	}
	n, oneIn, turns := s.figures()
	if math.Abs(float64(n-total)) > 0.02*float64(total) || oneIn < 2 || len(s.turns) > sessionLimit || turns.Max < 2 {
		t.Errorf("%d sessions, one in %d, %d kept, turns %+v; want about %d", n, oneIn, len(s.turns), turns, total)
	}
}
