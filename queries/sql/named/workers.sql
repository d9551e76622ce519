-- Every worker rank: passes, busy time and its share of the run, tokens, preemptions, batch size.
SELECT
    worker,
    rank,
    count(*) AS passes,
    sum(end_ms - start_ms) / 1000 AS busy_s,
    sum(end_ms - start_ms) / (SELECT nullif(last_instant_ms, 0) FROM run) AS busy_share,
    sum(prefill_tokens) AS prefill_tokens,
    sum(output_tokens) AS output_tokens,
    sum(preempted) AS preemptions,
    avg(running) AS mean_running,
    max(running) AS max_running,
    max(waiting) AS max_waiting,
    max(active_blocks) AS max_active_blocks
FROM passes
GROUP BY worker, rank
ORDER BY worker, rank;
