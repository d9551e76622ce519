-- Decisions of the KV router beside the best alternative: costs, and cached blocks left aside; needs --capture routing=full.
SELECT
    node,
    routing_ordinal,
    any_value(pool) AS pool,
    any_value(decided_ms) AS decided_ms,
    any_value(scheduler) FILTER (chosen = 1) AS chosen_scheduler,
    any_value(cost) FILTER (chosen = 1) AS chosen_cost,
    any_value(overlap_blocks) FILTER (chosen = 1) AS chosen_overlap_blocks,
    arg_min(scheduler, (cost, scheduler)) FILTER (chosen = 0) AS alternative_scheduler,
    min(cost) FILTER (chosen = 0) AS alternative_cost,
    arg_min(overlap_blocks, (cost, scheduler)) FILTER (chosen = 0) AS alternative_overlap_blocks,
    any_value(cost) FILTER (chosen = 1) - min(cost) FILTER (chosen = 0) AS cost_over_alternative,
    max(overlap_blocks) AS best_overlap_blocks,
    max(overlap_blocks) - any_value(overlap_blocks) FILTER (chosen = 1) AS overlap_regret_blocks
FROM routing_candidates
GROUP BY node, routing_ordinal
ORDER BY node, routing_ordinal;
