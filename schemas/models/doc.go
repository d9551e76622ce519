// Package models knows the sizes and the quantisation of language models: from the configurations
// that ship with the program, or from a folder with a Hugging Face config.json (spec 09
// section 2). It imports nothing of the project but the nearest-name search.
package models
