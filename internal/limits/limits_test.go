package limits

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// host is a machine of a test.
type host struct {
	total, available, resident atomic.Int64
	cpus                       int
}

func (h *host) Memory() (total, available int64) { return h.total.Load(), h.available.Load() }
func (h *host) Resident() int64                  { return h.resident.Load() }
func (h *host) CPUs() int                        { return h.cpus }

func machine(total, available, resident int64, cpus int) *host {
	h := &host{cpus: cpus}
	h.total.Store(total)
	h.available.Store(available)
	h.resident.Store(resident)
	return h
}

const gb = 1_000_000_000

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings Settings
		host     *host
		want     Budget
	}{
		{"90 % of what is available", Settings{ReserveBytes: gb}, machine(64*gb, 40*gb, 0, 8), Budget{36 * gb, gb, 7}},
		{"less the reserve", Settings{ReserveBytes: 10 * gb}, machine(64*gb, 40*gb, 0, 8), Budget{30 * gb, 10 * gb, 7}},
		{"the larger reserve", Settings{ReserveBytes: gb, ReserveFraction: 0.25}, machine(64*gb, 40*gb, 0, 8), Budget{24 * gb, 16 * gb, 7}},
		{"as asked", Settings{MemoryBytes: 3 * gb, CPUs: 5}, machine(64*gb, 40*gb, 0, 8), Budget{3 * gb, 0, 5}},
		{"more reserve than memory", Settings{ReserveBytes: 50 * gb}, machine(64*gb, 40*gb, 0, 1), Budget{1, 50 * gb, 1}},
		{"nothing known", Settings{ReserveBytes: gb}, machine(0, 0, 0, 2), Budget{0, gb, 1}},
	} {
		if got := New(c.settings, c.host); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestWatchEndsRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(h *host)
		want   string
	}{
		{"resident memory", func(h *host) { h.resident.Store(2 * gb) }, "holds 2.00 GB of memory, the limit is 2.00 GB"},
		{"reserve", func(h *host) { h.available.Store(gb / 2) }, "0.50 GB of the host's memory are available, 1.00 GB must stay free"},
		{"neither", func(h *host) { h.resident.Store(gb); h.available.Store(gb) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := machine(8*gb, 4*gb, gb/4, 2)
				ctx, w := Start(t.Context(), Budget{MemoryBytes: 2 * gb, ReserveBytes: gb}, h)
				time.Sleep(time.Second)
				if ctx.Err() != nil {
					t.Fatalf("ended within the budget: %v", context.Cause(ctx))
				}
				c.change(h)
				time.Sleep(time.Second)
				reached := Cause(ctx)
				switch {
				case c.want == "" && ctx.Err() != nil:
					t.Errorf("ended: %v", context.Cause(ctx))
				case c.want != "" && (reached == nil || !strings.Contains(reached.Error(), c.want)):
					t.Errorf("the cause is %v", context.Cause(ctx))
				}
				h.resident.Store(gb / 8)
				if peak := w.Stop(); peak != max(gb/4, h.resident.Load()) && c.name == "reserve" || peak < gb/4 {
					t.Errorf("peak %d", peak)
				}
			})
		})
	}
}

// TestWatchLooksAtOnce wants a run that cannot begin to end before it does.
func TestWatchLooksAtOnce(t *testing.T) {
	ctx, w := Start(t.Context(), Budget{MemoryBytes: 1}, machine(gb, gb, 2, 1))
	defer w.Stop()
	if Cause(ctx) == nil {
		t.Error("the run goes on")
	}
}

// TestSystem looks at this machine.
func TestSystem(t *testing.T) {
	var s System
	total, available := s.Memory()
	if total == 0 {
		t.Skip("nothing is known of the memory of this system")
	}
	if resident := s.Resident(); available <= 0 || available > total || resident <= 0 || resident > total || s.CPUs() < 1 {
		t.Errorf("total %d, available %d, resident %d, %d processors", total, available, resident, s.CPUs())
	}
}
