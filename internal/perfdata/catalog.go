package perfdata

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// CatalogFile is the name of the catalogue in a data set's folder.
const CatalogFile = "catalog.json"

// Format is the version of the layout of data sets.
const Format = 1

// Catalog says what a data set has.
type Catalog struct {
	Format int `json:"format"`
	// Origin names the package that the tables come from, with its version.
	Origin  string   `json:"origin"`
	Licence string   `json:"licence"`
	Systems []System `json:"systems"`
	Places  []Place  `json:"places"`
}

// System has the facts of one GPU system (spec 09 section 1.6), as operators.Hardware.
type System struct {
	Name                 string             `json:"name"`
	MemoryBandwidth      float64            `json:"memory_bandwidth_bytes_per_s"`
	BandwidthEfficiency  float64            `json:"bandwidth_efficiency"`
	MemoryLatencySeconds float64            `json:"memory_latency_s"`
	MemoryBytes          int64              `json:"memory_bytes"`
	FLOPS                map[string]float64 `json:"flops"`
	SMVersion            int64              `json:"sm_version"`
	GPUsPerNode          int64              `json:"gpus_per_node"`
	GPUsPerRack          int64              `json:"gpus_per_rack,omitzero"`
	IntraNode            float64            `json:"intra_node_bytes_per_s"`
	InterNode            float64            `json:"inter_node_bytes_per_s"`
	InterRack            float64            `json:"inter_rack_bytes_per_s,omitzero"`
	P2PLatencySeconds    float64            `json:"p2p_latency_s"`
	LibraryBytes         map[string]int64   `json:"library_bytes_by_gpus"`
	OtherBytes           int64              `json:"other_bytes"`
	NCCLVersion          string             `json:"nccl_version"`
	PowerWatts           float64            `json:"power_w"`
	// Slots are the versions of each backend that may be asked for (section 1.3).
	Slots []Slots `json:"slots"`
}

// Slots are the versions of a backend that may be asked for on one system; "" where there is none.
type Slots struct {
	Backend  string `json:"backend"`
	Current  string `json:"current"`
	Previous string `json:"previous,omitzero"`
	Next     string `json:"next,omitzero"`
}

// Place is a system, backend and version that a data set answers for. The communication library's
// rows are a place of their own, of AnyBackend and the library's version.
type Place struct {
	System  string       `json:"system"`
	Backend string       `json:"backend"`
	Version string       `json:"version"`
	Tables  []TableEntry `json:"tables"`
}

// TableEntry is one table of a place.
type TableEntry struct {
	Table   string     `json:"table"`
	Groups  []RowGroup `json:"groups"`
	Sources []Origin   `json:"sources"`
}

// RowGroup is one row group of the family's file and the names that its rows share.
type RowGroup struct {
	Names []string `json:"names"`
	Index int      `json:"index"`
	Rows  int64    `json:"rows"`
}

// Origin is a file of measured rows that a table was made from, in order of precedence.
type Origin struct {
	Backend string `json:"backend"`
	Version string `json:"version"`
	// Role is primary, declared, fallback or cross-backend (section 1.4).
	Role string `json:"role"`
	// Rows is how many of its rows the table took.
	Rows int64 `json:"rows"`
	// Collection says how the file was collected, as its collection_meta.yaml does.
	Collection *Collection `json:"collection,omitempty"`
}

// Collection is what a table's collection_meta.yaml says.
type Collection struct {
	Framework        string `json:"framework,omitzero"`
	FrameworkVersion string `json:"framework_version,omitzero"`
	Provenance       string `json:"provenance,omitzero"`
	Status           string `json:"status,omitzero"`
	CollectedAt      string `json:"collected_at,omitzero"`
}

// Rows is how many rows the table has.
func (t *TableEntry) Rows() int64 {
	var n int64
	for i := range t.Groups {
		n += t.Groups[i].Rows
	}
	return n
}

// entry finds a table of a place, nil when it has none.
func (p *Place) entry(table operators.Table) *TableEntry {
	if p == nil {
		return nil
	}
	name := table.String()
	for i := range p.Tables {
		if p.Tables[i].Table == name {
			return &p.Tables[i]
		}
	}
	return nil
}

func parseCatalog(text []byte, where string) (*Catalog, error) {
	c := &Catalog{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if c.Format != Format {
		return nil, fmt.Errorf("%s: data set of format %d, this program reads %d: import it again", where, c.Format, Format)
	}
	return c, nil
}

func (c *Catalog) system(name string) *System {
	i := slices.IndexFunc(c.Systems, func(s System) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Systems[i]
}

func (c *Catalog) place(system, backend, version string) *Place {
	for i := range c.Places {
		if p := &c.Places[i]; p.System == system && p.Backend == backend && p.Version == version {
			return p
		}
	}
	return nil
}

// hardware converts the facts for the operators.
func (s *System) hardware() operators.Hardware {
	h := operators.Hardware{
		Name: s.Name, MemoryBandwidth: s.MemoryBandwidth, BandwidthEfficiency: s.BandwidthEfficiency,
		MemoryLatencySeconds: s.MemoryLatencySeconds, MemoryBytes: s.MemoryBytes, SMVersion: s.SMVersion,
		GPUsPerNode: s.GPUsPerNode, GPUsPerRack: s.GPUsPerRack, IntraNode: s.IntraNode, InterNode: s.InterNode, InterRack: s.InterRack,
		P2PLatency: s.P2PLatencySeconds, OtherBytes: s.OtherBytes, NCCLVersion: s.NCCLVersion, PowerWatts: s.PowerWatts,
		LibraryBytes: map[int64]int64{},
	}
	for a := range operators.Arithmetics {
		h.FLOPS[a] = s.FLOPS[a.String()]
	}
	for gpus, bytes := range s.LibraryBytes {
		var n int64
		if _, err := fmt.Sscan(gpus, &n); err == nil {
			h.LibraryBytes[n] = bytes
		}
	}
	return h
}
