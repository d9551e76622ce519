package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dynosim/dynosim/ingest"
	"github.com/dynosim/dynosim/internal/playgraph"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// recordedPace keeps the times of a source.
var recordedPace = schemas.LoadSpec{Kind: schemas.LoadTraceTimestamps, Speedup: 1, Agentic: schemas.AgenticLoad{Snapshot: true}}

// ReadGraph reads the graph of an agentic source, or of the lowered folder or run at path when format is empty. The
// times are those of the source.
func ReadGraph(ctx context.Context, path string, format schemas.TraceFormat) (*lower.Workload, error) {
	if format == "" {
		f, err := openFolder(path, "ingest", "lower")
		if err != nil {
			return nil, err
		}
		w, err := f.workload()
		if err == nil && w.Graph == nil {
			err = &InputError{fmt.Errorf("%s holds no plays: it was made from a flat trace", path)}
		}
		return w, err
	}
	spec := &schemas.RunSpec{
		Source: schemas.SourceSpec{Kind: schemas.SourceTrace, Format: format, Paths: []string{path}},
		Load:   recordedPace,
	}
	if format == schemas.FormatAgenticMooncake {
		spec.Source.BlockTokens = 512
	}
	w, err := lowerSource(ctx, spec)
	if again := resolved(spec, err); again != nil {
		w, err = lowerSource(ctx, again)
	}
	if err == nil && w.Graph == nil {
		err = &InputError{fmt.Errorf("%s is not an agentic trace: no request of it has an agent context", path)}
	}
	return w, err
}

// lowerSource reads and lowers a source without leaving tables.
func lowerSource(ctx context.Context, spec *schemas.RunSpec) (*lower.Workload, error) {
	reader, err := ingest.Open(&spec.Source, 0)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	builder := lower.NewBuilder(spec)
	defer builder.Close()
	if _, err := pump(ctx, reader, silent{}, builder.Add); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if graph, ok := reader.(ingest.GraphReader); ok {
		source, _ := graph.GraphSource()
		builder.SetGraphSource(source)
	}
	return builder.Finish()
}

// DrawPlay is the drawing of one play: by its number in the order of lanes, its name, or a part of its name that no other play
// has.
func DrawPlay(w *lower.Workload, name string) (*playgraph.Play, error) {
	g := w.Graph
	at, err := findPlay(g, name)
	if err != nil {
		return nil, err
	}
	play := &g.Plays[at]
	nodes := g.Nodes(at)
	out := &playgraph.Play{
		Title:    fmt.Sprintf("%s: %d requests in %d conversations, %d dependencies (%s)", play.ID, len(nodes), play.Sessions, play.Edges, play.Source),
		Sessions: shortNames(g.Sessions),
	}
	number := map[int32]int{}
	for i, n := range nodes {
		number[n] = i
		id := g.RequestID(int(n))
		short := id
		if k := strings.LastIndex(id, ":request:"); k >= 0 {
			short = id[k+len(":request:"):]
		}
		out.Nodes = append(out.Nodes, playgraph.Node{
			Name: id, Short: strings.TrimPrefix(strings.ReplaceAll(short, ":inner:", "."), "outer:"), Session: int(g.Session[n]),
			StartMS: g.RecordedStartMS[n] - play.FirstMS, EndMS: g.RecordedEndMS[n] - play.FirstMS,
			InputTokens: w.Nodes.InputTokens[n], OutputTokens: w.Nodes.OutputTokens[n], Model: g.Models[g.Model[n]],
		})
		for e := g.EdgeFirst[n]; e < g.EdgeFirst[n+1]; e++ {
			out.Edges = append(out.Edges, playgraph.Edge{
				From: int(g.Predecessor[e]), To: i, Dispatch: g.Trigger[e] == schemas.TriggerDispatch, Relation: schemas.RelationNames[g.Relation[e]], DelayMS: g.DelayMS[e],
			})
		}
	}
	for i := range out.Edges {
		out.Edges[i].From = number[int32(out.Edges[i].From)]
	}
	return out, nil
}

// shortNames drops what all conversations of a corpus begin with.
func shortNames(sessions []string) []string {
	out := make([]string, len(sessions))
	for i, s := range sessions {
		out[i] = s
		if k := strings.LastIndex(s, ":session:"); k >= 0 {
			out[i] = s[k+len(":session:"):]
		}
	}
	return out
}

// findPlay finds a play.
func findPlay(g *lower.Graph, name string) (int32, error) {
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(g.Plays) {
		return int32(n), nil
	}
	var found []int32
	for i := range g.Plays {
		if g.Plays[i].ID == name {
			return int32(i), nil
		}
		if strings.Contains(g.Plays[i].ID, name) || strings.Contains(g.Plays[i].Source, name) {
			found = append(found, int32(i))
		}
	}
	switch len(found) {
	case 0:
		return 0, &InputError{fmt.Errorf("no play %q: give a number from 0 to %d, or a name such as %q", name, len(g.Plays)-1, g.Plays[0].ID)}
	case 1:
		return found[0], nil
	}
	return 0, &InputError{fmt.Errorf("%d plays have %q in their names, %q and %q among them: give one name", len(found), name, g.Plays[found[0]].ID, g.Plays[found[1]].ID)}
}
