-- Sessions: turns, tokens, reuse and time from the first arrival to the last end; the 50 longest.
SELECT
    session_id,
    count(*) AS turns,
    sum(r.input_tokens) AS input_tokens,
    sum(r.output_tokens) AS output_tokens,
    sum(r.reused_input_tokens) / nullif(sum(r.input_tokens), 0) AS reused_share,
    min(arrival_ms) AS first_arrival_ms,
    max(terminal_ms) - min(arrival_ms) AS duration_ms,
    count(DISTINCT worker) AS workers
FROM request_results AS r JOIN nodes USING (node)
WHERE session IS NOT NULL
GROUP BY session, session_id
ORDER BY duration_ms DESC NULLS LAST, session_id
LIMIT 50;
