package schemas

// The batches below are how stages hand rows to each other in memory: plain columns
// of equal capacity of which the first N rows are valid. The stage that fills a batch
// owns it until it hands it over.

// RequestBatch holds rows of the table requests, with their blocks, as a reader of
// package ingest yields them. Absent values are marked in the Has columns.
//
// The strings of a batch are valid until it is filled again: a stage that keeps one clones it.
type RequestBatch struct {
	N int
	// BlockTokens is the number of tokens one block id stands for, the same in every batch
	// of a source; 0 when its rows have no blocks.
	BlockTokens int64
	// Line is the 1-based physical line in its file (for sorted formats the position
	// after sorting, for synthetic sources the position).
	Line []int64
	// SessionID is the authored session name; HasSession false leaves the naming to
	// package lower (request_<line>).
	SessionID  []string
	HasSession []bool
	RequestID  []string
	HasRequest []bool
	// InputTokens is the prompt length of the row (the new input for mooncake-delta).
	InputTokens, OutputTokens []int64
	TimestampMS               []float64
	HasTimestamp              []bool
	DelayMS                   []float64
	HasDelay                  []bool
	Priority                  []int32
	StrictPriority            []uint32
	PolicyClass               []string
	HasPolicyClass            []bool
	// Blocks holds the block ids of all rows back to back; row i owns
	// Blocks[BlockEnd[i-1]:BlockEnd[i]]. They cover the prompt from its start; prompt
	// tokens beyond them match nothing.
	Blocks   []uint64
	BlockEnd []int
	// Authored holds authored output tokens back to back; row i owns
	// Authored[AuthoredEnd[i-1]:AuthoredEnd[i]] and HasAuthored[i] tells an empty list
	// from none.
	Authored    []uint32
	AuthoredEnd []int
	HasAuthored []bool
	// Agentic is nil unless the source is a graph of plays.
	Agentic *AgenticColumns
}

// Recorder takes full batches of one table. Take keeps full and returns an empty batch
// of the same capacity to fill next; a short batch may be handed over at any time. An
// error means that rows can no longer be kept and the run should stop.
type Recorder[T any] interface {
	Take(full *T) (*T, error)
}

// Discard is a Recorder that forgets rows and reuses the batch.
type Discard[T any, P interface {
	*T
	Clear()
}] struct{}

// Take clears full and returns it.
func (Discard[T, P]) Take(full *T) (*T, error) {
	P(full).Clear()
	return full, nil
}

// Sink is where a simulation leaves its tables.
type Sink struct {
	Results    Recorder[ResultBatch]
	Passes     Recorder[PassBatch]
	Gaps       Recorder[GapBatch]
	Admissions Recorder[AdmissionBatch]
	Routing    Recorder[RoutingBatch]
	Candidates Recorder[CandidateBatch]

	Lifecycle   Recorder[LifecycleBatch]
	Ticks       Recorder[TickBatch]
	TickWorkers Recorder[TickWorkerBatch]
	TickPasses  Recorder[TickPassBatch]
	Transfers   Recorder[TransferBatch]

	HostDomains   Recorder[HostDomainBatch]
	HostTransfers Recorder[HostTransferBatch]
	HostEvictions Recorder[HostEvictionBatch]
	HostFences    Recorder[HostFenceBatch]
	G3Transfers   Recorder[G3TransferBatch]
	G3Run         Recorder[G3RunBatch]
}

// DiscardSink forgets everything.
func DiscardSink() Sink {
	return Sink{
		Results:    Discard[ResultBatch, *ResultBatch]{},
		Passes:     Discard[PassBatch, *PassBatch]{},
		Gaps:       Discard[GapBatch, *GapBatch]{},
		Admissions: Discard[AdmissionBatch, *AdmissionBatch]{},
		Routing:    Discard[RoutingBatch, *RoutingBatch]{},
		Candidates: Discard[CandidateBatch, *CandidateBatch]{},

		Lifecycle:   Discard[LifecycleBatch, *LifecycleBatch]{},
		Ticks:       Discard[TickBatch, *TickBatch]{},
		TickWorkers: Discard[TickWorkerBatch, *TickWorkerBatch]{},
		TickPasses:  Discard[TickPassBatch, *TickPassBatch]{},
		Transfers:   Discard[TransferBatch, *TransferBatch]{},

		HostDomains:   Discard[HostDomainBatch, *HostDomainBatch]{},
		HostTransfers: Discard[HostTransferBatch, *HostTransferBatch]{},
		HostEvictions: Discard[HostEvictionBatch, *HostEvictionBatch]{},
		HostFences:    Discard[HostFenceBatch, *HostFenceBatch]{},
		G3Transfers:   Discard[G3TransferBatch, *G3TransferBatch]{},
		G3Run:         Discard[G3RunBatch, *G3RunBatch]{},
	}
}

// Status is how a request ended.
type Status uint8

// Statuses of request_results (spec 11 section 1). StatusUnfinished marks a request that a
// virtual-time limit cut off: it counts in num_requests and has no per-request record.
const (
	StatusUnfinished Status = iota
	StatusCompleted
	StatusRejected
	StatusFailed
	StatusCanceled
)

// StatusNames are the values of the column status, indexed by Status.
var StatusNames = []string{"unfinished", "completed", "rejected", "failed", "canceled"}

// Pool is the pool of workers that did something.
type Pool uint8

// Pools in their order (spec 05 section 1).
const (
	PoolAggregated Pool = iota
	PoolPrefill
	PoolDecode
)

// PoolNames are the values of the column pool, indexed by Pool.
var PoolNames = []string{"agg", "prefill", "decode"}

// ResultBatch holds rows of request_results. Times that did not happen are NaN and are
// null in the table.
type ResultBatch struct {
	N                                       int
	Node                                    []int32
	CreationOrdinal                         []int32
	ArrivalMS, FirstAdmitMS                 []float64
	FirstTokenMS, SecondTokenMS             []float64
	LastTokenMS, TerminalMS                 []float64
	Status                                  []Status
	InputTokens, RequestedOutputTokens      []int32
	OutputTokens                            []int32
	ReusedInputTokens, FirstAdmissionReused []int32
	// Worker is the scheduler id of the rank that served the request, -1 for none.
	Worker []int32
	// The columns up to DecodeRouteOverlapTokens are of disaggregated runs; -1 or NaN is null.
	PrefillWorker                                       []int32
	PrefillAdmitMS, SourceHeldMS                        []float64
	DestinationReservedMS, DestinationActivatedMS       []float64
	DecodeAdmitMS, SourceReleasedMS                     []float64
	DecodeReusedInputTokens                             []int32
	PrefillRouteOverlapTokens, DecodeRouteOverlapTokens []int32
	AdmissionCount, ReadmissionCount                    []int32
	// What of FirstAdmissionReused came from where; -1 where the workers have no host cache.
	FirstAdmissionG1, FirstAdmissionHost []int32
}

// PassBatch holds rows of passes: completed forward passes of one rank each.
type PassBatch struct {
	N                        int
	Pool                     []Pool
	Worker, Rank             []int32
	Pass                     []int64
	StartMS, PrefillMS       []float64
	DecodeMS, EndMS          []float64
	PrefillRequests          []int32
	PrefillTokens            []int64
	PrefillKVTokens          []int64
	DecodeRequests           []int32
	DecodeKVTokens           []int64
	OutputTokens             []int32
	Admitted, Preempted      []int32
	Completed, Rejected      []int32
	Running, Waiting         []int32
	ActiveBlocks, IdleBlocks []int32
}

// GapBatch holds rows of token_gaps.
type GapBatch struct {
	N     int
	GapMS []float64
	Count []int64
}

// AdmissionBatch holds rows of admissions.
type AdmissionBatch struct {
	N                          int
	Node, Ordinal, PoolOrdinal []int32
	Pool                       []Pool
	Worker                     []int32
	AtMS                       []float64
	ReusedInputTokens          []int32
	// What of it came from where; -1 for readmissions, and where the workers have no host cache.
	G1Reused, HostReused []int32
}

// RoutingBatch holds rows of routing. QueuedMS and ReleasedMS are NaN for a request that
// was placed at once. Block counts are -1 where the policy does not know them.
type RoutingBatch struct {
	N                                        int
	Node, Ordinal                            []int32
	Pool                                     []Pool
	QueuedMS, ReleasedMS, QueueWaitMS        []float64
	Worker, Scheduler, Rank                  []int32
	OverlapTokens                            []int32
	SelectedOverlapBlocks, BestOverlapBlocks []int32
	OverlapRegretBlocks                      []int32
}

// CandidateBatch holds rows of routing_candidates.
type CandidateBatch struct {
	N                                           int
	Node, Ordinal                               []int32
	Pool                                        []Pool
	DecidedMS                                   []float64
	Worker, Scheduler, Rank, Chosen             []int32
	OverlapBlocks, SharedBlocks                 []int32
	PrefillTokens, ActiveBlocks, ActiveRequests []int64
	PrefillCost, DecodeBlocks, Cost             []float64
}

// TransferBatch holds rows of transfers. Bytes is -1 where the bytes of a token are not known.
type TransferBatch struct {
	N                                 int
	Node                              []int32
	Handoff                           []int64
	PrefillScheduler, DecodeScheduler []int32
	Tokens, Bytes                     []int64
	StartMS, EndMS                    []float64
}
