-- Agentic runs: the critical path of every play and what its time went to; the 50 longest.
-- The path goes from the request that ended last back over the predecessor that let each one start latest. A predecessor whose
-- dispatch was enough gives none of its own time to the path. tool_ms is the delay on the edges of the path, schedule_ms time that a
-- request waited for its own earliest start. Needs the table edges.
WITH RECURSIVE
     done AS (
        SELECT n.play_run, n.node, n.source_node, n.dispatched_ms, r.terminal_ms,
            least(coalesce(r.first_admit_ms, r.terminal_ms), r.terminal_ms) AS admit_ms,
            least(coalesce(r.first_token_ms, r.terminal_ms), r.terminal_ms) AS token_ms
        FROM node_runs AS n JOIN request_results AS r USING (node)
        WHERE r.terminal_ms IS NOT NULL),
     fired AS (
        SELECT s.node, p.node AS predecessor, e.trigger = 'completion' AS completed,
            CASE WHEN e.trigger = 'completion' THEN p.terminal_ms ELSE p.dispatched_ms END AS fired_ms,
            e.delay_ms / (SELECT edge_speedup FROM agentic_run) AS delay_ms
        FROM edges AS e
        JOIN done AS s ON s.source_node = e.successor
        JOIN done AS p ON p.source_node = e.predecessor AND p.play_run = s.play_run),
     -- The edge of each request that fired last; of equal ones that of the first predecessor.
     binding AS (
        SELECT node, first(struct_pack(node := predecessor, completed := completed, fired_ms := fired_ms, delay_ms := delay_ms)
            ORDER BY fired_ms + delay_ms DESC, predecessor, completed DESC, delay_ms DESC) AS edge
        FROM fired GROUP BY node),
     path AS (
        SELECT play_run, first(node ORDER BY terminal_ms DESC, node) AS node, true AS served, 0 AS step FROM done GROUP BY play_run
        UNION ALL
        SELECT path.play_run, binding.edge.node, binding.edge.completed, step + 1
        FROM path JOIN binding USING (node)),
     steps AS (
        SELECT path.play_run, path.step, path.served, d.*, greatest(d.dispatched_ms - b.edge.fired_ms, 0) AS wait_ms,
            coalesce(b.edge.delay_ms, 0) AS delay_ms, w.request_id
        FROM path
        JOIN done AS d USING (node)
        LEFT JOIN binding AS b USING (node)
        JOIN play_nodes AS w ON w.node = d.source_node),
     total AS (
        SELECT play_run, count(*) AS requests,
            max(terminal_ms) - min(dispatched_ms) AS path_ms,
            sum(CASE WHEN served THEN admit_ms - dispatched_ms ELSE 0 END) AS queueing_ms,
            sum(CASE WHEN served THEN token_ms - admit_ms ELSE 0 END) AS prefill_ms,
            sum(CASE WHEN served THEN terminal_ms - token_ms ELSE 0 END) AS decode_ms,
            sum(coalesce(least(wait_ms, delay_ms), 0)) AS tool_ms,
            sum(CASE WHEN wait_ms - delay_ms > 1e-6 THEN wait_ms - delay_ms ELSE 0 END) AS schedule_ms,
            min_by(request_id, step) AS last_request,
            max_by(request_id, step) AS first_request
        FROM steps GROUP BY play_run)
SELECT p.play_id, requests, path_ms, queueing_ms, prefill_ms, decode_ms, tool_ms, schedule_ms, first_request, last_request
FROM total JOIN play_runs AS p USING (play_run)
ORDER BY path_ms DESC, play_run
LIMIT 50;
