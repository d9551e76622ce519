-- Agentic runs: prefix cache reuse of every conversation; the 50 with the most prompt tokens.
-- A play has a main conversation, its workers and its subagents.
SELECT
    p.play_id,
    s.session_id AS conversation,
    count(*) AS turns,
    sum(r.input_tokens) AS input_tokens,
    sum(r.reused_input_tokens) AS reused_tokens,
    sum(r.reused_input_tokens) / nullif(sum(r.input_tokens), 0) AS reused_share,
    sum(r.output_tokens) AS output_tokens,
    count(DISTINCT r.worker) AS workers
FROM node_runs AS n
JOIN request_results AS r USING (node)
JOIN play_runs AS p USING (play_run)
JOIN nodes AS s ON s.node = n.source_node
WHERE r.status = 'completed'
GROUP BY n.play_run, p.play_id, s.session, s.session_id
ORDER BY input_tokens DESC, n.play_run, s.session
LIMIT 50;
