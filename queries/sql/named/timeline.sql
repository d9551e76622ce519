-- The run in 60 equal slices of time: arrivals, completions, tokens, batch sizes and queues.
WITH bounds AS (SELECT greatest(last_instant_ms, 1e-9) / 60 AS width_ms FROM run),
     slices AS (SELECT unnest(range(60)) AS slice),
     arrivals AS (SELECT least(floor(arrival_ms / width_ms), 59)::BIGINT AS slice, count(*) AS arrived FROM request_results, bounds GROUP BY ALL),
     ends AS (SELECT least(floor(terminal_ms / width_ms), 59)::BIGINT AS slice, count(*) AS completed
              FROM request_results, bounds WHERE status = 'completed' GROUP BY ALL),
     work AS (SELECT least(floor(end_ms / width_ms), 59)::BIGINT AS slice, sum(prefill_tokens) AS prefill_tokens, sum(output_tokens) AS output_tokens,
              avg(running) AS mean_running, max(waiting) AS max_waiting, sum(preempted) AS preemptions FROM passes, bounds GROUP BY ALL)
SELECT
    slice * width_ms / 1000 AS from_s,
    coalesce(arrived, 0) AS arrived,
    coalesce(completed, 0) AS completed,
    coalesce(prefill_tokens, 0) AS prefill_tokens,
    coalesce(output_tokens, 0) AS output_tokens,
    mean_running,
    max_waiting,
    coalesce(preemptions, 0) AS preemptions
FROM slices CROSS JOIN bounds LEFT JOIN arrivals USING (slice) LEFT JOIN ends USING (slice) LEFT JOIN work USING (slice)
ORDER BY slice;
