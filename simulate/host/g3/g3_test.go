package g3

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/dynosim/dynosim/schemas"
)

// TestData drives storage by the commands of testdata, one a line, with blocks of 1 MB. Lines:
//
//	at T              moves the service to T and shows what completed
//	probe W KEY...    looks blocks up for worker W
//	write W KEY...    offers blocks
//	read W KEY...     reads blocks
//	state             counters and gauges
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var tier *Tier
		now := 0.0
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				spec := schemas.G3OffloadSpec{Enabled: true, Shared: d.HasArg("shared"), ReadGBps: 1, WriteGBps: 1, SharedReadGBps: 80, SharedWriteGBps: 80}
				workers := 1
				d.MaybeScanArgs(t, "blocks", &spec.Blocks)
				d.MaybeScanArgs(t, "workers", &workers)
				for key, to := range map[string]*float64{
					"latency": &spec.LatencyMS, "read": &spec.ReadGBps, "write": &spec.WriteGBps, "all-read": &spec.SharedReadGBps, "all-write": &spec.SharedWriteGBps,
				} {
					text := ""
					if d.MaybeScanArgs(t, key, &text); text != "" {
						*to, _ = strconv.ParseFloat(text, 64)
					}
				}
				tier, now = New(spec, 1_000_000, nil), 0
				for range workers {
					tier.Join()
				}
				return ""
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				words := strings.Fields(line)
				run(t, tier, &now, words, &out)
			}
			return out.String()
		})
	})
}

func run(t *testing.T, tier *Tier, now *float64, words []string, out *strings.Builder) {
	t.Helper()
	if words[0] == "state" {
		resident, pending := tier.Gauges()
		fmt.Fprintf(out, "%+v, resident %d, pending %d, next event at %g\n", tier.Counters, resident, pending, tier.NextMS())
		return
	}
	first, err := strconv.ParseFloat(words[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	if words[0] == "at" {
		*now = first
		for w := range tier.workers {
			own, any := tier.Done(int32(w), *now)
			for _, j := range own {
				x := tier.Job(j)
				fmt.Fprintf(out, "%s of %d blocks by worker %d, job %d: %g to %g\n", schemas.G3TransferKindNames[x.Kind], x.Blocks, w, x.ID, x.SubmittedMS, x.EndMS)
				tier.Drop(j)
			}
			if any && len(own) == 0 {
				fmt.Fprintf(out, "worker %d wakes\n", w)
			}
		}
		return
	}
	worker := int32(first)
	var keys []uint64
	for _, word := range words[2:] {
		key, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	switch words[0] {
	case "probe":
		for _, key := range keys {
			fmt.Fprintf(out, "%d %s\n", key, []string{"absent", "pending", "resident"}[tier.Probe(worker, key)])
		}
	case "write":
		_, written := tier.Write(worker, 0, keys, *now, nil)
		fmt.Fprintf(out, "%d of %d written:", len(written), len(keys))
		for _, i := range written {
			fmt.Fprintf(out, " %d", keys[i])
		}
		out.WriteByte('\n')
	case "read":
		tier.Read(worker, 0, keys, *now)
	default:
		t.Fatalf("unknown command %s", words[0])
	}
}

// TestProperties runs random commands: a store never has more than it may, what is being written stays, and all
// bytes arrive in the end, no sooner than the bandwidths allow.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 3).Draw(rt, "workers")
		spec := schemas.G3OffloadSpec{
			Enabled: true, Shared: rapid.Bool().Draw(rt, "shared"), Blocks: rapid.Int64Range(1, 6).Draw(rt, "blocks"),
			ReadGBps: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(rt, "read"), WriteGBps: rapid.SampledFrom([]float64{0, 0.25, 1}).Draw(rt, "write"),
			SharedReadGBps: 1.5, SharedWriteGBps: 0.75, LatencyMS: rapid.SampledFrom([]float64{0, 0.25}).Draw(rt, "latency"),
		}
		rec := &jobs{}
		tier := New(spec, 1_000_000, rec)
		for range workers {
			tier.Join()
		}
		submitted, now := int64(0), 0.0
		see := func() {
			for w := range workers {
				own, _ := tier.Done(int32(w), now)
				for _, j := range own {
					tier.Drop(j)
				}
			}
		}
		for range rapid.IntRange(1, 40).Draw(rt, "commands") {
			worker := int32(rapid.IntRange(0, workers-1).Draw(rt, "worker"))
			keys := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 9), 1, 4, rapid.ID).Draw(rt, "keys")
			switch rapid.IntRange(0, 2).Draw(rt, "command") {
			case 0:
				if _, written := tier.Write(worker, 0, keys, now, nil); len(written) > 0 {
					submitted++
				}
			case 1:
				var found []uint64
				for _, key := range keys {
					if tier.Probe(worker, key) == Resident {
						found = append(found, key)
					}
				}
				if len(found) > 0 {
					tier.Read(worker, 0, found, now)
					submitted++
				}
				for _, key := range found {
					if !tier.Holds(worker, key) {
						rt.Fatalf("block %d left while it is read", key)
					}
				}
			case 2:
				now += rapid.Float64Range(0, 3).Draw(rt, "wait")
				see()
			}
			for _, s := range tier.stores {
				if int64(len(s.byKey)) > spec.Blocks || s.idle < 0 || s.pending < 0 || s.idle+s.pending > int64(len(s.byKey)) {
					rt.Fatalf("%d blocks of %d, %d idle, %d pending", len(s.byKey), spec.Blocks, s.idle, s.pending)
				}
			}
		}
		for at := tier.NextMS(); !math.IsInf(at, 1); at = tier.NextMS() {
			now = max(now, at)
			see()
		}
		see()
		if _, pending := tier.Gauges(); pending != 0 || int64(len(rec.rows)) != submitted {
			rt.Fatalf("%d blocks pending, %d of %d jobs ended", pending, len(rec.rows), submitted)
		}
		for _, x := range rec.rows {
			link := [2]float64{spec.ReadGBps, spec.WriteGBps}[x.Kind]
			if spec.Shared {
				link = min(rate(link)/1e6, [2]float64{spec.SharedReadGBps, spec.SharedWriteGBps}[x.Kind])
			}
			if took, least := x.EndMS-x.SubmittedMS, spec.LatencyMS+float64(x.Bytes)/rate(link); took < least-1e-9 {
				rt.Fatalf("%+v took %g ms, at least %g are needed", x, took, least)
			}
		}
	})
}

// jobs keeps what ended.
type jobs struct{ rows []Job }

func (r *jobs) StorageTransfer(j *Job) { r.rows = append(r.rows, *j) }
