package models

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/dynosim/dynosim/schemas/strict"
)

// known.json holds, for each model, the numbers of its config.json and hf_quant_config.json
// that a run depends on.
//
//go:embed known.json
var knownText []byte

type entry struct {
	Config       json.RawMessage `json:"config"`
	Quantization json.RawMessage `json:"hf_quant_config"`
}

var known = sync.OnceValue(func() map[string]entry {
	var out map[string]entry
	if err := json.Unmarshal(knownText, &out); err != nil {
		panic("known.json: " + err.Error())
	}
	return out
})

// Names lists the models that ship with the program, sorted.
func Names() []string {
	names := make([]string, 0, len(known()))
	for name := range known() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Architectures lists the architectures that have operator lists, sorted.
func Architectures() []string {
	names := make([]string, 0, len(families))
	for name := range families {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// UnknownError is a model that is neither a known name nor a folder.
type UnknownError struct {
	Name string
	// Near are the known names that look most like it, the nearest first.
	Near []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown model %q; did you mean %s? A folder with a config.json works as well", e.Name, strings.Join(e.Near, ", "))
}

// Find returns the configuration of a model: a folder with a config.json or the path of one, a
// known name, or a variant of a known name. Instruction-tuned and dated variants have the sizes of
// their base model; a variant for fp8 has its sizes and the fp8 quantisation of its publisher (spec 09
// section 2.1). An *UnknownError lists the nearest names.
func Find(name string) (*Config, error) {
	if e, ok := known()[name]; ok {
		return Parse(name, e.Config, e.Quantization)
	}
	if path, ok := folder(name); ok {
		return read(name, path)
	}
	if base, fp8 := variant(name); base != "" {
		e := known()[base]
		if fp8 {
			e.Quantization = fp8Checkpoint
			if org, _, _ := strings.Cut(strings.ToLower(name), "/"); org == "qwen" || org == "deepseek-ai" {
				return parseBlock(name, e.Config)
			}
		}
		return Parse(name, e.Config, e.Quantization)
	}
	return nil, &UnknownError{name, nearest(name)}
}

// fp8Checkpoint is what fp8 releases of bf16 models say: scales per tensor, an fp8 KV cache.
var fp8Checkpoint = json.RawMessage(`{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}`)

// parseBlock parses a bf16 configuration as the block-wise fp8 release of its own publisher.
func parseBlock(name string, config []byte) (*Config, error) {
	root, err := object(config)
	if err != nil {
		return nil, err
	}
	root["quantization_config"] = fields{"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": []int{128, 128}}
	text, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	return Parse(name, text, nil)
}

// folder tells whether a name is the path of a configuration, or of the folder that has one.
func folder(name string) (path string, ok bool) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return name, true
	case err == nil && filepath.Ext(name) == ".json":
		return name, true
	}
	// A path that does not exist is a path all the same when it is written like one.
	return name, strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || filepath.IsAbs(name)
}

// maxConfig bounds the files, so that a wrong path is noticed.
const maxConfig = 16 << 20

func read(name, path string) (*Config, error) {
	config := path
	if filepath.Ext(path) != ".json" {
		config = filepath.Join(path, "config.json")
	}
	text, err := readFile(config)
	if err != nil {
		return nil, err
	}
	quant, err := readFile(filepath.Join(filepath.Dir(config), "hf_quant_config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		quant, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(name, text, quant)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, clean(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		return nil, fmt.Errorf("%s: larger than %d MiB, so no model configuration", path, maxConfig>>20)
	}
	return text, clean(err)
}

// clean puts the file first in the error of a file operation.
func clean(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}

// suffixes are parts at the end of a name that do not change a model's sizes.
var suffixes = regexp.MustCompile(`(-instruct|-thinking|-chat|-hf|-it|-base|-v0\.1|-\d{4}|-fp8-static-pertensor|-fp8-dynamic|-fp8|-bf16)$`)

// renamed are models that have the sizes of another one under another name.
var renamed = map[string]string{
	"llama-3.3-70b": "llama-3.1-70b", "deepseek-v3.1": "deepseek-v3",
}

// plainName is a name without its publisher and what does not change the sizes; fp8 says that it
// named fp8.
func plainName(name string) (plain string, fp8 bool) {
	plain = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	fp8 = strings.Contains(plain, "-fp8")
	for {
		cut := suffixes.ReplaceAllString(plain, "")
		if cut == plain {
			break
		}
		plain = cut
	}
	plain = strings.TrimPrefix(plain, "meta-")
	if other, ok := renamed[plain]; ok {
		plain = other
	}
	return plain, fp8
}

// variant finds the known model that a name is a variant of; fp8 says that the name wants the fp8
// release of one that is known in 16 bit only.
func variant(name string) (base string, fp8 bool) {
	plain, fp8 := plainName(name)
	for _, candidate := range Names() {
		other, quantised := plainName(candidate)
		switch {
		case other != plain || strings.Contains(candidate, "NVFP4") || strings.Contains(candidate, "Static"):
		case quantised == fp8:
			return candidate, false
		case base == "" && !quantised:
			base = candidate
		}
	}
	if base == "" {
		return "", false
	}
	// A model that its publisher trained in fp8 needs nothing added.
	if c, err := Parse(base, known()[base].Config, known()[base].Quantization); err == nil && c.Checkpoint.Algorithm != "" {
		return base, false
	}
	return base, fp8
}

// nearest lists the three known names that look most like a name.
func nearest(name string) []string {
	names := Names()
	var near []string
	for range 3 {
		best := strict.Nearest(name, names)
		if best == "" {
			// Nothing is close; compare without publishers.
			break
		}
		near = append(near, best)
		names = slices.DeleteFunc(names, func(n string) bool { return n == best })
	}
	plain, _ := plainName(name)
	slices.SortStableFunc(names, func(a, b string) int { return common(b, plain) - common(a, plain) })
	for _, n := range names {
		if len(near) < 3 {
			near = append(near, n)
		}
	}
	return near
}

// maxCompared bounds the text that is compared.
const maxCompared = 100

// common is the length of the longest text that two names share.
func common(name, plain string) int {
	other, _ := plainName(name)
	plain = plain[:min(len(plain), maxCompared)]
	best := 0
	for i := range plain {
		for j := i + best + 1; j <= len(plain) && strings.Contains(other, plain[i:j]); j++ {
			best = j - i
		}
	}
	return best
}
