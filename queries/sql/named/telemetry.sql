-- Telemetry samples: what came and went since the one before, and what the workers of a pool show.
SELECT
    t.at_ms / 1000 AS at_s,
    w.pool,
    t.arriving_requests AS arrived,
    t.completed_requests AS completed,
    t.ttft_sum_ms / nullif(t.ttft_requests, 0) AS mean_ttft_ms,
    t.itl_sum_ms / nullif(t.itl_requests, 0) AS mean_itl_ms,
    CASE w.pool WHEN 'prefill' THEN t.prefill_queued_requests ELSE t.decode_queued_requests END AS queued,
    w.workers,
    w.running,
    w.waiting,
    round(100 * w.kv_use, 1) AS kv_percent,
    repeat('█', ceil(20 * w.kv_use)::BIGINT) AS kv
FROM ticks AS t
JOIN (
    SELECT
        tick, pool,
        count(DISTINCT worker) AS workers,
        sum(running) AS running,
        sum(waiting) AS waiting,
        sum(active_blocks) / nullif(sum(total_blocks), 0) AS kv_use
    FROM tick_workers
    GROUP BY tick, pool
) AS w USING (tick)
WHERE t.kind <> 'scaling'
ORDER BY t.tick, w.pool;
