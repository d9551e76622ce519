// Package parity judges whether a prediction equals the report of the reference
// simulator, and runs the cases of a folder of such reports through the program.
//
// A case is a folder: call.json names the call, config.yaml says the same for predict
// where the document can, the input files stand beside them, and expected.json is what
// the reference reported. An area is a folder of cases.
package parity
