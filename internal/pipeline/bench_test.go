package pipeline

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate"
)

// BenchmarkConversation measures the simulation of the shipped trace on four workers alone:
// the workload is lowered before, and the rows are thrown away.
func BenchmarkConversation(b *testing.B) {
	for name, overrides := range map[string][]string{
		"vllm": nil,
		"sglang": {"engine.backend=sglang", "engine.workers.aggregated.kv_cache.block_size=1",
			"engine.workers.aggregated.kv_cache.capacity.blocks=2097152"},
		"sglang-page-64": {"engine.backend=sglang"},
		"kv-router-4":    {"router.policy=kv_router"},
		"kv-router-64":   {"router.policy=kv_router", "engine.workers.aggregated.parallelism.replicas=64"},
		"kv-router-1024": {"router.policy=kv_router", "engine.workers.aggregated.parallelism.replicas=1024"},
		"round-robin-64": {"engine.workers.aggregated.parallelism.replicas=64"},
	} {
		b.Run(name, func(b *testing.B) { benchmarkConversation(b, overrides) })
	}
}

func benchmarkConversation(b *testing.B, overrides []string) {
	b.Chdir("../..")
	text, err := os.ReadFile("examples/conversation.yaml")
	if err != nil {
		b.Fatal(err)
	}
	document, err := schemas.ParsePrediction("examples/conversation.yaml", text, schemas.StackDynamo, overrides...)
	if err != nil {
		b.Fatal(err)
	}
	spec, err := document.RunSpec()
	if err != nil {
		b.Fatal(err)
	}
	workload := lowerAll(b, spec)
	b.ReportAllocs()
	var passes int64
	for b.Loop() {
		outcome, err := simulate.Run(context.Background(), spec, workload, schemas.DiscardSink(), nil)
		if err != nil {
			b.Fatal(err)
		}
		passes = outcome.Passes
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(passes)/float64(b.N), "ns/pass")
}

func lowerAll(b *testing.B, spec *schemas.RunSpec) *lower.Workload {
	b.Helper()
	reader, err := ingest.Open(&spec.Source, spec.BlockTokens())
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Close()
	builder := lower.NewBuilder(spec)
	var batch schemas.RequestBatch
	for {
		err := reader.Next(&batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = builder.Add(&batch)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	workload, err := builder.Finish()
	if err != nil {
		b.Fatal(err)
	}
	return workload
}
