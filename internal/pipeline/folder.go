package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/schemas"
)

// ingestTables and lowerTables are the tables of the two stages before the simulation, in order.
func ingestTables(format schemas.TraceFormat) []string { return tablesOf("ingest", format) }
func lowerTables(format schemas.TraceFormat) []string  { return tablesOf("lower", format) }

func tablesOf(stage string, format schemas.TraceFormat) (names []string) {
	for _, t := range schemas.AllTables {
		if t.Stage == stage && (!t.Agentic || format.MayBeAgentic()) {
			names = append(names, t.Name)
		}
	}
	return names
}

// folder is a complete folder that holds the tables of ingest, and those of lower too when it
// is a lowered one.
type folder struct {
	path     string
	manifest *rundir.Manifest
}

// openFolder opens the folder path, which must have the tables of the stages given.
func openFolder(path string, stages ...string) (*folder, error) {
	m, err := rundir.ReadManifest(path)
	if errors.Is(err, fs.ErrNotExist) {
		made := map[int]string{1: "an ingested", 2: "a lowered"}[len(stages)]
		err = fmt.Errorf("%s is not %s folder: it has no %s, which a complete one has", path, made, rundir.ManifestName)
		if _, there := os.Stat(path); there != nil {
			err = fmt.Errorf("cannot open folder %s: %w", path, plain(there))
		}
	}
	if err != nil {
		return nil, &InputError{err}
	}
	for _, stage := range stages {
		if stage == "ingest" && m.Ingest == nil || stage == "lower" && m.Lower == nil {
			return nil, &InputError{fmt.Errorf("%s has no tables of the stage %s: make them with dynosim %s", path, stage, stage)}
		}
		for _, t := range schemas.AllTables {
			if t.Stage != stage || t.Agentic && !schemas.TraceFormat(m.Ingest.Settings.Format).MayBeAgentic() {
				continue
			}
			i := slices.IndexFunc(m.Tables, func(e rundir.TableEntry) bool { return e.Name == t.Name })
			if i < 0 {
				return nil, &InputError{fmt.Errorf("%s has no table %s, which the stage %s leaves", path, t.Name, stage)}
			}
			if v := m.Tables[i].Version; v != t.Version {
				return nil, &InputError{fmt.Errorf("%s: table %s has version %d, this program reads version %d", path, t.Name, v, t.Version)}
			}
		}
	}
	return &folder{path, m}, nil
}

// tables reads the folder's tables.
func (f *folder) tables() *metrics.Folder { return metrics.OpenFolder(f.path, f.manifest) }

// adopt starts the named tables of the folder in dir, as links, and returns the files and their entries.
func (f *folder) adopt(dir *rundir.Dir, names []string) (files []*rundir.File, entries []rundir.TableEntry, err error) {
	for _, e := range f.manifest.Tables {
		if !slices.Contains(names, e.Name) {
			continue
		}
		file, err := dir.Adopt(e.Name+".parquet", filepath.Join(f.path, e.Name+".parquet"))
		if err != nil {
			return nil, nil, err
		}
		files, entries = append(files, file), append(entries, e)
	}
	return files, entries, nil
}

// link publishes the named tables of the folder in dir.
func (f *folder) link(dir *rundir.Dir, names []string) error {
	files, entries, err := f.adopt(dir, names)
	if err != nil {
		return err
	}
	if err := dir.Publish(files...); err != nil {
		return err
	}
	for _, e := range entries {
		dir.AddTable(e)
	}
	return nil
}

// place names a row of the folder for a message, by its line in the source.
func (f *folder) place(line int64) string {
	m := f.manifest
	if m.Ingest.Settings.Kind == string(schemas.SourceSynthetic) || len(m.Inputs) == 0 {
		return fmt.Sprintf("request %d", line)
	}
	if m.Ingest.Settings.Format == string(schemas.FormatDynamo) {
		return fmt.Sprintf("%s: request %d in order of start", m.Inputs[0].Path, line)
	}
	at := 0
	for ; at < len(m.Inputs)-1 && line > m.Inputs[at].Lines; at++ {
		line -= m.Inputs[at].Lines
	}
	name := m.Inputs[at].Path
	if name == "-" {
		name = "standard input"
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// workload reads a lowered folder.
func (f *folder) workload() (*lower.Workload, error) {
	w, err := f.restore()
	if err != nil {
		return nil, err
	}
	if err := w.Check(); err != nil {
		return nil, f.damaged(err)
	}
	return w, nil
}

// damaged is the error of tables that do not fit together.
func (f *folder) damaged(err error) error {
	return fmt.Errorf("%s: its tables are not those of a lowered workload: %w", f.path, err)
}

func (f *folder) restore() (*lower.Workload, error) {
	stage := f.manifest.Lower
	w := &lower.Workload{BlockTokens: stage.BlockTokens, Delta: stage.Delta, Concurrency: stage.Settings.Concurrency}
	tables := f.tables()
	if tables.Rows(&schemas.Chains) > 0 {
		chains, err := tables.Chains()
		if err != nil {
			return nil, err
		}
		w.Chains = lower.Chains{Parent: chains.Parent, Block: chains.Block}
		if err := w.Chains.SetDepth(); err != nil {
			return nil, f.damaged(err)
		}
	}
	list := sessionList{sessions: lower.NewSessions(), current: -1}
	var sessions []string
	named := list.add
	if stage.Graph != nil {
		named = func(session int32, name []byte) {
			for int(session) >= len(sessions) {
				sessions = append(sessions, "")
			}
			if sessions[session] == "" {
				sessions[session] = string(name)
			}
		}
	}
	nodes, err := tables.Nodes(named)
	if err != nil {
		return nil, err
	}
	w.Nodes = lower.Nodes{
		ReleaseMS: nodes.ReleaseMS, InputTokens: nodes.InputTokens, OutputTokens: nodes.OutputTokens,
		Chain: nodes.Chain, ChainTokens: nodes.ChainTokens, RequestIndex: nodes.RequestIndex,
		Priority: nodes.Priority, StrictPriority: nodes.StrictPriority,
		PolicyClass: nodes.PolicyClass, PolicyClasses: nodes.PolicyClasses,
	}
	if stage.Graph != nil {
		if w.AuthoredStart, w.Authored, err = tables.NodeOutputs(w.Nodes.Len()); err != nil {
			return nil, err
		}
		return w, f.restoreGraph(w, tables, nodes.Session, sessions)
	}
	if nodes.Session != nil {
		if err := list.end(); err != nil {
			return nil, f.damaged(err)
		}
		w.Sessions = list.sessions
	}
	if err := f.restoreDelays(w, tables); err != nil {
		return nil, err
	}
	w.AuthoredStart, w.Authored, err = tables.NodeOutputs(w.Nodes.Len())
	return w, err
}

// restoreDelays fills the column DelayMS from the edges.
func (f *folder) restoreDelays(w *lower.Workload, tables *metrics.Folder) error {
	n, want := w.Nodes.Len(), 0
	if w.Sessions != nil {
		w.Nodes.DelayMS = make([]float64, n)
		want = n - w.Sessions.Len()
	}
	if got := tables.Rows(&schemas.Edges); got != int64(want) {
		return f.damaged(fmt.Errorf("%d edges, want one for each of %d later turns", got, want))
	}
	return tables.Edges(func(c *metrics.EdgeColumns) error {
		for i, node := range c.Successor {
			if node < 1 || int(node) >= n || c.Predecessor[i] != node-1 {
				return f.damaged(fmt.Errorf("an edge from node %d to node %d", c.Predecessor[i], node))
			}
			w.Nodes.DelayMS[node] = c.DelayMS[i]
		}
		return nil
	})
}

// sessionList gathers sessions from the rows of nodes.
type sessionList struct {
	sessions *lower.Sessions
	current  int32
	turns    int32
	name     string
	err      error
}

func (l *sessionList) add(session int32, name []byte) {
	switch {
	case session == l.current:
		l.turns++
		return
	case session != l.current+1 && l.err == nil:
		l.err = fmt.Errorf("session %d follows session %d", session, l.current)
	}
	l.flush()
	l.current, l.turns, l.name = session, 1, string(name)
}

func (l *sessionList) flush() {
	if l.turns > 0 {
		l.sessions.Append(l.name, l.turns)
	}
}

// end adds the last session.
func (l *sessionList) end() error {
	l.flush()
	if l.err == nil && l.turns == 0 {
		l.err = errors.New("sessions without names")
	}
	return l.err
}
