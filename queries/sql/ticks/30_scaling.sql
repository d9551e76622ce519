-- The snapshots that the scaling policy was given: the entries of ticks in prediction.json.
WITH passes AS (
    SELECT
        tick,
        pool = 'prefill' AS prefill,
        list({
            'worker_id': worker, 'dp_rank': rank, 'wall_time': duration_ms / 1000,
            'num_prefill_requests': prefill_requests, 'sum_prefill_tokens': prefill_tokens,
            'var_prefill_length': prefill_length_variance, 'sum_prefill_kv_tokens': prefill_kv_tokens,
            'num_decode_requests': decode_requests, 'sum_decode_kv_tokens': decode_kv_tokens, 'var_decode_kv_tokens': decode_kv_variance,
            'num_queued_prefill': queued_prefill_requests, 'sum_queued_prefill_tokens': queued_prefill_tokens,
            'var_queued_prefill_length': queued_prefill_variance,
            'num_queued_decode': queued_decode_requests, 'sum_queued_decode_kv_tokens': queued_decode_kv_tokens,
            'var_queued_decode_kv_tokens': queued_decode_kv_variance
        } ORDER BY worker, rank) AS ranks
    FROM tick_passes
    GROUP BY ALL
)
SELECT
    ordinal AS tick_ordinal,
    at_ms AS now_ms,
    active_prefill_ids,
    starting_prefill_ids,
    draining_prefill_ids,
    active_decode_ids,
    starting_decode_ids,
    draining_decode_ids,
    len(active_prefill_ids) AS active_prefill_count,
    len(starting_prefill_ids) AS starting_prefill_count,
    len(draining_prefill_ids) AS draining_prefill_count,
    len(active_decode_ids) AS active_decode_count,
    len(starting_decode_ids) AS starting_decode_count,
    len(draining_decode_ids) AS draining_decode_count,
    len(active_prefill_ids) + len(starting_prefill_ids) AS non_draining_prefill_count,
    len(active_decode_ids) + len(starting_decode_ids) AS non_draining_decode_count,
    len(active_prefill_ids) + len(starting_prefill_ids) + len(draining_prefill_ids) AS total_prefill_count,
    len(active_decode_ids) + len(starting_decode_ids) + len(draining_decode_ids) AS total_decode_count,
    coalesce((SELECT ranks FROM passes WHERE passes.tick = ticks.tick AND prefill), []) AS prefill_fpm_snapshots,
    coalesce((SELECT ranks FROM passes WHERE passes.tick = ticks.tick AND NOT prefill), []) AS decode_fpm_snapshots,
    {
        'duration_s': (at_ms - start_ms) / 1000,
        'num_req': arriving_requests,
        'shape_count': completed_requests,
        'avg_isl': mean_or_zero(input_tokens, completed_requests),
        'avg_osl': mean_or_zero(output_tokens, completed_requests),
        'avg_ttft_ms': mean_or_zero(ttft_sum_ms, ttft_requests),
        'avg_itl_ms': mean_or_zero(itl_sum_ms, itl_requests),
        'ttft_count': ttft_requests,
        'itl_count': itl_requests,
        'avg_kv_hit_rate': mean_or_zero(overlap_share_sum, routed_requests),
        'hit_rate_count': routed_requests,
        'avg_accept_length': accepted_tokens / nullif(decode_forwards, 0),
        'accept_length_forward_count': decode_forwards
    } AS traffic
FROM ticks JOIN tick_topology USING (tick)
WHERE kind = 'scaling'
ORDER BY ticks.tick;
