-- Placements by pool and worker: requests, queueing, overlap with the cache and what was missed.
SELECT
    pool,
    worker,
    rank,
    count(*) AS placements,
    count(queued_ms) AS queued,
    avg(queue_wait_ms) AS mean_queue_wait_ms,
    sum(overlap_tokens) AS overlap_tokens,
    sum(selected_overlap_blocks) AS overlap_blocks,
    sum(overlap_regret_blocks) AS regret_blocks
FROM routing
GROUP BY pool, worker, rank
ORDER BY pool, worker, rank;
