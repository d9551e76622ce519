package simulate

import (
	"encoding/hex"
	"strconv"

	"github.com/zeebo/blake3"

	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/schemas"
)

// Events of the lifecycle of plays (spec 02 section 7.3).
const (
	eventDispatch  = "dispatch"
	eventTerminal  = "causal_terminal"
	eventQuiescent = "quiescent"
	eventSkipped   = "skipped"
	eventPlay      = "play_quiescent"
)

// lifecycle counts and digests the events of a run in the order in which they happen.
type lifecycle struct {
	hash  *blake3.Hasher
	count int64
	text  []byte
	name  []byte
}

func newLifecycle() lifecycle {
	l := lifecycle{hash: blake3.New()}
	l.text = append(l.text, "aisimulate-agentic-lifecycle-v1\x00"...)
	return l
}

// begin starts an event.
func (l *lifecycle) begin(now float64, r *playRun) {
	l.text = append(l.text, `{"schema":"aisimulate.agentic.lifecycle.v1","ordinal":`...)
	l.text = strconv.AppendInt(l.text, l.count, 10)
	l.text = lower.AppendDigestFloat(append(l.text, `,"at_ms":`...), now)
	l.text = lower.AppendDigestText(append(l.text, `,"play_id":`...), []byte(r.id))
	l.count++
}

// end ends an event of a kind.
func (l *lifecycle) end(kind string, status schemas.Status) {
	l.text = append(append(append(l.text, `,"event":"`...), kind...), '"')
	if kind == eventTerminal {
		l.text = append(append(append(l.text, `,"status":"`...), schemas.StatusNames[status]...), '"')
	}
	l.text = append(l.text, '}', '\n')
	if len(l.text) >= 1<<15 {
		_, _ = l.hash.Write(l.text)
		l.text = l.text[:0]
	}
}

// event logs an event of an executed node.
func (l *lifecycle) event(p *plays, now float64, kind string, node int32, status schemas.Status) {
	l.begin(now, &p.runs[p.run[node]])
	l.name = p.graph.AppendRequestID(l.name[:0], int(p.source[node]))
	l.text = lower.AppendDigestText(append(l.text, `,"request_id":`...), l.name)
	l.end(kind, status)
}

// play logs that a run is settled.
func (l *lifecycle) play(now float64, r *playRun) {
	l.begin(now, r)
	l.end(eventPlay, 0)
}

// digest is the digest of all events.
func (l *lifecycle) digest() string {
	_, _ = l.hash.Write(l.text)
	l.text = l.text[:0]
	return hex.EncodeToString(l.hash.Sum(nil))
}
