package router

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/kv"
)

var rewrite = flag.Bool("rewrite", false, "write the expected output of data-driven tests anew")

// TestData runs the files in testdata. A line "> command key=value ..." is a command, what follows is
// its output; "#" begins a remark. Commands:
//
//	router   makes a router with workers workers of ranks ranks, and settings
//	hold     worker.rank holds blocks of a path (path=1-8), from= says when; drop takes them back
//	arrive   a request: slot, t, tokens, path (chains, a-b is a range), priority, strict, class
//	first    the request has its first token; end ends it
//	release  hands out waiting requests
//	add, drain, remove  change the workers
//
// After each of them everything that may go on is released.
func TestData(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			s := session{t: t, out: &got}
			for line := range strings.Lines(string(b)) {
				switch {
				case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
					got.WriteString(line)
				case strings.HasPrefix(line, "> "):
					got.WriteString(line)
					s.run(strings.Fields(line[2:]))
				}
			}
			if *rewrite {
				if err := os.WriteFile(name, []byte(got.String()), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(b), got.String()); diff != "" {
				t.Errorf("-file +output:\n%s", diff)
			}
		})
	}
}

// session is a router under test.
type session struct {
	t      *testing.T
	out    *strings.Builder
	router *Router
	now    float64
	values map[string]string
}

func (s *session) number(key string, otherwise float64) float64 {
	text, ok := s.values[key]
	if !ok {
		return otherwise
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.t.Fatalf("%s=%s: %v", key, text, err)
	}
	return v
}

func (s *session) int(key string, otherwise int64) int64 {
	return int64(s.number(key, float64(otherwise)))
}

// path reads a list of chains and ranges of chains.
func (s *session) path() (path []int32) {
	for part := range strings.SplitSeq(s.values["path"], ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && ranged {
			to, err = strconv.Atoi(last)
		}
		if part == "" {
			continue
		}
		if err != nil {
			s.t.Fatalf("path %q: %v", part, err)
		}
		for ; from <= to; from++ {
			path = append(path, int32(from))
		}
	}
	return path
}

func (s *session) run(words []string) {
	s.values = map[string]string{}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		s.values[key] = value
	}
	s.now = s.number("t", s.now)
	slot := int32(s.int("slot", -1))
	worker := int32(s.int("worker", 0))
	switch words[0] {
	case "router":
		s.make()
		return
	case "hold", "drop":
		var events []kv.Event
		for _, chain := range s.path() {
			e := kv.Stored(chain, 0)
			if words[0] == "drop" {
				e = kv.Removed(chain, 0)
			}
			events = append(events, e)
		}
		s.router.Observe(worker, int32(s.int("rank", 0)), events, s.now)
		return
	case "arrive":
		q := Request{Slot: slot, Tokens: s.int("tokens", 0), Path: s.path(), PolicyClass: int32(s.int("class", -1)),
			Priority: int32(s.int("priority", 0)), StrictPriority: uint32(s.int("strict", 0))}
		q.Shared = int64(len(q.Path))
		d, placed, err := s.router.Arrive(&q, s.now)
		switch {
		case err != nil:
			fmt.Fprintln(s.out, "error:", err)
		case placed:
			s.decision(slot, d)
		default:
			fmt.Fprintln(s.out, "waits")
		}
		return
	case "first":
		s.router.Prefilled(slot, s.now)
	case "end":
		s.router.Ended(slot, s.now)
	case "add":
		s.router.AddWorker(worker)
	case "drain":
		s.router.DrainWorker(worker)
	case "remove":
		s.router.RemoveWorker(worker)
	case "release":
	default:
		s.t.Fatalf("there is no command %q", words[0])
	}
	for {
		slot, d, ok := s.router.Release(s.now)
		if !ok {
			return
		}
		fmt.Fprintf(s.out, "at %g: ", s.now)
		s.decision(slot, d)
	}
}

func (s *session) make() {
	spec := schemas.DefaultRouter()
	spec.OverlapCredit = s.number("credit", 1)
	spec.CreditDecay = s.number("decay", 0)
	spec.PrefillLoadScale = s.number("scale", 1)
	spec.ActiveRequestWeight = s.number("weight", 0)
	spec.EventLagMS = s.number("lag", 0)
	spec.EstimatePrefill = s.int("estimate", 0) > 0
	spec.Classes.Classes[0].BusyFraction = s.number("threshold", math.NaN())
	if policy, ok := s.values["policy"]; ok {
		spec.Classes.Classes[0].Policy = schemas.QueuePolicy(policy)
	}
	if _, ok := s.values["classes"]; ok {
		spec.Classes = twoClasses()
	}
	for _, view := range []struct {
		key  string
		pool func() schemas.RouterSpec
	}{{"prefill", spec.Prefill}, {"decode", spec.Decode}} {
		if _, ok := s.values[view.key]; ok {
			spec = view.pool()
		}
	}
	block := s.int("block", 64)
	s.router = New(Config{
		Spec: spec, BlockTokens: block, PathTokens: s.int("element", block), Ranks: int(s.int("ranks", 1)),
		MaxBatchedTokens: s.int("batched", 8192), PolicyClasses: []string{"chat", "bulk", "unknown"},
		// A token takes 0.1 ms.
		Estimate: func(fresh, _ int64) (float64, bool) { return float64(fresh) / 10, true },
	})
	s.now = 0
	for worker := range s.int("workers", 1) {
		s.router.AddWorker(int32(worker))
	}
}

// twoClasses has a family chat with two buckets and a class bulk that requests name.
func twoClasses() schemas.RouterClasses {
	small, large, bulk := schemas.NewRouterClass("small", schemas.QueueFCFS), schemas.NewRouterClass("large", schemas.QueueWSPT), schemas.NewRouterClass("bulk", schemas.QueueFCFS)
	small.Quantum, large.Quantum, bulk.Quantum = 100, 50, 30
	small.BusyTokens, large.BusyTokens, bulk.BusyTokens = 0, 0, 0
	bulk.Explicit, bulk.RequestLimit = true, 2
	return schemas.RouterClasses{
		Classes: []schemas.RouterClass{small, large, bulk}, Families: []string{"chat"}, Bound: []int32{0, 1}, BucketTokens: []int64{0, 200},
	}
}

func (s *session) decision(slot int32, d Decision) {
	fmt.Fprintf(s.out, "%d goes to %d.%d with %d of %d blocks:", slot, d.Worker, d.Rank, d.Selected, d.Best)
	for _, c := range s.router.Candidates() {
		fmt.Fprintf(s.out, " %v", c.Cost)
	}
	fmt.Fprintln(s.out)
}
