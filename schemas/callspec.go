package schemas

import "github.com/dynosim/dynosim/schemas/strict"

// CallSpec is the kind of the reference's second entry: a payload with a run's specification. With a
// section traffic it says the same as a call of kind trace in other places; without one it lists its
// requests itself.
const CallSpec CallKind = "spec"

// specTopology is the section topology of such a call.
type specTopology struct {
	Kind                     string
	Workers, Prefill, Decode specPool
	HandoffLatencyMS         float64
}

// specPool is a pool of workers.
type specPool struct{ InitialWorkers int64 }

// Kinds of topology.
const (
	topologyAggregated    = "aggregated"
	topologyDisaggregated = "disaggregated"
)

func (t *specTopology) fields() *strict.Object {
	pool := func(name string, dst *specPool, kind, doc string) *strict.Field {
		return strict.Group(name, dst, (*specPool).fields, doc).Required().For(kind)
	}
	return &strict.Object{
		Doc: "The pools of workers.",
		Tag: "kind",
		Fields: []*strict.Field{
			strict.Choice("kind", &t.Kind, "", []string{topologyAggregated, topologyDisaggregated}, "One pool, or one for each phase.").Required(),
			pool("workers", &t.Workers, topologyAggregated, "Aggregated workers."),
			pool("prefill", &t.Prefill, topologyDisaggregated, "Prefill workers."),
			pool("decode", &t.Decode, topologyDisaggregated, "Decode workers."),
			strict.DefaultFloat("handoff_latency_ms", &t.HandoffLatencyMS, 0, "Time that a hand-off takes where no bandwidth and bytes are given, ms.").Min(0),
		},
	}
}

func (p *specPool) fields() *strict.Object {
	return &strict.Object{Doc: "A pool.", Fields: []*strict.Field{
		strict.Int("initial_workers", &p.InitialWorkers, "Workers at the start.").Positive().Limit(maxWorkers).Required(),
	}}
}

// specFields are the keys of a call of kind spec.
func (c *Call) specFields() []*strict.Field {
	spec := string(CallSpec)
	return []*strict.Field{
		strict.DefaultInt("version", &c.version, 1, "Version of the specification.").Min(1).Max(1).For(spec),
		strict.Group("topology", &c.topology, (*specTopology).fields, "The pools of workers.").Required().For(spec),
		requestList("requests", &c.listed).Required().For(spec),
	}
}

// checkSpec takes over what a call of kind spec says elsewhere than other calls, and checks its requests.
func (c *Call) checkSpec(r *strict.Report) {
	if !r.OK("topology") {
		return
	}
	a, t := &c.Args, &c.topology
	a.NumWorkers, a.NumPrefillWorkers, a.NumDecodeWorkers = 1, 1, 1
	if t.Kind == topologyAggregated {
		a.NumWorkers = t.Workers.InitialWorkers
	} else {
		a.NumPrefillWorkers, a.NumDecodeWorkers = t.Prefill.InitialWorkers, t.Decode.InitialWorkers
	}
	if r.OK("requests", "args") {
		c.checkListed(r)
	}
}

// nativeKeys are members of a launch that only calls of kind spec have.
var nativeKeys = []string{"prefill_context_parallel_size", "kv_eviction_policy"}

// checkNative refuses them in other calls.
func (c *Call) checkNative(r *strict.Report) {
	if c.native {
		return
	}
	for _, launch := range []string{"args.extra_engine_args", "args.prefill_engine_args", "args.decode_engine_args"} {
		for _, key := range nativeKeys {
			if r.Has(launch + "." + key) {
				r.Fail(launch+"."+key, "unknown key; it is for calls of kind spec")
			}
		}
	}
}

// specRewriter turns a document of kind spec into one whose parts stand where other calls have them.
// Values keep their places, so that messages fit.
type specRewriter struct {
	args, out *strict.Node
	// under is where the specification stands, and places has the paths in the document of what moved, by those where it is now.
	under  string
	places map[string]string
}

// fromSpec turns a document of kind spec into the call that says the same; any other document stays as
// it is. places has the paths in the document of what moved, and is nil for any other document. Keys that nobody knows are kept at
// the top, where they are reported.
func fromSpec(root *strict.Node) (call *strict.Node, places map[string]string) {
	kind, payload := root.Member("kind"), root.Member("payload")
	if kind == nil || !kind.IsText(string(CallSpec)) || payload == nil || !payload.IsMapping() {
		return root, nil
	}
	w := &specRewriter{args: payload.Empty(strict.MappingKind), out: root.Empty(strict.MappingKind), under: "payload.", places: map[string]string{}}
	for _, m := range root.Members {
		if m.Key != "kind" && m.Key != "payload" {
			w.out.Members = append(w.out.Members, m)
		}
	}
	spec, traffic := payload, (*strict.Node)(nil)
	if inner := payload.Member("spec"); inner != nil && inner.IsMapping() {
		spec, traffic, w.under = inner, payload.Member("traffic"), "payload.spec."
	}
	listed := traffic == nil || !traffic.IsMapping()
	w.spec(spec, listed)
	if listed {
		w.out.Members = append(w.out.Members, member("kind", kind), member("args", w.args))
		return w.out, w.places
	}
	files := w.traffic(traffic)
	trace := kind.Empty(strict.TextKind)
	trace.Text = string(CallTrace)
	w.out.Members = append(w.out.Members, member("kind", trace), member("trace_files", files), member("args", w.args))
	return w.out, w.places
}

func member(key string, value *strict.Node) strict.Member {
	return strict.Member{Key: key, Line: value.Line, Column: value.Column, Value: value}
}

func (w *specRewriter) arg(key string, m strict.Member) {
	m.Key = key
	w.args.Members = append(w.args.Members, m)
}

// spec moves the members of a specification.
func (w *specRewriter) spec(spec *strict.Node, listed bool) {
	capture := spec.Empty(strict.BoolKind)
	capture.Text = "true"
	captured := member("capture_per_request", capture)
	topology := spec.Member("topology")
	split := topology != nil && topology.IsMapping() && topology.Member("kind") != nil && topology.Member("kind").IsText(topologyDisaggregated)
	engine := false
	for _, m := range spec.Members {
		switch m.Key {
		case "record_per_request":
			captured.Value = m.Value
			w.places["args.capture_per_request"] = w.under + m.Key
		case "max_sim_time_ms":
			w.places["args."+m.Key] = w.under + m.Key
			w.arg(m.Key, m)
		case "max_in_flight":
			w.places["args.replay_concurrency"] = w.under + m.Key
			w.arg("replay_concurrency", m)
		case "engine":
			engine = true
			w.engine(m.Value, split)
		case "topology":
			if listed || !m.Value.IsMapping() {
				w.out.Members = append(w.out.Members, m)
			} else {
				w.topology(m.Value)
			}
		case "requests", "version":
			if listed {
				w.out.Members = append(w.out.Members, m)
			}
		default:
			w.out.Members = append(w.out.Members, m)
		}
	}
	if !engine && split {
		w.engine(spec.Empty(strict.MappingKind), split)
	}
	w.args.Members = append(w.args.Members, captured)
}

// topology gives the pools of a call of kind trace.
func (w *specRewriter) topology(t *strict.Node) {
	names := map[string]string{"workers": "num_workers", "prefill": "num_prefill_workers", "decode": "num_decode_workers"}
	for _, m := range t.Members {
		name := names[m.Key]
		switch {
		case m.Key == "kind":
		case name != "" && m.Value.Member("initial_workers") != nil:
			w.arg(name, member(name, m.Value.Member("initial_workers")))
		default:
			w.arg(m.Key, m)
		}
	}
}

// engine makes the launches: one, or one for each role. A role that is not given takes what stands beside
// the roles.
func (w *specRewriter) engine(engine *strict.Node, split bool) {
	if !engine.IsMapping() {
		w.arg("extra_engine_args", member("extra_engine_args", engine))
		return
	}
	if !split {
		w.args.Members = append(w.args.Members, member("extra_engine_args", launch(engine, engine, WorkerAggregated)))
		return
	}
	for _, role := range []WorkerType{WorkerPrefill, WorkerDecode} {
		of := engine.Member(string(role))
		if of == nil || of.Kind == strict.NullKind {
			of = engine
		}
		name := string(role) + "_engine_args"
		w.args.Members = append(w.args.Members, member(name, launch(engine, of, role)))
	}
}

// launch is the engine mapping of a role. What an engine says of its role does not count.
func launch(engine, of *strict.Node, role WorkerType) *strict.Node {
	if !of.IsMapping() {
		return of
	}
	out := of.Empty(strict.MappingKind)
	for _, m := range of.Members {
		switch {
		case of == engine && (m.Key == string(WorkerPrefill) || m.Key == string(WorkerDecode)):
			continue
		case m.Key == "rank":
			m.Key, m.Value = "engine", ofRole(m.Value, role)
		}
		out.Members = append(out.Members, m)
	}
	if of.Member("rank") == nil {
		out.Members = append(out.Members, member("engine", ofRole(of.Empty(strict.MappingKind), role)))
	}
	if policy := engine.Member("kv_eviction_policy"); policy != nil && of != engine {
		out.Members = append(out.Members, member("kv_eviction_policy", policy))
	}
	return out
}

// ofRole is the engine with its role.
func ofRole(rank *strict.Node, role WorkerType) *strict.Node {
	if !rank.IsMapping() {
		return rank
	}
	out := rank.Empty(strict.MappingKind)
	for _, m := range rank.Members {
		if m.Key != "worker_type" {
			out.Members = append(out.Members, m)
		}
	}
	name := rank.Empty(strict.TextKind)
	name.Text = string(role)
	out.Members = append(out.Members, member("worker_type", name))
	return out
}

// traffic moves the members of a section traffic and returns the files.
func (w *specRewriter) traffic(traffic *strict.Node) *strict.Node {
	files := traffic.Empty(strict.ListKind)
	for _, m := range traffic.Members {
		switch m.Key {
		case "source_type", "load_type":
		case "trace_path":
			files.Items = append(files.Items, m.Value)
		case "trace_paths":
			files.Items = append(files.Items, m.Value.List()...)
		default:
			w.args.Members = append(w.args.Members, m)
		}
	}
	return files
}
