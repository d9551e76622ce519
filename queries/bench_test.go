package queries_test

import (
	"testing"

	"github.com/dynosim/dynosim/internal/fakerun"
	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/queries"
	"github.com/dynosim/dynosim/schemas"
)

// fakeRun writes the tables of a realistic run and returns its directory.
func fakeRun(tb testing.TB, s fakerun.Shape) *rundir.Dir {
	tb.Helper()
	dir, err := rundir.Create(tb.TempDir(), rundir.Options{Known: metrics.FileNames()})
	if err != nil {
		tb.Fatal(err)
	}
	r, err := metrics.Open(dir, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Abort()
	if err := fakerun.Fill(r.Sink(), s, metrics.BatchRows); err != nil {
		tb.Fatal(err)
	}
	row := metrics.RunRow{Stack: "dynamo", LastInstantMS: 3_600_000, DecodeWorkerSeconds: 14_400, DecodeGPUsPerWorker: 1, SLA: schemas.NoSLA()}
	if err := r.WriteRun(row); err != nil {
		tb.Fatal(err)
	}
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// BenchmarkReport starts the database and computes the whole report of a realistic run.
func BenchmarkReport(b *testing.B) {
	dir := fakeRun(b, fakerun.Conversation)
	for b.Loop() {
		if _, err := queries.WriteReport(b.Context(), dir, queries.ReportOptions{WallTimeMS: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReportWithRecords does the same with per-request records.
func BenchmarkReportWithRecords(b *testing.B) {
	dir := fakeRun(b, fakerun.Conversation)
	for b.Loop() {
		if _, err := queries.WriteReport(b.Context(), dir, queries.ReportOptions{WallTimeMS: 1, CapturePerRequest: true}); err != nil {
			b.Fatal(err)
		}
	}
}
