// Package differential compares the program with the installed reference simulator on
// random cases. A seed and an index give the same case everywhere; a case that differs is
// made smaller and left as a folder that both programs can run.
package differential
