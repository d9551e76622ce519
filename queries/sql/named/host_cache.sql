-- Runs with a host cache, in 60 equal slices of time: prompt tokens by the level they came from, and how busy the transfer lanes were.
-- A request counts where it was first admitted. busy is the share of the time in which a rank's link moved something, over all ranks of the
-- pools with a host cache. Prompt tokens that no cache had are computed.
WITH bounds AS (SELECT greatest(last_instant_ms, 1e-9) / 60 AS width_ms FROM run),
     slices AS (SELECT unnest(range(60)) AS slice),
     prompts AS (
        SELECT least(floor(first_admit_ms / width_ms), 59)::BIGINT AS slice, count(*) AS admitted, sum(input_tokens) AS input_tokens,
            sum(first_admission_g1_reused_input_tokens) AS g1_tokens, sum(first_admission_host_reused_input_tokens) AS host_tokens
        FROM request_results, bounds
        WHERE first_admission_host_reused_input_tokens IS NOT NULL
        GROUP BY ALL),
     -- What a link did, in stretches without a pause.
     moves AS (
        SELECT pool, scheduler, kind, first_byte_ms AS from_ms, completed_ms AS to_ms,
            first_byte_ms > coalesce(max(completed_ms) OVER (PARTITION BY pool, scheduler, kind ORDER BY first_byte_ms, completed_ms
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -1) AS first
        FROM host_transfers WHERE completed_ms > first_byte_ms),
     numbered AS (SELECT *, sum(first::INT) OVER (PARTITION BY pool, scheduler, kind ORDER BY from_ms, to_ms ROWS UNBOUNDED PRECEDING) AS stretch FROM moves),
     stretches AS (SELECT kind, min(from_ms) AS from_ms, max(to_ms) AS to_ms FROM numbered GROUP BY pool, scheduler, kind, stretch),
     links AS (SELECT count(DISTINCT (pool, worker, rank)) AS ranks FROM passes WHERE pool IN (SELECT pool FROM host_transfers)),
     busy AS (
        SELECT slice, kind, sum(least(to_ms, (slice + 1) * width_ms) - greatest(from_ms, slice * width_ms)) / (width_ms * ranks) AS share
        FROM slices CROSS JOIN bounds CROSS JOIN links
        JOIN stretches ON from_ms < (slice + 1) * width_ms AND to_ms > slice * width_ms
        GROUP BY slice, kind, width_ms, ranks),
     moved AS (
        SELECT least(floor(completed_ms / width_ms), 59)::BIGINT AS slice,
            sum(blocks) FILTER (kind = 'store') AS stored_blocks, sum(blocks) FILTER (kind = 'load') AS loaded_blocks
        FROM host_transfers, bounds WHERE completed_ms IS NOT NULL GROUP BY ALL),
     gone AS (SELECT least(floor(at_ms / width_ms), 59)::BIGINT AS slice, count(*) AS evicted_blocks FROM host_evictions, bounds GROUP BY ALL)
SELECT
    slice * width_ms / 1000 AS from_s,
    coalesce(admitted, 0) AS admitted,
    coalesce(g1_tokens, 0) AS g1_tokens,
    coalesce(host_tokens, 0) AS host_tokens,
    coalesce(input_tokens - g1_tokens - host_tokens, 0) AS computed_tokens,
    host_tokens / nullif(input_tokens, 0) AS host_share,
    coalesce(stored_blocks, 0) AS stored_blocks,
    coalesce(loaded_blocks, 0) AS loaded_blocks,
    coalesce(evicted_blocks, 0) AS evicted_blocks,
    round(coalesce(d2h.share, 0), 6) AS d2h_busy,
    round(coalesce(h2d.share, 0), 6) AS h2d_busy
FROM slices CROSS JOIN bounds
LEFT JOIN prompts USING (slice)
LEFT JOIN moved USING (slice)
LEFT JOIN gone USING (slice)
LEFT JOIN (FROM busy WHERE kind = 'store') AS d2h USING (slice)
LEFT JOIN (FROM busy WHERE kind = 'load') AS h2d USING (slice)
ORDER BY slice;
