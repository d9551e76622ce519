package queries_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/metrics"
	"github.com/dynosim/dynosim/schemas"
)

// population is the rows of a run in plain Go, for tests.
type population struct {
	results    schemas.ResultBatch
	passes     schemas.PassBatch
	gaps       schemas.GapBatch
	admissions schemas.AdmissionBatch
	routing    schemas.RoutingBatch
	nodes      metrics.NodeColumns
	run        metrics.RunRow

	domains      schemas.HostDomainBatch
	hostMoves    schemas.HostTransferBatch
	evictions    schemas.HostEvictionBatch
	fences       schemas.HostFenceBatch
	storageMoves schemas.G3TransferBatch
	storage      schemas.G3RunBatch
}

func newPopulation() *population {
	return &population{run: metrics.RunRow{Stack: "dynamo", SLA: schemas.NoSLA()}}
}

// write makes a run directory of it.
func (p *population) write(tb testing.TB) *rundir.Dir {
	tb.Helper()
	dir, err := rundir.Create(tb.TempDir(), rundir.Options{Known: metrics.FileNames(), FS: unsyncedFS{}})
	if err != nil {
		tb.Fatal(err)
	}
	r, err := metrics.Open(dir, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Abort()
	sink := r.Sink()
	_, err1 := sink.Results.Take(&p.results)
	_, err2 := sink.Passes.Take(&p.passes)
	_, err3 := sink.Gaps.Take(&p.gaps)
	_, err4 := sink.Admissions.Take(&p.admissions)
	_, err5 := sink.Routing.Take(&p.routing)
	_, err6 := sink.HostDomains.Take(&p.domains)
	_, err7 := sink.HostTransfers.Take(&p.hostMoves)
	_, err8 := sink.HostEvictions.Take(&p.evictions)
	_, err9 := sink.HostFences.Take(&p.fences)
	_, err10 := sink.G3Transfers.Take(&p.storageMoves)
	_, err11 := sink.G3Run.Take(&p.storage)
	for _, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11, r.WriteNodes(p.nodes), r.WriteRun(p.run), r.Close(), dir.WriteManifest(rundir.Manifest{})} {
		if err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// grow appends a row of zeros (of null marks where a column may be null) to a batch and
// returns its number.
func grow(batch any) int {
	v := reflect.ValueOf(batch).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Slice {
			continue
		}
		f.Set(reflect.Append(f, reflect.Zero(f.Type().Elem())))
	}
	switch r := batch.(type) {
	case *schemas.ResultBatch:
		withoutHandoff(r, len(r.Node)-1)
		r.FirstAdmissionG1[len(r.Node)-1], r.FirstAdmissionHost[len(r.Node)-1] = -1, -1
	case *schemas.AdmissionBatch:
		r.G1Reused[len(r.Node)-1], r.HostReused[len(r.Node)-1] = -1, -1
	}
	n := v.FieldByName("N")
	n.SetInt(n.Int() + 1)
	return int(n.Int()) - 1
}

// withoutHandoff marks the columns of disaggregated runs as null in a row.
func withoutHandoff(b *schemas.ResultBatch, i int) {
	for _, c := range [][]int32{b.PrefillWorker, b.DecodeReusedInputTokens, b.PrefillRouteOverlapTokens, b.DecodeRouteOverlapTokens} {
		c[i] = -1
	}
	for _, c := range [][]float64{b.PrefillAdmitMS, b.SourceHeldMS, b.DestinationReservedMS, b.DestinationActivatedMS, b.DecodeAdmitMS, b.SourceReleasedMS} {
		c[i] = math.NaN()
	}
}

// columnNames says which field of a batch a column of a text table is, where the name
// does not tell.
var columnNames = map[string]string{
	"first_admission_reused_input_tokens": "FirstAdmissionReused", "admission_ordinal": "Ordinal", "routing_ordinal": "Ordinal",
	"pool_admission_ordinal": "PoolOrdinal", "g1_reused_input_tokens": "G1Reused", "host_reused_input_tokens": "HostReused",
	"first_admission_g1_reused_input_tokens": "FirstAdmissionG1", "first_admission_host_reused_input_tokens": "FirstAdmissionHost",
}

// field finds the field of a column: prefill_kv_tokens is PrefillKVTokens.
func field(v reflect.Value, column string) (reflect.Value, error) {
	want := strings.ReplaceAll(column, "_", "")
	if name, ok := columnNames[column]; ok {
		want = name
	}
	f := v.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, want) })
	if !f.IsValid() {
		return f, fmt.Errorf("there is no column %s", column)
	}
	return f, nil
}

// parsePopulation reads tables as text: a line with the table's name and its columns,
// then a line a row. Columns left out are 0; null is null.
//
//	request_results: node arrival_ms status
//	0 1.5 completed
func parsePopulation(text string) (*population, error) {
	p := newPopulation()
	batches := map[string]any{
		"request_results": &p.results, "passes": &p.passes, "token_gaps": &p.gaps, "admissions": &p.admissions, "routing": &p.routing,
		"host_domains": &p.domains, "host_transfers": &p.hostMoves, "host_evictions": &p.evictions, "host_fences": &p.fences,
		"g3_transfers": &p.storageMoves, "g3_run": &p.storage,
	}
	var table string
	var columns []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if name, ok := strings.CutSuffix(words[0], ":"); ok {
			table, columns = name, words[1:]
			continue
		}
		if len(words) != len(columns) {
			return nil, fmt.Errorf("%q has %d values for %d columns", strings.TrimSpace(line), len(words), len(columns))
		}
		switch table {
		case "run":
			for i, c := range columns {
				if err := p.setRun(c, words[i]); err != nil {
					return nil, err
				}
			}
		case "nodes":
			if err := p.addNode(columns, words); err != nil {
				return nil, err
			}
		default:
			b, ok := batches[table]
			if !ok {
				return nil, fmt.Errorf("there is no table %q", table)
			}
			row := grow(b)
			for i, c := range columns {
				f, err := field(reflect.ValueOf(b).Elem(), c)
				if err != nil {
					return nil, err
				}
				if err := set(f.Index(row), words[i]); err != nil {
					return nil, err
				}
			}
		}
	}
	return p, nil
}

func (p *population) setRun(column, word string) error {
	target := reflect.ValueOf(&p.run).Elem()
	if rest, ok := strings.CutPrefix(column, "sla_"); ok {
		target, column = reflect.ValueOf(&p.run.SLA).Elem(), rest
	}
	f, err := field(target, column)
	if err != nil {
		return err
	}
	return set(f, word)
}

func (p *population) addNode(columns, words []string) error {
	session, turn := int32(-1), int32(-1)
	for i, c := range columns {
		n, err := strconv.Atoi(words[i])
		if err != nil && words[i] != "null" {
			return err
		}
		switch {
		case words[i] == "null":
		case c == "session":
			session = int32(n)
		case c == "turn":
			turn = int32(n)
		}
	}
	c := &p.nodes
	c.Session, c.Turn = append(c.Session, session), append(c.Turn, turn)
	c.SessionName = func(s int) string { return fmt.Sprintf("session_%d", s) }
	c.ReleaseMS = append(c.ReleaseMS, 0)
	c.InputTokens, c.OutputTokens = append(c.InputTokens, 1), append(c.OutputTokens, 1)
	c.Chain, c.ChainTokens = append(c.Chain, -1), append(c.ChainTokens, 0)
	return nil
}

// names are the words of codes.
var names = map[reflect.Type][]string{
	reflect.TypeFor[schemas.Status]():           schemas.StatusNames,
	reflect.TypeFor[schemas.Pool]():             schemas.PoolNames,
	reflect.TypeFor[schemas.HostTransferKind](): schemas.HostTransferKindNames,
	reflect.TypeFor[schemas.G3TransferKind]():   schemas.G3TransferKindNames,
}

// set parses a value into a field or an element.
func set(v reflect.Value, word string) error {
	switch {
	case names[v.Type()] != nil:
		i := slices.Index(names[v.Type()], word)
		if i < 0 {
			return fmt.Errorf("there is no %s %q", v.Type(), word)
		}
		v.SetUint(uint64(i))
	case v.Kind() == reflect.Uint64:
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return err
		}
		v.SetUint(n)
	case v.Kind() == reflect.String:
		v.SetString(word)
	case v.Kind() == reflect.Float64:
		if word == "null" {
			v.SetFloat(math.NaN())
			return nil
		}
		f, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return err
		}
		v.SetFloat(f)
	default:
		if word == "null" {
			v.SetInt(-1)
			return nil
		}
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return err
		}
		v.SetInt(n)
	}
	return nil
}
