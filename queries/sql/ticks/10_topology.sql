-- The workers of every tick by state, and helpers for the snapshots. Run this one first.

-- A mean, 0 without samples.
CREATE OR REPLACE MACRO mean_or_zero(total, n) AS CASE WHEN n > 0 THEN total / n ELSE 0::DOUBLE END;

-- Every tick has a row. Aggregated workers stand where decode workers do.
CREATE OR REPLACE TABLE tick_topology AS
SELECT
    tick,
    coalesce(list(worker ORDER BY worker) FILTER (prefill AND state = 'active'), []) AS active_prefill_ids,
    coalesce(list(worker ORDER BY worker) FILTER (prefill AND state = 'starting'), []) AS starting_prefill_ids,
    coalesce(list(worker ORDER BY worker) FILTER (prefill AND state = 'draining'), []) AS draining_prefill_ids,
    coalesce(list(worker ORDER BY worker) FILTER (NOT prefill AND state = 'active'), []) AS active_decode_ids,
    coalesce(list(worker ORDER BY worker) FILTER (NOT prefill AND state = 'starting'), []) AS starting_decode_ids,
    coalesce(list(worker ORDER BY worker) FILTER (NOT prefill AND state = 'draining'), []) AS draining_decode_ids
FROM ticks LEFT JOIN (SELECT DISTINCT tick, pool = 'prefill' AS prefill, worker, state FROM tick_workers) USING (tick)
GROUP BY tick;
