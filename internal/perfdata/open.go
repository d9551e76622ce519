package perfdata

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// UnknownError says that there is no data for what was asked, and what there is.
type UnknownError struct {
	// What is "system", "backend" or "version".
	What, Name string
	// Available lists what there is instead, Nearest those of it that look like Name.
	Available, Nearest []string
	// Detail continues the first sentence.
	Detail string
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("no performance data for %s %q", e.What, e.Name)
	if e.Detail != "" {
		text += " " + e.Detail
	}
	if len(e.Nearest) > 0 {
		text += "; did you mean " + strings.Join(e.Nearest, " or ") + "?"
	}
	return text + " (available: " + strings.Join(e.Available, ", ") + ")"
}

// DefaultFolder is where imported data lies unless a folder is named: dynosim/perfdata in the
// user's data folder (XDG_DATA_HOME, or .local/share in the home folder). It is "" when there is no
// home folder.
func DefaultFolder() string {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "dynosim", "perfdata")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "dynosim", "perfdata")
}

// Sets opens what is asked in order: the set of the folder, which must exist unless it is "", or
// that of the default folder when it has one; then the embedded one.
func Sets(folder string) ([]*Set, error) {
	var sets []*Set
	chosen := folder
	if chosen == "" {
		chosen = DefaultFolder()
	}
	if chosen != "" {
		switch s, err := OpenFolder(chosen); {
		case err == nil:
			sets = append(sets, s)
		case folder != "" || !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	s, err := Embedded()
	if err != nil {
		return nil, err
	}
	return append(sets, s), nil
}

// Open finds the tables of a system, backend and version in the first set that has them. The version
// is "" or "current", "previous", "next", or one of the versions that these stand for
// (spec 09 section 1.3). What is not there is an *UnknownError.
func Open(folder, system, backend, version string) (*operators.Tables, error) {
	sets, err := Sets(folder)
	if err != nil {
		return nil, err
	}
	return OpenIn(sets, system, backend, version)
}

// OpenIn is Open in given sets.
func OpenIn(sets []*Set, system, backend, version string) (*operators.Tables, error) {
	_, slots, err := slotsOf(sets, system, backend)
	if err != nil {
		return nil, err
	}
	resolved := slots.resolve(version)
	if resolved == "" {
		return nil, unknown("version", version, slots.names(), fmt.Sprintf("of %s: not a queryable version on %s", backend, system))
	}
	for _, s := range sets {
		place := s.Catalog.place(system, backend, resolved)
		if place == nil {
			continue
		}
		facts := s.Catalog.system(system)
		src := &source{set: s, place: place, library: s.Catalog.place(system, AnyBackend, facts.NCCLVersion)}
		return operators.New(facts.hardware(), backend, resolved, src), nil
	}
	var have []string
	for _, s := range sets {
		for i := range s.Catalog.Places {
			if p := &s.Catalog.Places[i]; p.System == system && p.Backend == backend && !slices.Contains(have, p.Version) {
				have = append(have, p.Version)
			}
		}
	}
	return nil, unknown("version", resolved, have, fmt.Sprintf("of %s on %s; `dynosim perfdata import` adds it", backend, system))
}

// slotsOf finds the first set that knows a system and its backend.
func slotsOf(sets []*Set, system, backend string) (*System, *Slots, error) {
	var systems, backends []string
	for _, s := range sets {
		for i := range s.Catalog.Systems {
			facts := &s.Catalog.Systems[i]
			if !slices.Contains(systems, facts.Name) {
				systems = append(systems, facts.Name)
			}
			if facts.Name != system {
				continue
			}
			for j := range facts.Slots {
				if facts.Slots[j].Backend == backend {
					return facts, &facts.Slots[j], nil
				}
				if !slices.Contains(backends, facts.Slots[j].Backend) {
					backends = append(backends, facts.Slots[j].Backend)
				}
			}
		}
	}
	slices.Sort(systems)
	if !slices.Contains(systems, system) {
		return nil, nil, unknown("system", system, systems, "")
	}
	slices.Sort(backends)
	return nil, nil, unknown("backend", backend, backends, "on "+system)
}

// resolve is the version that a name stands for, "" for none.
func (s *Slots) resolve(version string) string {
	switch version {
	case "", "current":
		return s.Current
	case "previous":
		return s.Previous
	case "next":
		return s.Next
	case s.Current, s.Previous, s.Next:
		return version
	}
	return ""
}

func (s *Slots) names() []string {
	names := []string{"current = " + s.Current}
	if s.Previous != "" {
		names = append(names, "previous = "+s.Previous)
	}
	if s.Next != "" {
		names = append(names, "next = "+s.Next)
	}
	return names
}

func unknown(what, name string, available []string, detail string) *UnknownError {
	return &UnknownError{What: what, Name: name, Available: available, Nearest: nearest(name, available), Detail: detail}
}

// nearest picks up to two names within a few edits of a name, or that contain it.
func nearest(name string, available []string) []string {
	type scored struct {
		name     string
		distance int
	}
	var close []scored
	lower := strings.ToLower(name)
	if lower == "" {
		return nil
	}
	for _, candidate := range available {
		d := edits(lower, strings.ToLower(candidate))
		if strings.Contains(strings.ToLower(candidate), lower) || strings.HasPrefix(lower, strings.ToLower(candidate)) {
			d = 0
		}
		if d <= max(len(lower)/2, 1) {
			close = append(close, scored{candidate, d})
		}
	}
	slices.SortStableFunc(close, func(a, b scored) int { return a.distance - b.distance })
	var names []string
	for _, c := range close[:min(len(close), 2)] {
		names = append(names, c.name)
	}
	return names
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
