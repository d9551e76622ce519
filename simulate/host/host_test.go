package host

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
)

// TestData drives a domain by the commands of testdata, one a line, with blocks of 1 MB, which take 1 ms at
// 1 GB/s. Lines:
//
//	store O KEY...    owner O prepares a store of the blocks that are missing and submits it
//	load O KEY...     loads resident blocks
//	cancel O ID       cancels a load
//	touch KEY...      a look-up of these blocks
//	at T              moves the clock: each owner shows what it sees
//	state             the blocks that may be evicted, the next victim first, and gauges
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var x bench
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				spec := schemas.HostOffloadSpec{Enabled: true, Shared: d.HasArg("shared"), BlockBytes: 1_000_000, D2HGBps: 1, H2DGBps: 1, SharedD2HGBps: 80, SharedH2DGBps: 80}
				owners := 1
				d.MaybeScanArgs(t, "blocks", &spec.Blocks)
				d.MaybeScanArgs(t, "owners", &owners)
				for key, to := range map[string]*float64{
					"latency": &spec.LatencyMS, "d2h": &spec.D2HGBps, "h2d": &spec.H2DGBps, "all-d2h": &spec.SharedD2HGBps, "all-h2d": &spec.SharedH2DGBps,
				} {
					text := ""
					if d.MaybeScanArgs(t, key, &text); text != "" {
						*to, _ = strconv.ParseFloat(text, 64)
					}
				}
				x = bench{}
				domain := NewDomain(spec, -1, false, nil)
				for o := range owners {
					x.owners = append(x.owners, domain.Join(&spec, schemas.PoolAggregated, int32(o)))
				}
				return ""
			}
			x.out.Reset()
			for line := range strings.Lines(d.Input) {
				x.run(t, strings.Fields(line))
			}
			return x.out.String()
		})
	})
}

// bench is a domain with its owners under test.
type bench struct {
	owners []*Owner
	now    float64
	out    strings.Builder
}

func (x *bench) run(t *testing.T, words []string) {
	t.Helper()
	var numbers []uint64
	for _, w := range words[1:] {
		n, err := strconv.ParseFloat(w, 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, uint64(n))
	}
	switch words[0] {
	case "at":
		x.now, _ = strconv.ParseFloat(words[1], 64)
		for i, o := range x.owners {
			own, any := o.Advance(x.now)
			for _, j := range own {
				job := o.Job(j)
				fmt.Fprintf(&x.out, "owner %d: %s %d of %d blocks, %g to %g\n", i, schemas.HostTransferKindNames[job.Kind], job.ID, job.Blocks, job.FirstByteMS, job.EndMS)
				o.Drop(j)
			}
			if any && len(own) == 0 {
				fmt.Fprintf(&x.out, "owner %d wakes\n", i)
			}
		}
	case "store":
		x.store(x.owners[numbers[0]], numbers[1:])
	case "load":
		o := x.owners[numbers[0]]
		var es []int32
		for _, key := range numbers[1:] {
			es = append(es, o.Find(key))
		}
		j := o.Fetch(0, 0, es, x.now, x.now)
		fmt.Fprintf(&x.out, "load %d\n", o.Job(j).ID)
	case "cancel":
		o := x.owners[numbers[0]]
		for j := range o.jobs {
			if o.jobs[j].live && uint64(o.jobs[j].ID) == numbers[1] {
				o.Cancel(int32(j), x.now)
			}
		}
	case "touch":
		x.owners[0].TouchAll(numbers)
	case "state":
		d := x.owners[0].Domain
		for e := d.oldest; e >= 0; e = d.entries[e].newer {
			fmt.Fprintf(&x.out, "%d ", d.entries[e].key)
		}
		_, resident, used := d.Gauges()
		fmt.Fprintf(&x.out, "| resident %d, used %d, next look at %g\n", resident, used, x.owners[0].Due(x.now))
	default:
		t.Fatalf("unknown command %q", words[0])
	}
}

func (x *bench) store(o *Owner, keys []uint64) {
	var missing []uint64
	for _, key := range keys {
		if o.Find(key) < 0 {
			missing = append(missing, key)
		}
	}
	if o.Shared() {
		o.AdvancePool(x.now)
	}
	if !o.MakeRoom(int64(len(missing)), keys, x.now) {
		x.out.WriteString("no room\n")
		return
	}
	j := o.Prepare(0, 0, x.now)
	for _, key := range missing {
		o.Expect(j, key, -1, 0)
	}
	o.Submit(j, x.now)
	fmt.Fprintf(&x.out, "store %d of %d blocks, evicts %v\n", o.Job(j).ID, len(missing), o.gone)
}

// aged is a block of the model: the age counts, not a place in a list.
type aged struct {
	key, age uint64
	pins     int
	pending  bool
}

// TestCacheAgainstModel compares the order of evictions with ages as spec 10 section 3 words them.
func TestCacheAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Int64Range(1, 8).Draw(t, "capacity")
		c := newCache(capacity)
		var blocks []*aged
		clock := uint64(0)
		find := func(key uint64) *aged {
			for _, b := range blocks {
				if b.key == key {
					return b
				}
			}
			return nil
		}
		together := func(set []*aged) {
			clock++
			for _, b := range set {
				b.age = clock
			}
		}
		drawKeys := func() []uint64 {
			return rapid.SliceOfNDistinct(rapid.Uint64Range(1, 12), 1, 5, rapid.ID).Draw(t, "keys")
		}
		some := func(pending, pinned bool) (set []*aged, es []int32) {
			for _, key := range drawKeys() {
				if b := find(key); b != nil && b.pending == pending && (!pinned || b.pins > 0) {
					set, es = append(set, b), append(es, c.Find(key))
				}
			}
			return set, es
		}
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				cohort := drawKeys()
				var missing []uint64
				for _, key := range cohort {
					if find(key) == nil {
						missing = append(missing, key)
					}
				}
				var victims []*aged
				for _, b := range blocks {
					if !b.pending && b.pins == 0 && !slices.Contains(cohort, b.key) {
						victims = append(victims, b)
					}
				}
				slices.SortFunc(victims, func(a, b *aged) int { return cmp.Or(cmp.Compare(a.age, b.age), cmp.Compare(a.key, b.key)) })
				needed := max(0, len(missing)-int(capacity)+len(blocks))
				got := c.makeRoom(int64(len(missing)), cohort)
				if want := needed <= len(victims); got != want {
					t.Fatalf("room for %d: %v, want %v", len(missing), got, want)
				}
				if !got {
					return
				}
				var gone []uint64
				for _, b := range victims[:needed] {
					gone = append(gone, b.key)
					blocks = slices.DeleteFunc(blocks, func(x *aged) bool { return x == b })
				}
				if !slices.Equal(c.gone, gone) {
					t.Fatalf("evicted %v, want %v", c.gone, gone)
				}
				for _, key := range missing {
					c.expect(key, -1, 0)
					blocks = append(blocks, &aged{key: key, pending: true})
				}
			},
			"arrive": func(*rapid.T) {
				set, es := some(true, false)
				for _, b := range set {
					b.pending = false
				}
				together(set)
				c.arrived(es)
			},
			"touch": func(t *rapid.T) {
				keys := drawKeys()
				for i := len(keys) - 1; i >= 0; i-- {
					if b := find(keys[i]); b != nil && !b.pending && b.pins == 0 {
						clock++
						b.age = clock
					}
				}
				c.TouchAll(keys)
			},
			"pin": func(*rapid.T) {
				set, es := some(false, false)
				for _, b := range set {
					b.pins++
				}
				c.pin(es)
			},
			"unpin": func(*rapid.T) {
				set, es := some(false, true)
				var free []*aged
				for _, b := range set {
					if b.pins--; b.pins == 0 {
						free = append(free, b)
					}
				}
				together(free)
				c.unpin(es)
			},
			"": func(t *rapid.T) {
				resident := int64(0)
				for key := range uint64(13) {
					b, e := find(key), c.Find(key)
					if (b == nil) != (e < 0) || b != nil && (c.Pending(e) != b.pending || c.Pinned(e) != (b.pins > 0)) {
						t.Fatalf("block %d: %+v, entry %d", key, b, e)
					}
					if b != nil && !b.pending {
						resident++
					}
				}
				if _, r, used := c.Gauges(); r != resident || used != int64(len(blocks)) {
					t.Fatalf("%d resident of %d, want %d of %d", r, used, resident, len(blocks))
				}
			},
		})
	})
}

// TestPoolConserves checks what any sharing must hold: no transfer ends before its link, or the pool, could
// have moved its bytes, and a clock that stops at more instants ends transfers at nearly the same times.
func TestPoolConserves(t *testing.T) {
	type start struct {
		owner  int
		atMS   float64
		blocks int
	}
	rapid.Check(t, func(t *rapid.T) {
		spec := schemas.HostOffloadSpec{Enabled: true, Shared: true, Blocks: 1000, BlockBytes: 1_000_000, D2HGBps: 1, H2DGBps: 2,
			SharedD2HGBps: rapid.Float64Range(0.5, 4).Draw(t, "all"), SharedH2DGBps: 3, LatencyMS: rapid.Float64Range(0, 1).Draw(t, "latency")}
		var starts []start
		at := 0.0
		for range rapid.IntRange(1, 8).Draw(t, "transfers") {
			at += rapid.Float64Range(0, 2).Draw(t, "later")
			starts = append(starts, start{owner: rapid.IntRange(0, 2).Draw(t, "owner"), atMS: at, blocks: rapid.IntRange(1, 4).Draw(t, "blocks")})
		}
		ends := func(extra []float64) []float64 {
			d := NewDomain(spec, 0, false, nil)
			var owners []*Owner
			for o := range 3 {
				owners = append(owners, d.Join(&spec, schemas.PoolAggregated, int32(o)))
			}
			end := make([]float64, len(starts))
			see := func(now float64) {
				for _, o := range owners {
					own, _ := o.Advance(now)
					for _, j := range own {
						end[o.Job(j).ID] = o.Job(j).EndMS
						o.Drop(j)
					}
				}
			}
			key := uint64(0)
			for _, s := range starts {
				for len(extra) > 0 && extra[0] <= s.atMS {
					see(extra[0])
					extra = extra[1:]
				}
				see(s.atMS)
				o := owners[s.owner]
				j := o.Prepare(0, 0, s.atMS)
				for range s.blocks {
					key++
					o.Expect(j, key, -1, 0)
				}
				o.Submit(j, s.atMS)
			}
			for n := 0; !math.IsInf(d.NextMS(), 1); n++ {
				if n > 1000 {
					t.Fatal("the pool does not come to rest")
				}
				see(d.NextMS())
			}
			return end
		}
		instants := rapid.SliceOfN(rapid.Float64Range(0, 10), 0, 5).Draw(t, "instants")
		slices.Sort(instants)
		alone, more := ends(nil), ends(instants)
		moved := 0.0
		for i, s := range starts {
			if least := s.atMS + spec.LatencyMS + float64(s.blocks)/spec.D2HGBps; alone[i] < least-1e-9 {
				t.Fatalf("transfer %d ends at %g, its link needs until %g", i, alone[i], least)
			}
			if math.Abs(alone[i]-more[i]) > 1e-6 {
				t.Fatalf("transfer %d ends at %g, with more instants at %g", i, alone[i], more[i])
			}
			moved += float64(s.blocks)
		}
		if last := slices.Max(alone); last < starts[0].atMS+moved/spec.SharedD2HGBps-1e-9 {
			t.Fatalf("%g MB until %g through %g GB/s", moved, last, spec.SharedD2HGBps)
		}
	})
}
