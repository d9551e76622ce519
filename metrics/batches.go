package metrics

import "github.com/dynosim/dynosim/schemas"

// The layouts of the tables that a simulation fills.

var resultsLayout = layout[schemas.ResultBatch]{&schemas.RequestResults, []column[schemas.ResultBatch]{
	i32(func(b *schemas.ResultBatch) []int32 { return b.Node }),
	i32(func(b *schemas.ResultBatch) []int32 { return b.CreationOrdinal }),
	f64(func(b *schemas.ResultBatch) []float64 { return b.ArrivalMS }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.FirstAdmitMS }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.FirstTokenMS }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.SecondTokenMS }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.LastTokenMS }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.TerminalMS }),
	code(func(b *schemas.ResultBatch) []schemas.Status { return b.Status }, schemas.StatusNames),
	i32(func(b *schemas.ResultBatch) []int32 { return b.InputTokens }),
	i32(func(b *schemas.ResultBatch) []int32 { return b.RequestedOutputTokens }),
	i32(func(b *schemas.ResultBatch) []int32 { return b.OutputTokens }),
	i32(func(b *schemas.ResultBatch) []int32 { return b.ReusedInputTokens }),
	i32(func(b *schemas.ResultBatch) []int32 { return b.FirstAdmissionReused }),
	i32Null(func(b *schemas.ResultBatch) []int32 { return b.Worker }),
	i32Null(func(b *schemas.ResultBatch) []int32 { return b.PrefillWorker }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.PrefillAdmitMS }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.SourceHeldMS }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.DestinationReservedMS }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.DestinationActivatedMS }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.DecodeAdmitMS }),
	f64Null(func(b *schemas.ResultBatch) []float64 { return b.SourceReleasedMS }),
	i32Null(func(b *schemas.ResultBatch) []int32 { return b.DecodeReusedInputTokens }),
	i32Null(func(b *schemas.ResultBatch) []int32 { return b.PrefillRouteOverlapTokens }),
	i32Null(func(b *schemas.ResultBatch) []int32 { return b.DecodeRouteOverlapTokens }),
	i32(func(b *schemas.ResultBatch) []int32 { return b.AdmissionCount }),
	i32(func(b *schemas.ResultBatch) []int32 { return b.ReadmissionCount }),
	i32Null(func(b *schemas.ResultBatch) []int32 { return b.FirstAdmissionG1 }),
	i32Null(func(b *schemas.ResultBatch) []int32 { return b.FirstAdmissionHost }),
}}

var passesLayout = layout[schemas.PassBatch]{&schemas.Passes, []column[schemas.PassBatch]{
	code(func(b *schemas.PassBatch) []schemas.Pool { return b.Pool }, schemas.PoolNames),
	i32(func(b *schemas.PassBatch) []int32 { return b.Worker }),
	i32(func(b *schemas.PassBatch) []int32 { return b.Rank }),
	i64(func(b *schemas.PassBatch) []int64 { return b.Pass }),
	f64(func(b *schemas.PassBatch) []float64 { return b.StartMS }),
	f64(func(b *schemas.PassBatch) []float64 { return b.PrefillMS }),
	f64(func(b *schemas.PassBatch) []float64 { return b.DecodeMS }),
	f64(func(b *schemas.PassBatch) []float64 { return b.EndMS }),
	i32(func(b *schemas.PassBatch) []int32 { return b.PrefillRequests }),
	i64(func(b *schemas.PassBatch) []int64 { return b.PrefillTokens }),
	i64(func(b *schemas.PassBatch) []int64 { return b.PrefillKVTokens }),
	i32(func(b *schemas.PassBatch) []int32 { return b.DecodeRequests }),
	i64(func(b *schemas.PassBatch) []int64 { return b.DecodeKVTokens }),
	i32(func(b *schemas.PassBatch) []int32 { return b.OutputTokens }),
	i32(func(b *schemas.PassBatch) []int32 { return b.Admitted }),
	i32(func(b *schemas.PassBatch) []int32 { return b.Preempted }),
	i32(func(b *schemas.PassBatch) []int32 { return b.Completed }),
	i32(func(b *schemas.PassBatch) []int32 { return b.Rejected }),
	i32(func(b *schemas.PassBatch) []int32 { return b.Running }),
	i32(func(b *schemas.PassBatch) []int32 { return b.Waiting }),
	i32(func(b *schemas.PassBatch) []int32 { return b.ActiveBlocks }),
	i32(func(b *schemas.PassBatch) []int32 { return b.IdleBlocks }),
}}

var gapsLayout = layout[schemas.GapBatch]{&schemas.TokenGaps, []column[schemas.GapBatch]{
	f64(func(b *schemas.GapBatch) []float64 { return b.GapMS }),
	i64(func(b *schemas.GapBatch) []int64 { return b.Count }),
}}

var admissionsLayout = layout[schemas.AdmissionBatch]{&schemas.Admissions, []column[schemas.AdmissionBatch]{
	i32(func(b *schemas.AdmissionBatch) []int32 { return b.Node }),
	i32(func(b *schemas.AdmissionBatch) []int32 { return b.Ordinal }),
	code(func(b *schemas.AdmissionBatch) []schemas.Pool { return b.Pool }, schemas.PoolNames),
	i32(func(b *schemas.AdmissionBatch) []int32 { return b.PoolOrdinal }),
	i32(func(b *schemas.AdmissionBatch) []int32 { return b.Worker }),
	f64(func(b *schemas.AdmissionBatch) []float64 { return b.AtMS }),
	i32(func(b *schemas.AdmissionBatch) []int32 { return b.ReusedInputTokens }),
	i32Null(func(b *schemas.AdmissionBatch) []int32 { return b.G1Reused }),
	i32Null(func(b *schemas.AdmissionBatch) []int32 { return b.HostReused }),
}}

var candidatesLayout = layout[schemas.CandidateBatch]{&schemas.RoutingCandidates, []column[schemas.CandidateBatch]{
	i32(func(b *schemas.CandidateBatch) []int32 { return b.Node }),
	i32(func(b *schemas.CandidateBatch) []int32 { return b.Ordinal }),
	code(func(b *schemas.CandidateBatch) []schemas.Pool { return b.Pool }, schemas.PoolNames),
	f64(func(b *schemas.CandidateBatch) []float64 { return b.DecidedMS }),
	i32(func(b *schemas.CandidateBatch) []int32 { return b.Worker }),
	i32(func(b *schemas.CandidateBatch) []int32 { return b.Scheduler }),
	i32(func(b *schemas.CandidateBatch) []int32 { return b.Rank }),
	i32(func(b *schemas.CandidateBatch) []int32 { return b.Chosen }),
	i32(func(b *schemas.CandidateBatch) []int32 { return b.OverlapBlocks }),
	i32(func(b *schemas.CandidateBatch) []int32 { return b.SharedBlocks }),
	i64(func(b *schemas.CandidateBatch) []int64 { return b.PrefillTokens }),
	i64(func(b *schemas.CandidateBatch) []int64 { return b.ActiveBlocks }),
	i64(func(b *schemas.CandidateBatch) []int64 { return b.ActiveRequests }),
	f64(func(b *schemas.CandidateBatch) []float64 { return b.PrefillCost }),
	f64(func(b *schemas.CandidateBatch) []float64 { return b.DecodeBlocks }),
	f64(func(b *schemas.CandidateBatch) []float64 { return b.Cost }),
}}

var routingLayout = layout[schemas.RoutingBatch]{&schemas.Routing, []column[schemas.RoutingBatch]{
	i32(func(b *schemas.RoutingBatch) []int32 { return b.Node }),
	i32(func(b *schemas.RoutingBatch) []int32 { return b.Ordinal }),
	code(func(b *schemas.RoutingBatch) []schemas.Pool { return b.Pool }, schemas.PoolNames),
	f64Null(func(b *schemas.RoutingBatch) []float64 { return b.QueuedMS }),
	f64Null(func(b *schemas.RoutingBatch) []float64 { return b.ReleasedMS }),
	f64Null(func(b *schemas.RoutingBatch) []float64 { return b.QueueWaitMS }),
	i32Null(func(b *schemas.RoutingBatch) []int32 { return b.Worker }),
	i32Null(func(b *schemas.RoutingBatch) []int32 { return b.Scheduler }),
	i32Null(func(b *schemas.RoutingBatch) []int32 { return b.Rank }),
	i32Null(func(b *schemas.RoutingBatch) []int32 { return b.OverlapTokens }),
	i32Null(func(b *schemas.RoutingBatch) []int32 { return b.SelectedOverlapBlocks }),
	i32Null(func(b *schemas.RoutingBatch) []int32 { return b.BestOverlapBlocks }),
	i32Null(func(b *schemas.RoutingBatch) []int32 { return b.OverlapRegretBlocks }),
}}

var transfersLayout = layout[schemas.TransferBatch]{&schemas.Transfers, []column[schemas.TransferBatch]{
	i32(func(b *schemas.TransferBatch) []int32 { return b.Node }),
	i64(func(b *schemas.TransferBatch) []int64 { return b.Handoff }),
	i32(func(b *schemas.TransferBatch) []int32 { return b.PrefillScheduler }),
	i32(func(b *schemas.TransferBatch) []int32 { return b.DecodeScheduler }),
	i64(func(b *schemas.TransferBatch) []int64 { return b.Tokens }),
	i64Null(func(b *schemas.TransferBatch) []int64 { return b.Bytes }),
	f64(func(b *schemas.TransferBatch) []float64 { return b.StartMS }),
	f64(func(b *schemas.TransferBatch) []float64 { return b.EndMS }),
}}
