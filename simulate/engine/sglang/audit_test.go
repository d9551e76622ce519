//go:build invariants

package sglang

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlantedFaults breaks a rank in one way each and wants the next pass to tell.
func TestPlantedFaults(t *testing.T) {
	for name, fault := range map[string]struct {
		plant func(k *Rank)
		want  string
	}{
		"none":               {func(*Rank) {}, ""},
		"a page freed twice": {func(k *Rank) { k.tree.free++ }, "private pages"},
		"a page lost":        {func(k *Rank) { k.tree.free-- }, "private pages"},
		"a lock too many":    {func(k *Rank) { k.tree.lock(k.request(k.running[0]).Anchor) }, "locks"},
		"a count gone wrong": {func(k *Rank) { k.tree.evictable++ }, "evictable"},
		"a token too many":   {func(k *Rank) { k.audit.Passed(1) }, "tokens were emitted"},
	} {
		t.Run(name, func(t *testing.T) {
			k, now := newBatch(3, 4, false)
			fault.plant(k)
			got := ""
			func() {
				defer func() {
					if r := recover(); r != nil {
						got = fmt.Sprint(r)
					}
				}()
				k.Emit(k.Decide(now, 1))
			}()
			if (got != "") != (fault.want != "") || !strings.Contains(got, fault.want) {
				t.Errorf("got %q, want %q in it", got, fault.want)
			}
		})
	}
}
