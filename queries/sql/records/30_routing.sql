-- The placements of the requests of one page: the entries of routing_history.
SELECT
    position,
    pool,
    CASE WHEN queued_ms IS NULL THEN 'immediate' ELSE 'queued' END AS outcome,
    measured(queued_ms) AS queue_entered_at_ms,
    measured(released_ms) AS released_at_ms,
    queue_wait_ms,
    worker AS logical_worker_id,
    scheduler AS scheduler_id,
    rank AS dp_rank,
    overlap_tokens AS reported_overlap_tokens,
    selected_overlap_blocks,
    best_overlap_blocks AS best_available_overlap_blocks,
    overlap_regret_blocks,
    NULL AS placement_replica_id
FROM routing JOIN record_page USING (node)
ORDER BY position, routing_ordinal;
