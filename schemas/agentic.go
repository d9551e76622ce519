package schemas

import "fmt"

// Trigger tells what of a predecessor an edge waits for (spec 02).
type Trigger uint8

// Triggers in their order (spec 02 section 6.1).
const (
	TriggerDispatch Trigger = iota
	TriggerCompletion
)

// TriggerNames are the values of the column trigger, indexed by Trigger.
var TriggerNames = []string{"dispatch", "completion"}

// Relation tells why an edge exists (spec 02).
type Relation uint8

// Relations in their order (spec 02 section 6.1).
const (
	RelationSequence Relation = iota
	RelationSpawn
	RelationJoin
	RelationBarrier
)

// RelationNames are the values of the column relation, indexed by Relation.
var RelationNames = []string{"sequence", "spawn", "join", "replay_barrier"}

// Agentic reports whether every trace of the format is a graph of plays.
func (f TraceFormat) Agentic() bool { return f == FormatWeka || f == FormatAgenticMooncake }

// MayBeAgentic reports whether a trace of the format can be a graph of plays: rows of dynamo
// traces may have an agent context.
func (f TraceFormat) MayBeAgentic() bool { return f.Agentic() || f == FormatDynamo }

// SourcePlay is one play of an agentic source.
type SourcePlay struct {
	// ID names the play, Source says where it was read.
	ID, Source string
	// Ordinal is the place that the source gives it, -1 without one.
	Ordinal int64
	// End is the number of the batch's rows up to the end of the play: plays own their rows back
	// to back.
	End int
	// Continued says that the play began in the batch before. Readers of sources hand out whole plays.
	Continued bool
}

// AgenticColumns are the columns that a RequestBatch of an agentic source has beyond the others.
// TimestampMS of a row is its earliest start; RequestID and SessionID are set in
// every row. Request indexes count over the whole source.
type AgenticColumns struct {
	Plays []SourcePlay
	// Model is the model recorded; times that are unknown are NaN.
	Model                                             []string
	RecordedStartMS, RecordedEndMS, RecordedAPITimeMS []float64
	// The block list of row i begins with PrefixBlocks[i] blocks of the list of the earlier
	// request PrefixRequest[i] (-1 without any); its own blocks in RequestBatch follow. The prefix is the
	// longest one that any earlier request has, so every block that follows ends a new one.
	PrefixRequest []int64
	PrefixBlocks  []int32
	// EdgeEnd splits the edges by row: row i waits for Edges[EdgeEnd[i-1]:EdgeEnd[i]].
	EdgeEnd []int
	Edges   []SourceEdge
}

// SourceEdge is one dependency of a request.
type SourceEdge struct {
	// Predecessor is a request index.
	Predecessor int64
	Trigger     Trigger
	Relation    Relation
	DelayMS     float64
}

// GraphSource says what an agentic source was (spec 02 section 7.5).
type GraphSource struct {
	// Format and Digest identify the source as the report shows it.
	Format, Digest string
	// NestedTimestampBasis is the resolved one of a weka corpus: absolute, relative or
	// not_applicable.
	NestedTimestampBasis string
}

// String is "none" for a load without any of the settings.
func (a AgenticLoad) String() string {
	if a == (AgenticLoad{}) {
		return "none"
	}
	type plain AgenticLoad
	return fmt.Sprintf("%+v", plain(a))
}
