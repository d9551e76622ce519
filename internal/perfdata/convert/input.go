// Package convert makes the data set of internal/perfdata from the measured operator tables of the
// AISimulate package (spec 09 section 1), a wheel or its unpacked folder.
package convert

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/goccy/go-yaml"
)

// input is an opened package: the folder with the systems' facts and data.
type input struct {
	files fs.FS
	// systems is the path of the systems folder in files, configs that of the model configurations.
	systems, configs string
	// origin names the package and its version.
	origin string
	close  func() error
}

// systemsMark is a file that every systems folder has.
const systemsMark = "query_versions.yaml"

// openInput finds the tables in a wheel, a folder with the package, or the systems folder itself.
func openInput(where string) (*input, error) {
	info, err := os.Stat(where)
	if err != nil {
		return nil, err
	}
	in := &input{close: func() error { return nil }}
	if info.IsDir() {
		in.files = os.DirFS(where)
	} else {
		archive, err := zip.OpenReader(where)
		if err != nil {
			return nil, fmt.Errorf("%s: not a folder and not a wheel: %w", where, err)
		}
		in.files, in.close = archive, archive.Close
	}
	for _, candidate := range []string{"aisimulate_core/systems", "systems", "."} {
		if _, err := fs.Stat(in.files, path.Join(candidate, systemsMark)); err == nil {
			in.systems = candidate
			in.configs = path.Join(path.Dir(candidate), "model_configs")
			in.origin = originOf(in.files)
			return in, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("%s: no %s in it, in systems or in aisimulate_core/systems: expected a wheel of aisimulate or its unpacked folder",
		where, systemsMark), in.close())
}

// originOf reads name and version from the package's metadata, when it is there.
func originOf(files fs.FS) string {
	found, _ := fs.Glob(files, "aisimulate-*.dist-info/METADATA")
	for _, name := range found {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			continue
		}
		var title, version string
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan() && lines.Text() != ""; {
			if v, ok := strings.CutPrefix(lines.Text(), "Name: "); ok {
				title = v
			}
			if v, ok := strings.CutPrefix(lines.Text(), "Version: "); ok {
				version = v
			}
		}
		if title != "" && version != "" {
			return title + " " + version
		}
	}
	return "aisimulate, version unknown"
}

// yamlFile decodes a file below the systems folder.
func (in *input) yamlFile(name string, into any) error {
	text, err := fs.ReadFile(in.files, path.Join(in.systems, name))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		// The decoder goes on with an excerpt of the file.
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("%s: %s", path.Join(in.systems, name), first)
	}
	return nil
}

// folders lists the folders below a path under the systems folder, sorted; there may be none.
func (in *input) folders(name string) []string {
	entries, err := fs.ReadDir(in.files, path.Join(in.systems, name))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func (in *input) exists(name string) bool {
	_, err := fs.Stat(in.files, path.Join(in.systems, name))
	return err == nil
}

// config is the configuration of a model that the package has.
func (in *input) config(model string) ([]byte, error) {
	return fs.ReadFile(in.files, path.Join(in.configs, strings.ReplaceAll(model, "/", "--")+"_config.json"))
}
