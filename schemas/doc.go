// Package schemas holds what the stages of dynosim agree on: the tables of a run and
// their columns, the batches in which rows travel in memory, the configuration
// documents with their defaults and checks, and the run specification they lower to.
// It imports nothing else of the project.
package schemas
