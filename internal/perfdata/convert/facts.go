package convert

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	pep440 "github.com/aquasecurity/go-pep440-version"

	"github.com/dynosim/dynosim/internal/perfdata"
)

// systemYAML is a system's file (spec 09 section 1.6).
type systemYAML struct {
	DataDir string `yaml:"data_dir"`
	GPU     struct {
		Bandwidth  float64 `yaml:"mem_bw"`
		Efficiency float64 `yaml:"mem_bw_empirical_scaling_factor"`
		Latency    float64 `yaml:"mem_empirical_constant_latency"`
		Capacity   int64   `yaml:"mem_capacity"`
		BF16       float64 `yaml:"bfloat16_tc_flops"`
		Int8       float64 `yaml:"int8_tc_flops"`
		FP8        float64 `yaml:"fp8_tc_flops"`
		FP4        float64 `yaml:"fp4_tc_flops"`
		Power      float64 `yaml:"power"`
		SM         int64   `yaml:"sm_version"`
	} `yaml:"gpu"`
	Node struct {
		GPUs       int64   `yaml:"num_gpus_per_node"`
		RackGPUs   int64   `yaml:"num_gpus_per_rack"`
		InterNode  float64 `yaml:"inter_node_bw"`
		IntraNode  float64 `yaml:"intra_node_bw"`
		InterRack  float64 `yaml:"inter_rack_bw"`
		P2PLatency float64 `yaml:"p2p_latency"`
	} `yaml:"node"`
	Misc struct {
		Library     map[int64]int64 `yaml:"nccl_mem"`
		Other       int64           `yaml:"other_mem"`
		NCCLVersion string          `yaml:"nccl_version"`
		OneCCL      string          `yaml:"oneccl_version"`
	} `yaml:"misc"`
}

// system reads a system's facts, the folder of its tables and the file of its communication
// library, which may not be there.
func (in *input) system(name string) (s perfdata.System, data, library string, err error) {
	var y systemYAML
	if err := in.yamlFile(name+".yaml", &y); err != nil {
		return s, "", "", err
	}
	s = perfdata.System{
		Name: name, MemoryBandwidth: y.GPU.Bandwidth, BandwidthEfficiency: y.GPU.Efficiency, MemoryLatencySeconds: y.GPU.Latency,
		MemoryBytes: y.GPU.Capacity, FLOPS: map[string]float64{}, SMVersion: y.GPU.SM,
		GPUsPerNode: y.Node.GPUs, GPUsPerRack: y.Node.RackGPUs, IntraNode: y.Node.IntraNode, InterNode: y.Node.InterNode, InterRack: y.Node.InterRack,
		P2PLatencySeconds: y.Node.P2PLatency, LibraryBytes: map[string]int64{}, OtherBytes: y.Misc.Other, NCCLVersion: y.Misc.NCCLVersion,
		PowerWatts: y.GPU.Power,
	}
	for key, flops := range map[string]float64{"bfloat16": y.GPU.BF16, "int8": y.GPU.Int8, "fp8": y.GPU.FP8, "fp4": y.GPU.FP4} {
		if flops > 0 {
			s.FLOPS[key] = flops
		}
	}
	// Intel's library stands in where there is nothing for the other.
	library = path.Join(y.DataDir, "comm", "nccl", y.Misc.NCCLVersion, "nccl_perf.parquet")
	if intel := path.Join(y.DataDir, "comm", "oneccl", y.Misc.OneCCL, "oneccl_perf.parquet"); !in.exists(library) && in.exists(intel) {
		library, s.NCCLVersion = intel, y.Misc.OneCCL
	}
	for gpus, bytes := range y.Misc.Library {
		s.LibraryBytes[strconv.FormatInt(gpus, 10)] = bytes
	}
	return s, y.DataDir, library, nil
}

// slotsYAML is query_versions.yaml (spec 09 section 1.3).
type slotsYAML struct {
	Defaults  map[string]slotYAML            `yaml:"defaults"`
	Overrides map[string]map[string]slotYAML `yaml:"overrides"`
}

type slotYAML struct {
	Current  string `yaml:"current"`
	Previous string `yaml:"previous"`
}

// slots are the versions of each backend with data on a system. newest has the highest version of
// each backend on any system without slots of its own.
func (y *slotsYAML) slots(system string, backends []string, newest map[string]string) []perfdata.Slots {
	own, overridden := y.Overrides[system]
	var list []perfdata.Slots
	for _, backend := range backends {
		slot, ok := y.Defaults[backend], true
		if overridden {
			slot, ok = own[backend]
		}
		if !ok || slot.Current == "" {
			continue
		}
		s := perfdata.Slots{Backend: backend, Current: slot.Current, Previous: slot.Previous}
		if next := newest[backend]; !overridden && older(slot.Current, next) {
			s.Next = next
		}
		list = append(list, s)
	}
	return list
}

// older says that a version comes before another (PEP 440); what is no version comes nowhere.
func older(a, b string) bool {
	va, errA := pep440.Parse(a)
	vb, errB := pep440.Parse(b)
	return errA == nil && errB == nil && va.LessThan(vb)
}

// newestFirst drops what is no version and sorts the rest downwards.
func newestFirst(versions []string) []string {
	list := slices.DeleteFunc(slices.Clone(versions), func(v string) bool { _, err := pep440.Parse(v); return err != nil })
	slices.SortFunc(list, func(a, b string) int {
		switch {
		case older(b, a):
			return -1
		case older(a, b):
			return 1
		}
		return strings.Compare(a, b)
	})
	return list
}

// leading is a version as the integers that its dotted parts begin with.
func leading(version string) []int {
	var parts []int
	for part := range strings.SplitSeq(version, ".") {
		digits := len(part) - len(strings.TrimLeft(part, "0123456789"))
		n, err := strconv.Atoi(part[:digits])
		if err != nil {
			break
		}
		parts = append(parts, n)
	}
	return parts
}

// collection reads what is said about a table beside it; nothing when there is nothing.
func (in *input) collection(folder, table string) *perfdata.Collection {
	var y struct {
		Provenance string `yaml:"provenance"`
		Runtime    struct {
			Framework string `yaml:"framework"`
			Version   string `yaml:"version"`
		} `yaml:"runtime"`
		Tables map[string]struct {
			Status      string `yaml:"status"`
			CollectedAt string `yaml:"collected_at"`
		} `yaml:"tables"`
	}
	if err := in.yamlFile(folder+"/collection_meta.yaml", &y); err != nil {
		return nil
	}
	return &perfdata.Collection{
		Framework: y.Runtime.Framework, FrameworkVersion: y.Runtime.Version, Provenance: y.Provenance,
		Status: y.Tables[table].Status, CollectedAt: fmt.Sprint(y.Tables[table].CollectedAt),
	}
}
