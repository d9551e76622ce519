-- Runs with a host cache: the time to the first token, split into waiting for a restore, for a fence, for other things, and computing.
-- restore_ms runs from the time at which the load was queued to the time at which its rank saw its end, which is between passes. fence_ms is the time
-- that passes of the request waited for copies from memory that they were about to use. queued_ms is the rest before the first
-- admission: other requests, and blocks that were still on their way to the host. The 50 that waited longest for the host cache.
WITH ranks AS (SELECT pool, max(rank) + 1 AS ranks FROM passes GROUP BY pool),
     requests AS (
        SELECT *,
            CASE WHEN prefill_worker IS NULL THEN 'agg' ELSE 'prefill' END AS pool,
            coalesce(prefill_worker, worker) AS scheduler
        FROM request_results
        WHERE first_token_ms IS NOT NULL AND first_admit_ms IS NOT NULL AND first_admission_host_reused_input_tokens IS NOT NULL),
     restores AS (
        SELECT r.node, sum(coalesce(t.seen_ms, t.canceled_ms) - t.created_ms) AS restore_ms, sum(t.blocks) AS blocks
        FROM requests AS r
        JOIN host_transfers AS t ON t.node = r.node AND t.pool = r.pool AND t.kind = 'load' AND t.created_ms <= r.first_admit_ms
        GROUP BY r.node),
     fences AS (
        SELECT r.node, sum(f.fence_ms - f.start_ms) AS fence_ms
        FROM host_fences AS f
        JOIN ranks USING (pool)
        JOIN requests AS r ON r.pool = f.pool AND r.scheduler = f.worker * ranks.ranks + f.rank
            AND f.start_ms >= r.first_admit_ms AND f.start_ms < r.first_token_ms
        GROUP BY r.node)
SELECT
    node,
    arrival_ms,
    input_tokens,
    first_admission_g1_reused_input_tokens AS g1_tokens,
    first_admission_host_reused_input_tokens AS host_tokens,
    coalesce(blocks, 0) AS restored_blocks,
    first_token_ms - arrival_ms AS ttft_ms,
    first_admit_ms - arrival_ms - coalesce(restore_ms, 0) AS queued_ms,
    coalesce(restore_ms, 0) AS restore_ms,
    coalesce(fence_ms, 0) AS fence_ms,
    first_token_ms - first_admit_ms - coalesce(fence_ms, 0) AS compute_ms
FROM requests
LEFT JOIN restores USING (node)
LEFT JOIN fences USING (node)
ORDER BY coalesce(restore_ms, 0) + coalesce(fence_ms, 0) DESC, node
LIMIT 50;
