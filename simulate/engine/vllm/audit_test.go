//go:build invariants

package vllm

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
		"none":                 {func(*Rank) {}, ""},
		"a block freed twice":  {func(k *Rank) { k.pool.Free(1) }, "blocks are in use"},
		"a block lost":         {func(k *Rank) { k.pool.Take(1) }, "blocks are in use"},
		"more free than there": {func(k *Rank) { k.pool.Free(k.pool.Active() + 10) }, "free and"},
		"a token lost":         {func(k *Rank) { k.request(k.running[0]).Output--; k.request(k.running[0]).Computed-- }, "steady requests"},
		"a token too many":     {func(k *Rank) { k.audit.Passed(1) }, "tokens were emitted"},
		"a reference too many": {func(k *Rank) { k.pool.Store(k.pool.Page(5), 0) }, "references"},
		"a sum gone wrong":     {func(k *Rank) { k.lengthSum++ }, "steady requests"},
	} {
		t.Run(name, func(t *testing.T) {
			k, now := newBatch(3)
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
