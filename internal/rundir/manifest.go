package rundir

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ManifestFormat is the version of the manifest's own layout.
const ManifestFormat = 1

// Stage states of a manifest.
const (
	StateComplete = "complete"
	StateFailed   = "failed"
)

// Manifest describes a run directory. Two runs of the same program over the same input
// have the same manifest but for WallClock.
type Manifest struct {
	Format int `json:"format"`
	// Program is the version of the program that wrote the run.
	Program string `json:"program"`
	// ConfigDigest identifies the configuration after defaults and overrides.
	ConfigDigest string `json:"config_digest"`
	// Inputs are the files read, in the order in which the configuration names them.
	Inputs []InputEntry `json:"inputs"`
	// Stages tells which stages ended well, in their order.
	Stages []StageEntry `json:"stages"`
	// Ingest and Lower say what the tables of these stages do not; nil when they are not here.
	Ingest *IngestStage `json:"ingest,omitempty"`
	Lower  *LowerStage  `json:"lower,omitempty"`
	// Tables and Files are filled in by Dir.WriteManifest, sorted by name.
	Tables []TableEntry `json:"tables"`
	Files  []string     `json:"files"`
	// WallClock holds everything that differs between two equal runs.
	WallClock WallClock `json:"wall_clock"`
}

// InputEntry is one input file.
type InputEntry struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
	// Lines is the number of lines of a file that was read as a part of one source; 0 for others.
	Lines int64 `json:"lines,omitempty"`
	// Name is the name of a file below its corpus, where names matter.
	Name string `json:"name,omitempty"`
}

// IngestStage describes the tables of the stage ingest.
type IngestStage struct {
	// Digest identifies the content of the tables: equal inputs and settings have equal digests.
	Digest   string         `json:"digest"`
	Settings SourceSettings `json:"settings"`
	// BlockTokens is the number of tokens a block id stands for, 0 without blocks.
	BlockTokens int64 `json:"block_tokens"`
	// Graph says what an agentic source was; nil for others.
	Graph *GraphEntry `json:"graph,omitempty"`
}

// GraphEntry is an agentic source as the report shows it (spec 02 section 7.5).
type GraphEntry struct {
	Format string `json:"format"`
	Digest string `json:"digest"`
	// NestedTimestampBasis is the resolved one of a weka corpus.
	NestedTimestampBasis string `json:"nested_timestamp_basis,omitempty"`
}

// SourceSettings are the settings on which the tables of ingest depend; what has no effect is zero.
type SourceSettings struct {
	Kind   string `json:"kind"`
	Format string `json:"format,omitempty"`
	// BlockTokens is the block size that was asked for; 0 takes it from the file.
	BlockTokens       int64   `json:"block_tokens,omitempty"`
	InputTokens       int64   `json:"input_tokens,omitempty"`
	OutputTokens      int64   `json:"output_tokens,omitempty"`
	Count             int64   `json:"count,omitempty"`
	Turns             int64   `json:"turns,omitempty"`
	InterTurnDelayMS  float64 `json:"inter_turn_delay_ms,omitempty"`
	SharedPrefixRatio float64 `json:"shared_prefix_ratio,omitempty"`
	PrefixGroups      int64   `json:"prefix_groups,omitempty"`
	EngineBlockTokens int64   `json:"engine_block_tokens,omitempty"`
	// NestedTimestampBasis is the one that was asked for, for format weka.
	NestedTimestampBasis string `json:"nested_timestamp_basis,omitempty"`
	// Requests identifies requests that the specification has itself.
	Requests string `json:"requests,omitempty"`
}

// LowerStage describes the tables of the stage lower.
type LowerStage struct {
	// Digest identifies the content of the tables: it covers the digest of ingest.
	Digest   string       `json:"digest"`
	Settings LoadSettings `json:"settings"`
	// BlockTokens is the number of tokens a row of chains stands for, 0 without chains.
	BlockTokens int64 `json:"block_tokens"`
	// Delta says that the nodes describe only the new input of their turn.
	Delta bool `json:"delta"`
	// Graph describes the graph of an agentic source; nil for others.
	Graph *LoweredGraph `json:"graph,omitempty"`
}

// LoweredGraph is a graph of plays as the report shows it (spec 02 section 7.5).
type LoweredGraph struct {
	Digest      string   `json:"digest"`
	BlockTokens int64    `json:"block_tokens"`
	Nodes       int      `json:"nodes"`
	Plays       int      `json:"plays"`
	Models      []string `json:"models"`
}

// LoadSettings are the settings on which the tables of lower depend; what has no effect is zero.
type LoadSettings struct {
	Kind          string  `json:"kind"`
	Concurrency   int64   `json:"concurrency,omitempty"`
	IntervalMS    float64 `json:"interval_ms,omitempty"`
	RatePerSecond float64 `json:"rate_per_second,omitempty"`
	Seed          uint64  `json:"seed,omitempty"`
	Speedup       float64 `json:"speedup,omitempty"`
	// Snapshot leaves the times of a graph as they were recorded.
	Snapshot bool `json:"snapshot,omitempty"`
}

// StageEntry is one stage: ingest, lower, simulate or report.
type StageEntry struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Error says why a failed stage failed.
	Error string `json:"error,omitempty"`
}

// TableEntry is one published table.
type TableEntry struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Stage   string `json:"stage"`
	Rows    int64  `json:"rows"`
	Bytes   int64  `json:"bytes"`
}

// WallClock holds real times.
type WallClock struct {
	// StartedAt is the start of the run in RFC 3339.
	StartedAt string `json:"started_at,omitempty"`
	// SimulationMS is the real duration of the simulation.
	SimulationMS float64 `json:"simulation_ms"`
}

// WriteManifest completes m with what was published and writes it. It is the last file
// of a run.
func (d *Dir) WriteManifest(m Manifest) error {
	d.mu.Lock()
	m.Format = ManifestFormat
	m.Tables = slices.Clone(d.tables)
	m.Files = slices.Clone(d.names)
	d.mu.Unlock()
	slices.SortFunc(m.Tables, func(a, b TableEntry) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(m.Files)
	// Empty lists, not null: readers iterate over them.
	m.Tables, m.Files = orEmpty(m.Tables), orEmpty(m.Files)
	m.Inputs, m.Stages = orEmpty(m.Inputs), orEmpty(m.Stages)
	b, err := json.MarshalIndent(&m, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(d.path, ManifestName), err)
	}
	f, err := d.NewFile(ManifestName)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		f.Abort()
		return err
	}
	return d.Publish(f)
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// ReadManifest reads the manifest of the run directory path. A directory without one is
// not a complete run: the error says so and wraps fs.ErrNotExist.
func ReadManifest(path string) (*Manifest, error) {
	name := filepath.Join(path, ManifestName)
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not a complete run directory: cannot read %s: %w", path, ManifestName, cause(err))
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%s: not a manifest: %w", name, err)
	}
	if m.Format != ManifestFormat {
		return nil, fmt.Errorf("%s: manifest format %d, this program reads format %d", name, m.Format, ManifestFormat)
	}
	return &m, nil
}
