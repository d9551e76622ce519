package perfdata_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynosim/dynosim/internal/perfdata"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

func TestUnknown(t *testing.T) {
	sets, err := embeddedOnly()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		system, backend, version string
		want                     []string
	}{
		{"h200", "vllm", "", []string{`system "h200"`, "did you mean h200_sxm", "available: a100_sxm, b200_sxm, h100_sxm, h200_sxm, l40s"}},
		{"no_such_gpu", "vllm", "", []string{`system "no_such_gpu"`, "available: "}},
		{"h100_sxm", "vlm", "", []string{`backend "vlm" on h100_sxm`, "did you mean vllm", "available: sglang, trtllm, vllm"}},
		{"h100_sxm", "vllm", "0.19.0", []string{`version "0.19.0" of vllm`, "not a queryable version on h100_sxm", "current = 0.24.0"}},
		{"a100_sxm", "vllm", "next", []string{`version "next"`, "not a queryable version"}},
		{"h100_sxm", "vllm", "previous", []string{`version "previous"`}},
	} {
		_, err := perfdata.OpenIn(sets, c.system, c.backend, c.version)
		var unknown *perfdata.UnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("%v: %v", c, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q does not contain %q", err, want)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	sets, err := embeddedOnly()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][4]string{
		{"h200_sxm", "vllm", "", "0.24.0"}, {"h200_sxm", "vllm", "current", "0.24.0"}, {"h200_sxm", "vllm", "0.24.0", "0.24.0"},
		{"a100_sxm", "sglang", "", "0.5.10"}, {"l40s", "trtllm", "", "1.3.0rc20"},
	} {
		tables, err := perfdata.OpenIn(sets, c[0], c[1], c[2])
		if err != nil || tables.Version() != c[3] {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestEmbedded checks the embedded set as a whole: every system and backend of spec 09 section 1.4,
// the tables that make up a run, and the versions that rows come from (not all that the section lists
// have a row left).
func TestEmbedded(t *testing.T) {
	sets, err := embeddedOnly()
	if err != nil {
		t.Fatal(err)
	}
	listed, err := perfdata.List(sets)
	if err != nil {
		t.Fatal(err)
	}
	places, donors := 0, map[string][]string{}
	for _, l := range listed {
		if l.Backend == perfdata.AnyBackend {
			continue
		}
		places++
		if l.Slot != "current" {
			t.Errorf("%s %s %s: slot %q", l.System, l.Backend, l.Version, l.Slot)
		}
		for _, e := range l.Tables {
			for _, s := range e.Sources {
				key := l.System + " " + l.Backend + " " + e.Table
				donors[key] = append(donors[key], s.Version)
			}
		}
	}
	if places != 15 {
		t.Errorf("%d places", places)
	}
	for key, want := range map[string]string{
		"h100_sxm vllm gemm":    "0.24.0 0.25.0",
		"h100_sxm sglang gemm":  "0.5.14 0.5.6.post2",
		"l40s vllm all_reduce":  "0.22.0",
		"b200_sxm vllm experts": "0.24.0 0.22.0 0.19.0",
		"l40s trtllm experts":   "1.3.0rc20 1.0.0",
		"a100_sxm trtllm gemm":  "1.0.0",
	} {
		if got := strings.Join(donors[key], " "); got != want {
			t.Errorf("%s comes from %s, want %s", key, got, want)
		}
	}
	tables, err := perfdata.OpenIn(sets, "a100_sxm", "vllm", "")
	if err != nil {
		t.Fatal(err)
	}
	if tables.Rows(operators.TableComputeScale) != 0 || tables.Rows(operators.TableGEMM) == 0 || tables.Rows(operators.TableNCCL) == 0 {
		t.Errorf("rows of a100_sxm: %d, %d, %d", tables.Rows(operators.TableComputeScale), tables.Rows(operators.TableGEMM), tables.Rows(operators.TableNCCL))
	}
	h := tables.Hardware()
	if h.MemoryBandwidth != 2.039e12 || h.FLOPS[operators.ArithmeticFP8] != 0 || h.LibraryBytes[4] != 411041792 || h.SMVersion != 80 {
		t.Errorf("facts of a100_sxm: %+v", h)
	}
}

// TestDamagedSets gives the reader folders that are no set, or not a whole one.
func TestDamagedSets(t *testing.T) {
	copySet := func(change func(folder string)) string {
		folder := t.TempDir()
		if err := os.CopyFS(folder, os.DirFS("data")); err != nil {
			t.Fatal(err)
		}
		change(folder)
		return folder
	}
	write := func(folder, name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	query := func(folder string) error {
		s, err := perfdata.OpenFolder(folder)
		if err != nil {
			return err
		}
		tables, err := perfdata.OpenIn([]*perfdata.Set{s}, "h100_sxm", "vllm", "")
		if err != nil {
			return err
		}
		_, err = tables.AllReduce(2, 4096)
		return err
	}
	if err := query(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty folder: %v", err)
	}
	for _, c := range []struct {
		name   string
		change func(folder string)
		want   string
	}{
		{"format", func(f string) { write(f, perfdata.CatalogFile, `{"format": 99}`) }, "format 99"},
		{"no JSON", func(f string) { write(f, perfdata.CatalogFile, `{`) }, perfdata.CatalogFile},
		{"no file", func(f string) { _ = os.Remove(filepath.Join(f, "all_reduce.parquet")) }, "all_reduce.parquet"},
		{"no Parquet", func(f string) { write(f, "all_reduce.parquet", "xxxxxxxxxxxxxxxxxxxxxxxx") }, "all_reduce.parquet"},
		{"another file", func(f string) {
			text, err := os.ReadFile(filepath.Join(f, "nccl.parquet"))
			if err != nil {
				t.Fatal(err)
			}
			write(f, "all_reduce.parquet", string(text))
		}, "the catalogue says"},
	} {
		err := query(copySet(c.change))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if err := query(copySet(func(string) {})); err != nil {
		t.Errorf("whole: %v", err)
	}
}

// TestFolderFirst has a folder answer before the embedded set.
func TestFolderFirst(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	if _, err := perfdata.Open("", "h100_sxm", "vllm", ""); err != nil {
		t.Errorf("without a folder: %v", err)
	}
	if _, err := perfdata.Open(t.TempDir(), "h100_sxm", "vllm", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder without a set: %v", err)
	}
	if err := os.CopyFS(perfdata.DefaultFolder(), os.DirFS("data")); err != nil {
		t.Fatal(err)
	}
	sets, err := perfdata.Sets("")
	if err != nil || len(sets) != 2 {
		t.Fatalf("%d sets: %v", len(sets), err)
	}
	listed, err := perfdata.List(sets, "l40s", "vllm")
	if err != nil || len(listed) != 2 || listed[0].Where != perfdata.DefaultFolder() {
		t.Errorf("%v: %v", listed, err)
	}
	if _, err := perfdata.List(sets, "l40"); err == nil || !strings.Contains(err.Error(), "did you mean l40s") {
		t.Errorf("a wrong name: %v", err)
	}
}

func embeddedOnly() ([]*perfdata.Set, error) {
	s, err := perfdata.Embedded()
	return []*perfdata.Set{s}, err
}
