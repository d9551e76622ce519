package perfdata

import "slices"

// Listed is a place of a set as List shows it.
type Listed struct {
	System  string `json:"system"`
	Backend string `json:"backend"`
	Version string `json:"version"`
	// Slot is current, previous or next; "" for the communication library, whose version goes with
	// the system.
	Slot string `json:"slot,omitempty"`
	Rows int64  `json:"rows"`
	// Where is the set's folder or "embedded", Origin the package it was made from.
	Where  string       `json:"data"`
	Origin string       `json:"origin"`
	Tables []TableEntry `json:"tables"`
}

// Rows is how many rows all tables of the place have.
func (p *Place) Rows() int64 {
	var n int64
	for i := range p.Tables {
		n += p.Tables[i].Rows()
	}
	return n
}

// List shows the places of the sets, sorted by system, backend and version, those that Open finds
// only: what an earlier set has hides the same of a later one. Names restrict it to a system and
// a backend; one that no set has is an *UnknownError.
func List(sets []*Set, names ...string) ([]Listed, error) {
	var listed []Listed
	var systems, backends []string
	for _, s := range sets {
		for i := range s.Catalog.Places {
			p := &s.Catalog.Places[i]
			if !slices.Contains(systems, p.System) {
				systems = append(systems, p.System)
			}
			if len(names) > 0 && p.System != names[0] {
				continue
			}
			if !slices.Contains(backends, p.Backend) && p.Backend != AnyBackend {
				backends = append(backends, p.Backend)
			}
			if len(names) > 1 && p.Backend != names[1] && p.Backend != AnyBackend {
				continue
			}
			if slices.ContainsFunc(listed, func(l Listed) bool { return l.System == p.System && l.Backend == p.Backend && l.Version == p.Version }) {
				continue
			}
			listed = append(listed, Listed{
				System: p.System, Backend: p.Backend, Version: p.Version, Slot: s.Catalog.system(p.System).slotOf(p), Rows: p.Rows(),
				Where: s.Where, Origin: s.Catalog.Origin, Tables: p.Tables,
			})
		}
	}
	slices.Sort(systems)
	slices.Sort(backends)
	switch {
	case len(names) > 0 && !slices.Contains(systems, names[0]):
		return nil, unknown("system", names[0], systems, "")
	case len(names) > 1 && !slices.Contains(backends, names[1]):
		return nil, unknown("backend", names[1], backends, "on "+names[0])
	}
	slices.SortStableFunc(listed, func(a, b Listed) int {
		return slices.Compare([]string{a.System, a.Backend, a.Version}, []string{b.System, b.Backend, b.Version})
	})
	return listed, nil
}

func (s *System) slotOf(p *Place) string {
	if s == nil {
		return ""
	}
	for i := range s.Slots {
		if s.Slots[i].Backend != p.Backend {
			continue
		}
		switch p.Version {
		case s.Slots[i].Current:
			return "current"
		case s.Slots[i].Previous:
			return "previous"
		case s.Slots[i].Next:
			return "next"
		}
	}
	return ""
}
