package strict

import "encoding/json"

// JSONSchema is the table as a JSON Schema (draft 2020-12), indented, with a final line
// break. Mappings with a tag become one alternative for each value of the tag.
func JSONSchema(obj *Object, id, title string) ([]byte, error) {
	root := objectSchema(obj)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = id
	root["title"] = title
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}

// objectSchema describes a mapping.
func objectSchema(obj *Object) map[string]any {
	if obj.Tag == "" {
		return obj.alternative("", "")
	}
	tag := obj.field(obj.Tag)
	var all []any
	for _, value := range tag.schema()["enum"].([]any) {
		all = append(all, obj.alternative(value.(string), tag.defaultTag()))
	}
	return described(map[string]any{"oneOf": all}, obj.Doc)
}

// defaultTag is the value of a tag that is not given, "" when it must be.
func (f *Field) defaultTag() string {
	value, _ := f.def.(string)
	return value
}

// alternative describes a mapping under one value of its tag.
func (o *Object) alternative(tag, byDefault string) map[string]any {
	properties := map[string]any{}
	var required []any
	for _, f := range o.Fields {
		if !f.appliesTo(tag) {
			continue
		}
		s := f.jsonSchema()
		if f.name == o.Tag {
			s = f.annotated(map[string]any{"const": tag})
			if tag != byDefault {
				required = append(required, f.name)
			}
		}
		properties[f.name] = s
		if f.required {
			required = append(required, f.name)
		}
	}
	out := described(map[string]any{"type": "object", "properties": properties}, o.Doc)
	if !o.Open {
		out["additionalProperties"] = false
	}
	if required != nil {
		out["required"] = required
	}
	return out
}

// jsonSchema describes a field's value.
func (f *Field) jsonSchema() map[string]any {
	var s map[string]any
	if f.object != nil {
		s = objectSchema(f.object())
	} else {
		s = f.schema()
	}
	if f.nullable || f.nullAs {
		s = map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
	}
	return f.annotated(s)
}

// annotated adds documentation and default.
func (f *Field) annotated(s map[string]any) map[string]any {
	described(s, f.doc)
	if f.def != nil {
		s["default"] = f.def
	}
	return s
}

func described(s map[string]any, doc string) map[string]any {
	if doc != "" {
		s["description"] = doc
	}
	return s
}
