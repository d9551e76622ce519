package convert

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynosim/dynosim/internal/perfdata"
)

// Slots are the version slots that may be imported (spec 09 section 1.3).
var Slots = []string{"current", "previous", "next"}

// InputError is an input that cannot be converted: not a package of the expected layout, or damaged.
type InputError struct{ err error }

func (e *InputError) Error() string { return e.err.Error() }
func (e *InputError) Unwrap() error { return e.err }

// Options say what to import.
type Options struct {
	// Systems are those to import, all when empty.
	Systems []string
	// Slots are the version slots to import, of "current", "previous" and "next"; current when empty.
	Slots []string
	// Report is called with a line about every system, when it is set.
	Report func(line string)
}

// Import converts the tables in a wheel or folder to a data set in the folder out, which it makes.
// Files appear when they are complete; the catalogue comes last.
func Import(from, out string, o Options) (c *perfdata.Catalog, err error) {
	in, err := openInput(from)
	if err != nil {
		return nil, &InputError{err}
	}
	defer func() { err = errors.Join(err, in.close()) }()
	m, err := in.maker(o)
	if err != nil {
		return nil, &InputError{err}
	}
	if err := mayReplace(out); err != nil {
		return nil, &InputError{err}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	temporary, err := os.MkdirTemp(out, temporaryPrefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	if err := m.run(temporary); err != nil {
		return nil, &InputError{fmt.Errorf("%s: %w", from, err)}
	}
	text, err := json.Marshal(m.catalog, json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(temporary, perfdata.CatalogFile), append(text, '\n'), 0o644); err != nil {
		return nil, err
	}
	// Without a catalogue there is no set, so that none is ever half old and half new.
	if err := os.Remove(filepath.Join(out, perfdata.CatalogFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range perfdata.Families() {
		name := f.Name + ".parquet"
		if err := os.Rename(filepath.Join(temporary, name), filepath.Join(out, name)); err != nil {
			return nil, err
		}
	}
	return m.catalog, os.Rename(filepath.Join(temporary, perfdata.CatalogFile), filepath.Join(out, perfdata.CatalogFile))
}

// mayReplace refuses a folder with other things in it than a data set.
func mayReplace(out string) error {
	entries, err := os.ReadDir(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		ours := e.Name() == perfdata.CatalogFile || strings.HasPrefix(e.Name(), temporaryPrefix) ||
			slices.ContainsFunc(perfdata.Families(), func(f *perfdata.Family) bool { return e.Name() == f.Name+".parquet" })
		if !ours {
			return fmt.Errorf("%s holds %s, which is no part of a data set: import into a folder of its own", out, e.Name())
		}
	}
	return nil
}

// temporaryPrefix begins the names of folders in which a set is made.
const temporaryPrefix = ".importing-"

// maker collects a data set.
type maker struct {
	in       *input
	options  Options
	manifest manifestYAML
	lanes    laneDefaults
	catalog  *perfdata.Catalog
	// data is the folder of each system's tables, library the file of its communication library.
	data, library map[string]string
}

func (in *input) maker(o Options) (*maker, error) {
	m := &maker{in: in, options: o, data: map[string]string{}, library: map[string]string{}}
	m.catalog = &perfdata.Catalog{Format: perfdata.Format, Origin: in.origin, Licence: "Apache-2.0"}
	if err := in.yamlFile("perf_data_reuse_manifest.yaml", &m.manifest); err != nil {
		return nil, err
	}
	var lanes map[string]any
	if err := in.yamlFile("attention_lane_defaults.yaml", &lanes); err != nil {
		return nil, err
	}
	m.lanes = laneDefaultsOf(lanes)
	var slots slotsYAML
	if err := in.yamlFile(systemsMark, &slots); err != nil {
		return nil, err
	}
	names, err := in.systemNames()
	if err != nil {
		return nil, err
	}
	for _, s := range o.Systems {
		if !slices.Contains(names, s) {
			return nil, &perfdata.UnknownError{What: "system", Name: s, Available: names}
		}
	}
	newest := map[string]string{}
	backends := map[string][]string{}
	for _, name := range names {
		facts, data, library, err := in.system(name)
		if err != nil {
			return nil, err
		}
		m.data[name], m.library[name] = data, library
		versions := in.backends(data)
		backends[name] = slices.Sorted(maps.Keys(versions))
		if _, overridden := slots.Overrides[name]; !overridden {
			for backend, list := range versions {
				for _, v := range list {
					if newest[backend] == "" || older(newest[backend], v) {
						newest[backend] = v
					}
				}
			}
		}
		m.catalog.Systems = append(m.catalog.Systems, facts)
	}
	for i := range m.catalog.Systems {
		s := &m.catalog.Systems[i]
		s.Slots = slots.slots(s.Name, backends[s.Name], newest)
	}
	m.catalog.Systems = slices.DeleteFunc(m.catalog.Systems, func(s perfdata.System) bool {
		return len(s.Slots) == 0 || len(o.Systems) > 0 && !slices.Contains(o.Systems, s.Name)
	})
	return m, nil
}

// systemNames are the systems with a file of facts.
func (in *input) systemNames() ([]string, error) {
	found, err := fs.Glob(in.files, path.Join(in.systems, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range found {
		var y struct {
			Data string `yaml:"data_dir"`
		}
		name := strings.TrimSuffix(path.Base(f), ".yaml")
		if err := in.yamlFile(name+".yaml", &y); err == nil && y.Data != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// backends are the serving backends with tables on a system, with the versions of any table.
func (in *input) backends(data string) map[string][]string {
	versions := map[string][]string{}
	for _, family := range in.folders(data) {
		for _, backend := range in.folders(path.Join(data, family)) {
			if family == "comm" && (backend == "nccl" || backend == "oneccl") {
				continue
			}
			versions[backend] = append(versions[backend], newestFirst(in.folders(path.Join(data, family, backend)))...)
		}
	}
	return versions
}

// laneDefaultsOf keeps the entries for whole backends: backend, version, generation, kernel.
func laneDefaultsOf(y map[string]any) laneDefaults {
	d := laneDefaults{}
	for backend, versions := range y {
		list, ok := versions.(map[string]any)
		if !ok || backend == "architectures" {
			continue
		}
		d[backend] = map[string]map[string]string{}
		for version, lanes := range list {
			byGeneration, _ := lanes.(map[string]any)
			d[backend][version] = map[string]string{}
			for generation, lane := range byGeneration {
				d[backend][version][generation] = fmt.Sprint(lane)
			}
		}
	}
	return d
}

// run makes every place and writes every family below a folder.
func (m *maker) run(folder string) error {
	writers := map[*perfdata.Family]*familyWriter{}
	var files []*os.File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for _, f := range perfdata.Families() {
		file, err := os.Create(filepath.Join(folder, f.Name+".parquet"))
		if err != nil {
			return err
		}
		files = append(files, file)
		if writers[f], err = newFamilyWriter(file, f); err != nil {
			return err
		}
	}
	for i := range m.catalog.Systems {
		if err := m.system(&m.catalog.Systems[i], writers); err != nil {
			return err
		}
	}
	for _, f := range perfdata.Families() {
		if err := writers[f].close(); err != nil {
			return err
		}
	}
	return nil
}

func (m *maker) system(s *perfdata.System, writers map[*perfdata.Family]*familyWriter) error {
	c := &conversion{in: m.in, manifest: &m.manifest, lanes: m.lanes, data: m.data[s.Name], system: s.Name, sm: s.SMVersion, heads: map[string]int64{}}
	if name := m.library[s.Name]; m.in.exists(name) {
		at := path.Dir(name)
		origin := perfdata.Origin{
			Backend: path.Base(path.Dir(at)), Version: s.NCCLVersion, Role: "primary",
			Collection: m.in.collection(at, strings.TrimSuffix(path.Base(name), ".parquet")),
		}
		p := perfdata.Place{System: s.Name, Backend: perfdata.AnyBackend, Version: s.NCCLVersion}
		if err := m.table(c, &p, &librarySpec, []sourceFile{{path: name, origin: origin}}, writers); err != nil {
			return err
		}
		m.catalog.Places = append(m.catalog.Places, p)
	}
	for _, slots := range s.Slots {
		for _, version := range m.versions(&slots) {
			p := perfdata.Place{System: s.Name, Backend: slots.Backend, Version: version}
			rows := int64(0)
			for i := range specs {
				spec := &specs[i]
				sources, err := m.in.sources(c.data, spec.folder, p.Backend, p.Version, spec.file, &m.manifest)
				if err != nil {
					return err
				}
				if err := m.table(c, &p, spec, sources, writers); err != nil {
					return err
				}
			}
			for i := range p.Tables {
				rows += p.Tables[i].Rows()
			}
			m.catalog.Places = append(m.catalog.Places, p)
			if m.options.Report != nil {
				m.options.Report(fmt.Sprintf("%s %s %s: %d tables, %d rows", p.System, p.Backend, p.Version, len(p.Tables), rows))
			}
		}
	}
	return nil
}

// versions are those of the slots that are asked for, without repetition.
func (m *maker) versions(s *perfdata.Slots) []string {
	asked := m.options.Slots
	if len(asked) == 0 {
		asked = []string{"current"}
	}
	var list []string
	for _, slot := range asked {
		v := map[string]string{"current": s.Current, "previous": s.Previous, "next": s.Next}[slot]
		if v != "" && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// table makes one table of a place and writes its row groups.
func (m *maker) table(c *conversion, p *perfdata.Place, s *tableSpec, sources []sourceFile, writers map[*perfdata.Family]*familyWriter) error {
	b, err := c.build(s, sources, p.Backend, p.Version)
	if err != nil || len(b.records) == 0 {
		return err
	}
	entry := perfdata.TableEntry{Table: s.table.String(), Sources: slices.DeleteFunc(slices.Clone(b.origins), func(o perfdata.Origin) bool { return o.Rows == 0 })}
	w := writers[perfdata.FamilyOf(s.table)]
	for rest := b.records; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].names == rest[0].names {
			n++
		}
		index, err := w.group(p.System, p.Backend, p.Version, rest[:n], b.origins)
		if err != nil {
			return err
		}
		entry.Groups = append(entry.Groups, perfdata.RowGroup{
			Names: append([]string{}, rest[0].names[:len(w.family.Names)]...), Index: index, Rows: int64(n),
		})
		rest = rest[n:]
	}
	p.Tables = append(p.Tables, entry)
	return nil
}
