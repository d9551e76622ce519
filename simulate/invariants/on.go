//go:build invariants

package invariants

// Enabled says that the program checks itself.
const Enabled = true
