package schemas

// Clear forgets the rows of the batch and keeps its memory.
func (b *ResultBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *PassBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *GapBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *AdmissionBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *RoutingBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *TransferBatch) Clear() { b.N = 0 }

// Clear forgets the rows of the batch and keeps its memory.
func (b *CandidateBatch) Clear() { b.N = 0 }

// i32 and the others cut columns of n rows from one allocation each.
func i32(n int, cols ...*[]int32) {
	mem := make([]int32, n*len(cols))
	for i, c := range cols {
		*c = mem[i*n : (i+1)*n : (i+1)*n]
	}
}

func i64(n int, cols ...*[]int64) {
	mem := make([]int64, n*len(cols))
	for i, c := range cols {
		*c = mem[i*n : (i+1)*n : (i+1)*n]
	}
}

func f64(n int, cols ...*[]float64) {
	mem := make([]float64, n*len(cols))
	for i, c := range cols {
		*c = mem[i*n : (i+1)*n : (i+1)*n]
	}
}

// NewResultBatch makes an empty batch of n rows capacity.
func NewResultBatch(n int) *ResultBatch {
	b := &ResultBatch{Status: make([]Status, n)}
	i32(n, &b.Node, &b.CreationOrdinal, &b.InputTokens, &b.RequestedOutputTokens, &b.OutputTokens,
		&b.ReusedInputTokens, &b.FirstAdmissionReused, &b.Worker, &b.AdmissionCount, &b.ReadmissionCount,
		&b.PrefillWorker, &b.DecodeReusedInputTokens, &b.PrefillRouteOverlapTokens, &b.DecodeRouteOverlapTokens,
		&b.FirstAdmissionG1, &b.FirstAdmissionHost)
	f64(n, &b.ArrivalMS, &b.FirstAdmitMS, &b.FirstTokenMS, &b.SecondTokenMS, &b.LastTokenMS, &b.TerminalMS,
		&b.PrefillAdmitMS, &b.SourceHeldMS, &b.DestinationReservedMS, &b.DestinationActivatedMS, &b.DecodeAdmitMS, &b.SourceReleasedMS)
	return b
}

// NewPassBatch makes an empty batch of n rows capacity.
func NewPassBatch(n int) *PassBatch {
	b := &PassBatch{Pool: make([]Pool, n)}
	i32(n, &b.Worker, &b.Rank, &b.PrefillRequests, &b.DecodeRequests, &b.OutputTokens, &b.Admitted, &b.Preempted,
		&b.Completed, &b.Rejected, &b.Running, &b.Waiting, &b.ActiveBlocks, &b.IdleBlocks)
	i64(n, &b.Pass, &b.PrefillTokens, &b.PrefillKVTokens, &b.DecodeKVTokens)
	f64(n, &b.StartMS, &b.PrefillMS, &b.DecodeMS, &b.EndMS)
	return b
}

// NewGapBatch makes an empty batch of n rows capacity.
func NewGapBatch(n int) *GapBatch {
	b := &GapBatch{}
	i64(n, &b.Count)
	f64(n, &b.GapMS)
	return b
}

// NewAdmissionBatch makes an empty batch of n rows capacity.
func NewAdmissionBatch(n int) *AdmissionBatch {
	b := &AdmissionBatch{Pool: make([]Pool, n)}
	i32(n, &b.Node, &b.Ordinal, &b.PoolOrdinal, &b.Worker, &b.ReusedInputTokens, &b.G1Reused, &b.HostReused)
	f64(n, &b.AtMS)
	return b
}

// NewRoutingBatch makes an empty batch of n rows capacity.
func NewRoutingBatch(n int) *RoutingBatch {
	b := &RoutingBatch{Pool: make([]Pool, n)}
	i32(n, &b.Node, &b.Ordinal, &b.Worker, &b.Scheduler, &b.Rank, &b.OverlapTokens,
		&b.SelectedOverlapBlocks, &b.BestOverlapBlocks, &b.OverlapRegretBlocks)
	f64(n, &b.QueuedMS, &b.ReleasedMS, &b.QueueWaitMS)
	return b
}

// NewCandidateBatch makes an empty batch of n rows capacity.
func NewCandidateBatch(n int) *CandidateBatch {
	b := &CandidateBatch{Pool: make([]Pool, n)}
	i32(n, &b.Node, &b.Ordinal, &b.Worker, &b.Scheduler, &b.Rank, &b.Chosen, &b.OverlapBlocks, &b.SharedBlocks)
	i64(n, &b.PrefillTokens, &b.ActiveBlocks, &b.ActiveRequests)
	f64(n, &b.DecidedMS, &b.PrefillCost, &b.DecodeBlocks, &b.Cost)
	return b
}

// NewTransferBatch makes an empty batch of n rows capacity.
func NewTransferBatch(n int) *TransferBatch {
	b := &TransferBatch{}
	i32(n, &b.Node, &b.PrefillScheduler, &b.DecodeScheduler)
	i64(n, &b.Handoff, &b.Tokens, &b.Bytes)
	f64(n, &b.StartMS, &b.EndMS)
	return b
}
