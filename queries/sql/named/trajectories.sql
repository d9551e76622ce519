-- Agentic runs: the time of every play, split into queueing, prefill, decode and tool time; the 50 longest.
-- Time is decoding while any request of the play decodes, else prefill while any is in prefill, else queueing while any waits for its
-- admission, else tool time, in which nothing of the play is on the servers.
WITH served AS (
        SELECT n.play_run, n.dispatched_ms AS begin_ms, r.terminal_ms AS end_ms,
            least(coalesce(r.first_admit_ms, r.terminal_ms), r.terminal_ms) AS admit_ms,
            least(coalesce(r.first_token_ms, r.terminal_ms), r.terminal_ms) AS token_ms
        FROM node_runs AS n JOIN request_results AS r USING (node)
        WHERE r.terminal_ms IS NOT NULL),
     -- Every request begins and ends three phases.
     changes AS (
        SELECT play_run, begin_ms AS at_ms, 1 AS queueing, 0 AS prefill, 0 AS decode FROM served
        UNION ALL SELECT play_run, admit_ms, -1, 1, 0 FROM served
        UNION ALL SELECT play_run, token_ms, 0, -1, 1 FROM served
        UNION ALL SELECT play_run, end_ms, 0, 0, -1 FROM served
        UNION ALL SELECT play_run, origin_ms, 0, 0, 0 FROM play_runs WHERE origin_ms IS NOT NULL),
     moments AS (
        SELECT play_run, at_ms, sum(queueing) AS queueing, sum(prefill) AS prefill, sum(decode) AS decode
        FROM changes GROUP BY play_run, at_ms),
     spans AS (
        SELECT play_run,
            coalesce(lead(at_ms) OVER play - at_ms, 0) AS span_ms,
            sum(queueing) OVER play AS queueing, sum(prefill) OVER play AS prefill, sum(decode) OVER play AS decode
        FROM moments WINDOW play AS (PARTITION BY play_run ORDER BY at_ms)),
     split AS (
        SELECT play_run,
            sum(span_ms) AS trajectory_ms,
            sum(CASE WHEN decode = 0 AND prefill = 0 AND queueing > 0 THEN span_ms ELSE 0 END) AS queueing_ms,
            sum(CASE WHEN decode = 0 AND prefill > 0 THEN span_ms ELSE 0 END) AS prefill_ms,
            sum(CASE WHEN decode > 0 THEN span_ms ELSE 0 END) AS decode_ms,
            sum(CASE WHEN decode = 0 AND prefill = 0 AND queueing = 0 THEN span_ms ELSE 0 END) AS tool_ms
        FROM spans GROUP BY play_run),
     requests AS (SELECT play_run, count(*) AS requests FROM served GROUP BY play_run)
SELECT p.play_id, p.lane, p.status, requests, trajectory_ms, queueing_ms, prefill_ms, decode_ms, tool_ms
FROM split JOIN play_runs AS p USING (play_run) JOIN requests USING (play_run)
ORDER BY trajectory_ms DESC, play_run
LIMIT 50;
