package schemas

import "github.com/dynosim/dynosim/schemas/strict"

// callSpec is the kind of the reference's second entry: a payload with the run's specification and its
// traffic. It says the same as a call of kind trace in other places.
const callSpec = "spec"

// fromSpec turns a document of kind spec into the call of kind trace that says the same; any other
// document stays as it is. Members of the payload keep their places and, but for those that are moved,
// their names, so that messages fit.
func fromSpec(root *strict.Node) *strict.Node {
	kind, payload := root.Member("kind"), root.Member("payload")
	if kind == nil || !kind.IsText(callSpec) || payload == nil || !payload.IsMapping() {
		return root
	}
	spec, traffic := payload.Member("spec"), payload.Member("traffic")
	if spec == nil || traffic == nil || !spec.IsMapping() || !traffic.IsMapping() {
		return root
	}
	at := func(n *strict.Node, kind strict.Kind) *strict.Node {
		return &strict.Node{Kind: kind, Line: n.Line, Column: n.Column}
	}
	member := func(key string, value *strict.Node) strict.Member {
		return strict.Member{Key: key, Line: value.Line, Column: value.Column, Value: value}
	}
	files, args := at(traffic, strict.ListKind), at(traffic, strict.MappingKind)
	for _, m := range traffic.Members {
		switch m.Key {
		case "source_type", "load_type":
		case "trace_path":
			files.Items = append(files.Items, m.Value)
		case "trace_paths":
			files.Items = append(files.Items, m.Value.List()...)
		default:
			args.Members = append(args.Members, m)
		}
	}
	launch := func(engine *strict.Node, role string) *strict.Node {
		out := at(engine, strict.MappingKind)
		for _, m := range engine.Members {
			if m.Key == "rank" {
				m.Key = "engine"
				if role != "" && m.Value.IsMapping() {
					m.Value = withRole(m.Value, role)
				}
			}
			out.Members = append(out.Members, m)
		}
		return out
	}
	topology, engine := spec.Member("topology"), spec.Member("engine")
	if kind := topology.Member("kind"); kind != nil && kind.IsText("disaggregated") {
		for _, role := range []string{"prefill", "decode"} {
			own := engine.Member(role)
			if own == nil {
				own = engine
			}
			if own != nil && own.IsMapping() {
				args.Members = append(args.Members, member(role+"_engine_args", launch(own, role)))
			}
			if workers := topology.Member(role).Member("initial_workers"); workers != nil {
				args.Members = append(args.Members, member("num_"+role+"_workers", workers))
			}
		}
	} else {
		if engine != nil && engine.IsMapping() {
			args.Members = append(args.Members, member("extra_engine_args", launch(engine, "")))
		}
		if workers := topology.Member("workers").Member("initial_workers"); workers != nil {
			args.Members = append(args.Members, member("num_workers", workers))
		}
	}
	capture := at(spec, strict.BoolKind)
	capture.Text = "true"
	args.Members = append(args.Members, member("capture_per_request", capture))
	trace := at(kind, strict.TextKind)
	trace.Text = string(CallTrace)
	out := at(root, strict.MappingKind)
	out.Members = []strict.Member{member("kind", trace), member("trace_files", files), member("args", args)}
	return out
}

// withRole is an engine's mapping that says which role it has.
func withRole(engine *strict.Node, role string) *strict.Node {
	out := *engine
	out.Members = nil
	for _, m := range engine.Members {
		if m.Key != "worker_type" {
			out.Members = append(out.Members, m)
		}
	}
	value := &strict.Node{Kind: strict.TextKind, Line: engine.Line, Column: engine.Column, Text: role}
	out.Members = append(out.Members, strict.Member{Key: "worker_type", Line: engine.Line, Column: engine.Column, Value: value})
	return &out
}
