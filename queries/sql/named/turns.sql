-- Agentic runs: prefix cache reuse by the turn of a conversation.
-- Turns are counted by recorded start; the first one is cold but for what conversations share.
SELECT
    w.turn,
    count(*) AS requests,
    sum(r.input_tokens) AS input_tokens,
    sum(r.reused_input_tokens) AS reused_tokens,
    sum(r.reused_input_tokens) / nullif(sum(r.input_tokens), 0) AS reused_share,
    avg(r.first_token_ms - r.arrival_ms) AS mean_ttft_ms
FROM node_runs AS n
JOIN request_results AS r USING (node)
JOIN play_nodes AS w ON w.node = n.source_node
WHERE r.status = 'completed'
GROUP BY w.turn
ORDER BY w.turn;
