package schemas

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled is the document's JSON Schema, checked against its own meta-schema.
func compiled(t interface {
	Helper()
	Fatal(...any)
}) *jsonschema.Schema {
	t.Helper()
	text, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("predict.json", value); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("predict.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// jsonValue is a YAML document as the validator wants it.
func jsonValue(text string) (any, error) {
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(converted))
}

// documents is the text of every predict command of a file of testdata/data.
func documents(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/data/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, part := range strings.Split(string(text), "\npredict\n")[1:] {
		document, _, found := strings.Cut(part, "\n----")
		if !found {
			t.Fatalf("%s: a document without an end", name)
		}
		out = append(out, document)
	}
	return out
}

// TestJSONSchemaAgrees compares the schema with the parser: what the parser takes is
// valid, and an unknown key or a wrong type is not.
func TestJSONSchemaAgrees(t *testing.T) {
	schema := compiled(t)
	valid := 0
	for _, text := range documents(t, "predict_golden") {
		_, err := ParsePrediction("config.yaml", []byte(text), StackDynamo)
		value, wrong := jsonValue(text)
		if wrong != nil {
			t.Fatal(wrong)
		}
		if err != nil {
			continue // rules across fields are not in the schema
		}
		valid++
		if invalid := schema.Validate(value); invalid != nil {
			t.Errorf("the parser takes it, the schema does not: %v\n%s", invalid, text)
		}
		for _, broken := range []struct{ old, changed string }{
			{"\nengine:", "\nengines:"},
			{"hardware:", "hardwear:"},
			{"workers:", "worker:"},
			{"parallelism:", "paralelism:"},
			{"model: ", "model: 5 #"},
			{"blocks: ", "blocks: x"},
			{"type: fixed", "type: fixt"},
		} {
			changed := strings.Replace("\n"+text, broken.old, broken.changed, 1)
			if changed == "\n"+text {
				continue
			}
			value, err := jsonValue(changed)
			if err != nil {
				t.Fatal(err)
			}
			if schema.Validate(value) == nil {
				t.Errorf("%q for %q: the schema takes it\n%s", broken.changed, broken.old, text)
			}
			if _, err := ParsePrediction("config.yaml", []byte(changed), StackDynamo); err == nil {
				t.Errorf("%q for %q: the parser takes it\n%s", broken.changed, broken.old, text)
			}
		}
	}
	if valid < 20 {
		t.Errorf("only %d valid documents", valid)
	}
}

// TestJSONSchemaRefused: the documents that break a rule of a single field are invalid.
func TestJSONSchemaRefused(t *testing.T) {
	schema := compiled(t)
	// Rules across fields, which the schema does not hold; and 256.0, which is an integer to it.
	across := []string{
		"256.0", "block_size: 1\n", "mode: disaggregated", "kv_transfer", "requests_per_load_unit", "max_virtual_time_seconds",
		"e2e_ms", "trace_timestamps", "sessions", "nope.jsonl", "hardware: h999", "no/such-model", "- b\n", "type: poisson\n", "shared_prefix_ratio",
	}
	checked := 0
next:
	for _, text := range documents(t, "predict_refused") {
		for _, word := range across {
			if strings.Contains(text+"\n", word) {
				continue next
			}
		}
		value, err := jsonValue(text)
		if err != nil || !strings.Contains(text, "stop:") {
			continue
		}
		checked++
		if schema.Validate(value) == nil {
			t.Errorf("the schema takes\n%s", text)
		}
	}
	if checked < 8 {
		t.Errorf("only %d documents", checked)
	}
}

// TestJSONSchemaText keeps the schema in sight: a change of the document's form shows up
// as a change of a file.
func TestJSONSchemaText(t *testing.T) {
	text, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"$schema": "https://json-schema.org/draft/2020-12/schema"`,
		`"description": "Prompt tokens of every request."`,
		`"default": 8192`,
		`"additionalProperties": false`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in the schema", want)
		}
	}
}
