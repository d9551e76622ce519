package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/schemas"
)

// InputError is a folder, or a configuration for it, that a stage cannot use. Nothing was run.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }

// sourceSettings is what of a specification the stage ingest depends on, the inputs apart.
func sourceSettings(spec *schemas.RunSpec) rundir.SourceSettings {
	s := &spec.Source
	if s.Kind == schemas.SourceTrace {
		out := rundir.SourceSettings{Kind: string(s.Kind), Format: string(s.Format), BlockTokens: s.BlockTokens}
		if s.Format == schemas.FormatAppliedCompute && s.SharedPrefixRatio != 0 && s.PrefixGroups != 0 {
			out.SharedPrefixRatio, out.PrefixGroups = s.SharedPrefixRatio, s.PrefixGroups
		}
		if s.NestedBasis != "auto" {
			out.NestedTimestampBasis = s.NestedBasis
		}
		return out
	}
	if s.Kind == schemas.SourceRequests {
		return rundir.SourceSettings{Kind: string(s.Kind), Requests: digestBytes(fmt.Appendf(nil, "%+v", s.Requests))}
	}
	out := rundir.SourceSettings{Kind: string(s.Kind), InputTokens: s.InputTokens, OutputTokens: s.OutputTokens, Count: s.Count}
	if !s.SessionMode() {
		return out
	}
	// All four decide whether there are sessions, so none of them is without effect.
	out.Turns, out.InterTurnDelayMS = s.Turns, s.InterTurnDelayMS
	out.SharedPrefixRatio, out.PrefixGroups = s.SharedPrefixRatio, s.PrefixGroups
	if s.SharedPrefixRatio > 0 && s.PrefixGroups > 0 {
		out.EngineBlockTokens = spec.BlockTokens()
	}
	return out
}

// loadSettings is what of a specification the stage lower depends on beside the source.
func loadSettings(spec *schemas.RunSpec) rundir.LoadSettings {
	l := &spec.Load
	out := rundir.LoadSettings{Kind: string(l.Kind), Speedup: l.Speedup, Snapshot: l.Agentic.Snapshot}
	switch l.Kind {
	case schemas.LoadConcurrency:
		out.Concurrency, out.Speedup = l.Concurrency, 0
	case schemas.LoadConstantInterval:
		out.IntervalMS = l.IntervalMS
	case schemas.LoadPoisson:
		out.RatePerSecond, out.Seed = l.RatePerSecond, l.Seed
	}
	return out
}

// sameSource checks that a specification asks for the source that a folder was ingested from. Paths
// may differ.
func sameSource(path string, m *rundir.Manifest, spec *schemas.RunSpec) error {
	want, got := sourceSettings(spec), m.Ingest.Settings
	if want.Format == string(schemas.FormatDynamo) && got.Format == want.Format && (want.BlockTokens == 0 || want.BlockTokens == m.Ingest.BlockTokens) {
		// The block size of the file is what counts.
		want.BlockTokens, got.BlockTokens = 0, 0
	}
	if d := differences(want, got); d != "" {
		return &InputError{fmt.Errorf("%s was ingested from another source than the configuration's: %s", path, d)}
	}
	return nil
}

// sameLoad checks that a specification asks for the load that a folder was lowered with.
func sameLoad(path string, m *rundir.Manifest, spec *schemas.RunSpec) error {
	if d := differences(loadSettings(spec), m.Lower.Settings); d != "" {
		return &InputError{fmt.Errorf("%s was lowered with another load than the configuration's: %s", path, d)}
	}
	return nil
}

// differences lists the members in which two settings of one type differ, in their order.
func differences(configuration, folder any) string {
	a, b := members(configuration), members(folder)
	var out []string
	for _, name := range a.names {
		if x, y := a.values[name], b.values[name]; x != y {
			out = append(out, fmt.Sprintf("%s is %s in the configuration and %s in the folder", name, orNone(x), orNone(y)))
		}
	}
	for _, name := range b.names {
		if _, both := a.values[name]; !both {
			out = append(out, fmt.Sprintf("%s is not in the configuration and %s in the folder", name, b.values[name]))
		}
	}
	return strings.Join(out, "; ")
}

func orNone(text string) string {
	if text == "" {
		return "not given"
	}
	return text
}

type memberList struct {
	names  []string
	values map[string]string
}

// members lists the members of the JSON object that v becomes.
func members(v any) memberList {
	out := memberList{values: map[string]string{}}
	text, err := json.Marshal(v)
	if err != nil {
		return out
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	_, _ = d.Token()
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		out.names = append(out.names, name.(string))
		out.values[name.(string)] = string(value)
	}
	return out
}
