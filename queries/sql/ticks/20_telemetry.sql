-- The telemetry samples: the entries of telemetry.samples in prediction.json.
WITH gauges AS (
    SELECT
        tick,
        pool = 'prefill' AS prefill,
        list({
            'worker_id': worker, 'dp_rank': rank,
            'active_blocks': active_blocks, 'inactive_blocks': idle_blocks, 'total_blocks': total_blocks,
            'active_cache_usage': mean_or_zero(active_blocks, total_blocks),
            'physical_cache_usage': mean_or_zero(active_blocks + idle_blocks, total_blocks),
            'running_requests': running, 'waiting_requests': waiting
        } ORDER BY worker, rank) AS ranks
    FROM tick_workers
    GROUP BY ALL
)
SELECT
    ordinal AS sample_ordinal,
    kind,
    start_ms AS interval_start_ms,
    at_ms AS sampled_at_ms,
    {
        'duration_s': (at_ms - start_ms) / 1000,
        'arriving_requests': arriving_requests,
        'completed_requests': completed_requests,
        'avg_isl': mean_or_zero(input_tokens, completed_requests),
        'avg_osl': mean_or_zero(output_tokens, completed_requests),
        'avg_ttft_ms': mean_or_zero(ttft_sum_ms, ttft_requests),
        'avg_itl_ms': mean_or_zero(itl_sum_ms, itl_requests),
        'ttft_count': ttft_requests,
        'itl_count': itl_requests,
        'avg_router_kv_hit_rate': mean_or_zero(overlap_share_sum, routed_requests),
        'router_kv_hit_rate_count': routed_requests,
        'avg_accept_length': accepted_tokens / nullif(decode_forwards, 0),
        'accept_length_forward_count': decode_forwards
    } AS traffic,
    coalesce((SELECT ranks FROM gauges WHERE gauges.tick = ticks.tick AND prefill), []) AS prefill_scheduler_metrics,
    coalesce((SELECT ranks FROM gauges WHERE gauges.tick = ticks.tick AND NOT prefill), []) AS decode_scheduler_metrics,
    {
        'cache_hit_tokens': prefill_cache_hit_tokens, 'cache_total_tokens': prefill_cache_total_tokens, 'preemptions': prefill_preemptions
    } AS prefill_interval_metrics,
    {
        'cache_hit_tokens': decode_cache_hit_tokens, 'cache_total_tokens': decode_cache_total_tokens, 'preemptions': decode_preemptions
    } AS decode_interval_metrics,
    prefill_queued_requests AS router_pending_prefill_requests,
    decode_queued_requests AS router_pending_decode_requests,
    active_prefill_ids,
    starting_prefill_ids,
    draining_prefill_ids,
    active_decode_ids,
    starting_decode_ids,
    draining_decode_ids
FROM ticks JOIN tick_topology USING (tick)
WHERE kind <> 'scaling'
ORDER BY ticks.tick;
