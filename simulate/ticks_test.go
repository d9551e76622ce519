package simulate

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestTickLimit ends a run whose interval is so short that it would not end, and one that was canceled
// between two instants.
func TestTickLimit(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{tick: maxTicks - 1}
	if err := w.check(ctx, 5); err != nil {
		t.Errorf("one tick less than the limit: %v", err)
	}
	w.tick++
	if err := w.check(ctx, 5); err == nil || !strings.Contains(err.Error(), "10000000 ticks of telemetry and scaling were taken until 5 ms") {
		t.Errorf("at the limit the error is %v", err)
	}
	cancel()
	if err := (&watch{tick: 2048}).check(ctx, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled run ends with %v", err)
	}
}
