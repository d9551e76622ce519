package schemas

import "math"

// pools lowers the workers of a document, and how prompts move between them (spec 07 section 3).
func (p *Prediction) pools() ([]PoolSpec, TransferSpec) {
	e := &p.Engine
	if e.Mode != ModeDisaggregated {
		role := e.Workers.Aggregated
		return AggregatedPool(e.spec(role), int(role.Parallelism.Replicas)), TransferSpec{}
	}
	prefill, decode := e.Workers.Prefill, e.Workers.Decode
	pools := []PoolSpec{
		{Pool: PoolPrefill, Engine: e.spec(prefill), Workers: int(prefill.Parallelism.Replicas)},
		{Pool: PoolDecode, Engine: e.spec(decode), Workers: int(decode.Parallelism.Replicas)},
	}
	transfer := TransferSpec{Timing: TransferMissing}
	if t := e.KVTransfer; t != nil {
		transfer = TransferSpec{BytesPerToken: t.BytesPerToken, Timing: t.Timing}
		if transfer.BytesPerToken == 0 {
			// auto: what a token of the prefill role takes.
			transfer.BytesPerToken = prefill.KVCache.BytesPerToken
		}
		if t.BandwidthGBPerSecond != nil {
			transfer.BandwidthGBPerSecond = *t.BandwidthGBPerSecond
			if transfer.BytesPerToken == 0 {
				pools[0].Engine.Deployment = e.deployment(prefill)
				pools[0].Engine.Deployment.TransferBytes = true
			}
		}
	}
	return pools, transfer
}

// pools lowers the workers of a call, and how prompts move between them. Only the prefill
// role's transfer settings count (spec 05 section 7.4).
func (c *Call) pools() ([]PoolSpec, TransferSpec) {
	a := &c.Args
	if !c.disaggregated() {
		return AggregatedPool(c.launch().spec(), int(a.NumWorkers)), TransferSpec{}
	}
	pools := []PoolSpec{
		{Pool: PoolPrefill, Engine: a.PrefillEngineArgs.spec(), Workers: int(a.NumPrefillWorkers)},
		{Pool: PoolDecode, Engine: a.DecodeEngineArgs.spec(), Workers: int(a.NumDecodeWorkers)},
	}
	transfer := a.PrefillEngineArgs.Engine.transfer()
	transfer.FallbackMS = c.topology.HandoffLatencyMS
	return pools, transfer
}

// transfer is the transfer settings of a prefill engine.
func (e *EngineConfig) transfer() TransferSpec {
	out := TransferSpec{Timing: e.KVTransferTiming}
	for _, bytes := range []*int64{e.KVTransferBytesPerToken, e.KVBytesPerToken} {
		if bytes != nil {
			out.BytesPerToken = *bytes
		}
	}
	if e.KVTransferBandwidth != nil && !math.IsNaN(*e.KVTransferBandwidth) {
		out.BandwidthGBPerSecond = *e.KVTransferBandwidth
	}
	return out
}
