// Package strict decodes YAML and JSON documents against a declarative table of
// fields, and says exactly what is wrong with them.
//
// A document's type describes itself with an Object: a list of Fields, each with a
// name, a kind, bounds, a default, a line of documentation and the place in a Go
// struct where the value goes. That one table drives everything: strict decoding with
// "did you mean", overrides by path ("--set a.b=1"), and the JSON Schema for editors.
//
// The stages are ReadYAML or ReadJSON (bytes to Node), Override (a Node changed by one
// argument) and Decode (a Node into structs, with a Report of every problem). A problem
// carries file, line, column and path. No input makes a function of this package panic,
// and none makes it take time or memory out of proportion to its size.
package strict
