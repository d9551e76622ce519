package convert

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dynosim/dynosim/internal/perfdata"
)

// sourceFile is one file of measured rows that a table is made from.
type sourceFile struct {
	path   string
	origin perfdata.Origin
	// kernels are those whose rows count, nil for all.
	kernels map[string]bool
}

// manifestYAML is the list of kernels that backends share.
type manifestYAML struct {
	Groups []struct {
		File       string   `yaml:"op_file"`
		Kernel     string   `yaml:"kernel_source"`
		Tier       string   `yaml:"tier"`
		Frameworks []string `yaml:"frameworks"`
	} `yaml:"groups"`
}

// shared are the kernels of a table that a backend may take from another.
func (m *manifestYAML) shared(table, backend, from string) map[string]bool {
	kernels := map[string]bool{}
	for _, g := range m.Groups {
		if g.File == table+".parquet" && g.Tier != "absence_load_bearing" && slices.Contains(g.Frameworks, backend) && slices.Contains(g.Frameworks, from) {
			kernels[g.Kernel] = true
		}
	}
	return kernels
}

// sources lists the files of a table in order of precedence (spec 09 section 1.4).
func (in *input) sources(data, folder, backend, version, table string, manifest *manifestYAML) ([]sourceFile, error) {
	var list []sourceFile
	base := path.Join(data, folder)
	add := func(backend, version, role string, kernels map[string]bool) {
		at := path.Join(base, backend, version)
		name := path.Join(at, table+".parquet")
		if !in.exists(name) || slices.ContainsFunc(list, func(s sourceFile) bool { return s.path == name }) {
			return
		}
		list = append(list, sourceFile{name, perfdata.Origin{Backend: backend, Version: version, Role: role, Collection: in.collection(at, table)}, kernels})
	}
	add(backend, version, "primary", nil)
	if folder != "comm" {
		declared, err := in.declared(path.Join(base, backend, version), table)
		if err != nil {
			return nil, err
		}
		for _, v := range declared {
			add(backend, v, "declared", nil)
		}
	}
	for _, v := range newestFirst(in.folders(path.Join(base, backend))) {
		if older(v, version) {
			add(backend, v, "fallback", nil)
		}
	}
	if folder == "comm" {
		return list, nil
	}
	for _, other := range in.folders(base) {
		if other == backend {
			continue
		}
		if kernels := manifest.shared(table, backend, other); len(kernels) > 0 {
			for _, v := range newestFirst(in.folders(path.Join(base, other))) {
				add(other, v, "cross-backend", kernels)
			}
		}
	}
	return list, nil
}

// declared are the versions that a folder's reuse.yaml names for a table.
func (in *input) declared(folder, table string) ([]string, error) {
	if !in.exists(folder + "/reuse.yaml") {
		return nil, nil
	}
	var y struct {
		Reuse []struct {
			Table   string `yaml:"table"`
			Version string `yaml:"from_version"`
		} `yaml:"reuse"`
	}
	if err := in.yamlFile(folder+"/reuse.yaml", &y); err != nil {
		return nil, err
	}
	var versions []string
	for _, r := range y.Reuse {
		if r.Table == table {
			versions = append(versions, r.Version)
		}
	}
	return versions, nil
}

// kernelOf is a row's kernel; rows without one are of the lane "default".
func kernelOf(name string) string {
	if name == "" {
		return "default"
	}
	return name
}

func endsEager(name string) bool { return strings.HasSuffix(name, "_eager") }

func in32(v int64, name string) (int32, error) {
	if v < 0 || int64(int32(v)) != v {
		return 0, fmt.Errorf("%s %d is out of range", name, v)
	}
	return int32(v), nil
}
