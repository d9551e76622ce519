// Package metrics turns the batches of a run into Parquet files, one a table, in the
// run's directory. Encoding happens beside the simulation: one goroutine takes its batches, and one a
// table encodes full row groups. The simulation waits only when they are several batches behind, so memory stays
// bounded. Files get their names together, when all are complete, in Close.
package metrics

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// BatchRows is a good capacity for the batches of a simulation: large enough that
// handing one over costs nothing, small enough that those in flight stay near 10 MiB.
const BatchRows = 8192

// queuedBatches bounds how far the encoder may fall behind.
const queuedBatches = 6

// RuntimeName is the file that says which limit of the process ended a run.
const RuntimeName = "resource-runtime.json"

// FileNames lists every file that a run may leave, for rundir.Options.Known.
func FileNames() []string {
	names := []string{"prediction.json", "requests.jsonl", RuntimeName}
	for _, t := range schemas.AllTables {
		names = append(names, t.Name+".parquet")
	}
	return names
}

// Recorders writes the tables of one run. Its Sink may be used by one simulation; the
// Write methods may be called by one goroutine each.
type Recorders struct {
	dir     *rundir.Dir
	writers map[string]*tableWriter
	order   []*tableWriter
	source  sourceWriter
	sink    schemas.Sink

	jobs chan func() error
	done chan struct{}

	mu     sync.Mutex
	err    error
	closed bool
}

// Open starts the tables named in selected (nil is all of schemas.AllTables) in dir.
// Close or Abort must follow. A table that is not selected is forgotten; a selected one
// exists afterwards even without rows.
func Open(dir *rundir.Dir, selected []string) (*Recorders, error) {
	r := &Recorders{dir: dir, writers: map[string]*tableWriter{}, jobs: make(chan func() error, queuedBatches), done: make(chan struct{})}
	for _, name := range selected {
		if !slices.ContainsFunc(schemas.AllTables, func(t *schemas.Table) bool { return t.Name == name }) {
			return nil, fmt.Errorf("there is no table %q", name)
		}
	}
	for _, t := range schemas.AllTables {
		if selected != nil && !slices.Contains(selected, t.Name) {
			continue
		}
		w, err := newTableWriter(dir, t)
		if err != nil {
			r.abortFiles()
			return nil, err
		}
		r.writers[t.Name] = w
		r.order = append(r.order, w)
	}
	r.source = sourceWriter{
		requests: r.writers[schemas.Requests.Name], blocks: r.writers[schemas.Blocks.Name],
		authored: r.writers[schemas.AuthoredOutputs.Name],
		plays: playWriter{
			plays: r.writers[schemas.SourcePlays.Name], nodes: r.writers[schemas.SourceNodes.Name], edges: r.writers[schemas.SourceEdges.Name],
		},
	}
	r.sink = schemas.Sink{
		Results:     recorderFor(r, resultsLayout, schemas.NewResultBatch, func(b *schemas.ResultBatch) (int, int) { return b.N, len(b.Node) }),
		Passes:      recorderFor(r, passesLayout, schemas.NewPassBatch, func(b *schemas.PassBatch) (int, int) { return b.N, len(b.Worker) }),
		Gaps:        recorderFor(r, gapsLayout, schemas.NewGapBatch, func(b *schemas.GapBatch) (int, int) { return b.N, len(b.GapMS) }),
		Admissions:  recorderFor(r, admissionsLayout, schemas.NewAdmissionBatch, func(b *schemas.AdmissionBatch) (int, int) { return b.N, len(b.Node) }),
		Routing:     recorderFor(r, routingLayout, schemas.NewRoutingBatch, func(b *schemas.RoutingBatch) (int, int) { return b.N, len(b.Node) }),
		Candidates:  recorderFor(r, candidatesLayout, schemas.NewCandidateBatch, func(b *schemas.CandidateBatch) (int, int) { return b.N, len(b.Node) }),
		Lifecycle:   recorderFor(r, lifecycleLayout, schemas.NewLifecycleBatch, func(b *schemas.LifecycleBatch) (int, int) { return b.N, len(b.Worker) }),
		Ticks:       recorderFor(r, ticksLayout, schemas.NewTickBatch, func(b *schemas.TickBatch) (int, int) { return b.N, len(b.Tick) }),
		TickWorkers: recorderFor(r, tickWorkersLayout, schemas.NewTickWorkerBatch, func(b *schemas.TickWorkerBatch) (int, int) { return b.N, len(b.Tick) }),
		TickPasses:  recorderFor(r, tickPassesLayout, schemas.NewTickPassBatch, func(b *schemas.TickPassBatch) (int, int) { return b.N, len(b.Tick) }),
		Transfers:   recorderFor(r, transfersLayout, schemas.NewTransferBatch, func(b *schemas.TransferBatch) (int, int) { return b.N, len(b.Node) }),

		HostDomains:   recorderFor(r, hostDomainsLayout, schemas.NewHostDomainBatch, func(b *schemas.HostDomainBatch) (int, int) { return b.N, len(b.Domain) }),
		HostTransfers: recorderFor(r, hostTransfersLayout, schemas.NewHostTransferBatch, func(b *schemas.HostTransferBatch) (int, int) { return b.N, len(b.Scheduler) }),
		HostEvictions: recorderFor(r, hostEvictionsLayout, schemas.NewHostEvictionBatch, func(b *schemas.HostEvictionBatch) (int, int) { return b.N, len(b.Scheduler) }),
		HostFences:    recorderFor(r, hostFencesLayout, schemas.NewHostFenceBatch, func(b *schemas.HostFenceBatch) (int, int) { return b.N, len(b.Worker) }),
		G3Transfers:   recorderFor(r, g3TransfersLayout, schemas.NewG3TransferBatch, func(b *schemas.G3TransferBatch) (int, int) { return b.N, len(b.Job) }),
		G3Run:         recorderFor(r, g3RunLayout, schemas.NewG3RunBatch, func(b *schemas.G3RunBatch) (int, int) { return b.N, len(b.Evictions) }),
	}
	go r.encode()
	return r, nil
}

// encode runs the jobs in order. After an error it only empties the queue.
func (r *Recorders) encode() {
	defer close(r.done)
	for job := range r.jobs {
		if r.failed() == nil {
			r.fail(job())
		}
	}
}

func (r *Recorders) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *Recorders) fail(err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	return r.err
}

// Sink is where the simulation leaves its rows.
func (r *Recorders) Sink() schemas.Sink { return r.sink }

// WriteRequests appends source rows, with their blocks. It is done with b when it returns.
func (r *Recorders) WriteRequests(b *schemas.RequestBatch) error {
	if err := r.failed(); err != nil {
		return err
	}
	return r.fail(r.source.write(b))
}

// WriteNodes appends nodes. The columns must not change before Close or Abort.
func (r *Recorders) WriteNodes(c NodeColumns) error {
	return later(r, &schemas.Nodes, &c, writeNodes)
}

// WriteEdges appends edges. The columns must not change before Close or Abort.
func (r *Recorders) WriteEdges(c EdgeColumns) error {
	return later(r, &schemas.Edges, &c, writeEdges)
}

// WriteChains appends chains. The columns must not change before Close or Abort.
func (r *Recorders) WriteChains(c ChainColumns) error {
	return later(r, &schemas.Chains, &c, writeChains)
}

// WriteNodeOutputs appends prescribed output tokens. The columns must not change before
// Close or Abort.
func (r *Recorders) WriteNodeOutputs(c NodeOutputColumns) error {
	return later(r, &schemas.NodeOutputs, &c, writeNodeOutputs)
}

// WriteRun writes the row of the table run. Call it once.
func (r *Recorders) WriteRun(row RunRow) error {
	return later(r, &schemas.Run, &row, writeRun)
}

// later queues one write of a table, when the table is selected.
func later[T any](r *Recorders, t *schemas.Table, v *T, write func(*tableWriter, *T) error) error {
	if err := r.failed(); err != nil {
		return err
	}
	if w := r.writers[t.Name]; w != nil {
		r.jobs <- func() error { return write(w, v) }
	}
	return nil
}

// Close waits for the queue, completes the files, syncs them and gives them their names.
// On an error nothing gets a name and the temporary files are removed.
func (r *Recorders) Close() error {
	if r.stop() {
		return errors.New("the tables are closed already")
	}
	if r.err != nil {
		r.abortFiles()
		return r.err
	}
	files := make([]*rundir.File, len(r.order))
	for i, w := range r.order {
		if err := w.finish(); err != nil {
			r.abortFiles()
			return err
		}
		files[i] = w.out
	}
	if err := r.dir.Publish(files...); err != nil {
		r.abortFiles()
		return err
	}
	for _, w := range r.order {
		r.dir.AddTable(w.entry())
	}
	// Buffers and batches would otherwise live as long as r.
	r.order, r.writers, r.sink, r.source = nil, nil, schemas.Sink{}, sourceWriter{}
	return nil
}

// CloseOnly is Close for the named tables, which must have all their rows, and Abort for the others.
func (r *Recorders) CloseOnly(names []string) error {
	if r.stop() {
		return errors.New("the tables are closed already")
	}
	if r.err != nil {
		r.abortFiles()
		return r.err
	}
	var kept []*tableWriter
	var files []*rundir.File
	for _, w := range r.order {
		if !slices.Contains(names, w.table.Name) {
			w.out.Abort()
			continue
		}
		if err := w.finish(); err != nil {
			r.abortFiles()
			return err
		}
		kept, files = append(kept, w), append(files, w.out)
	}
	if err := r.dir.Publish(files...); err != nil {
		return err
	}
	for _, w := range kept {
		r.dir.AddTable(w.entry())
	}
	return nil
}

// stop ends the encoder and reports whether that had happened before.
func (r *Recorders) stop() bool {
	r.mu.Lock()
	was := r.closed
	r.closed = true
	r.mu.Unlock()
	if !was {
		close(r.jobs)
		<-r.done
	}
	return was
}

// Abort forgets all rows and removes the files. It does nothing after Close, so it can be
// deferred. The simulation must have ended.
func (r *Recorders) Abort() {
	if !r.stop() {
		r.abortFiles()
	}
}

func (r *Recorders) abortFiles() {
	for _, w := range r.order {
		w.abort()
	}
}

// batch is a pointer to a batch that can be emptied.
type batch[T any] interface {
	*T
	Clear()
}

// recorder hands the batches of one table to the encoder and gives back used ones.
type recorder[T any, P batch[T]] struct {
	r      *Recorders
	groups groups[T]
	fresh  func(rows int) *T
	size   func(*T) (rows, capacity int)

	mu   sync.Mutex
	free []*T
}

// recorderFor makes the recorder of one table, or one that forgets when the table is not
// selected.
func recorderFor[T any, P batch[T]](r *Recorders, l layout[T], fresh func(int) *T, size func(*T) (int, int)) schemas.Recorder[T] {
	w := r.writers[l.table.Name]
	if w == nil {
		return schemas.Discard[T, P]{}
	}
	c := &recorder[T, P]{r: r, fresh: fresh, size: size}
	rows := func(b *T) int { n, _ := size(b); return n }
	c.groups = groups[T]{w: w, layout: l, rows: rows, release: c.release}
	return c
}

// release keeps a written batch for Take.
func (c *recorder[T, P]) release(b *T) {
	P(b).Clear()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, b)
}

// Take queues full and returns a batch to fill next. It waits when the encoder is more
// than queuedBatches behind.
func (c *recorder[T, P]) Take(full *T) (*T, error) {
	if err := c.r.failed(); err != nil {
		return nil, err
	}
	n, capacity := c.size(full)
	if n == 0 {
		return full, nil
	}
	c.r.jobs <- func() error { return c.groups.add(full) }
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := len(c.free); k > 0 {
		b := c.free[k-1]
		c.free = c.free[:k-1]
		return b, nil
	}
	return c.fresh(capacity), nil
}
