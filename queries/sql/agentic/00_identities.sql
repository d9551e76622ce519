-- The names under which nodes are executed (spec 02 sections 6.5 and 8.4): a snapshot gives a play and everything in it
-- names of its own. One row a pair of executed play and node, historical nodes included.
CREATE OR REPLACE TABLE play_identities AS
WITH pairs AS (
        SELECT play_run, source_node FROM node_runs
        UNION
        SELECT play_run, source_node FROM snapshot_nodes),
     named AS (
        SELECT
            pairs.play_run, pairs.source_node, r.play_id, r.lane,
            CASE WHEN r.t_star_ms IS NOT NULL THEN r.play_id || ':request:' ELSE '' END AS request_prefix,
            CASE WHEN r.t_star_ms IS NOT NULL THEN r.play_id || ':conversation:' ELSE '' END AS conversation_prefix,
            CASE WHEN r.t_star_ms IS NOT NULL THEN r.play_id || ':cache' END AS cache_id,
            p.request_id AS source_request_id, p.recorded_start_ms, p.recorded_end_ms,
            n.session_id AS source_session_id, n.input_tokens,
            parent.request_id AS source_parent_id, root.request_id AS source_root_id,
            r.lane_ordinal * coalesce((SELECT lanes FROM agentic_run), 0) * CASE WHEN r.t_star_ms IS NULL THEN 0 ELSE 1 END
                + CASE WHEN r.t_star_ms IS NULL THEN 0 ELSE r.lane END AS slot
        FROM pairs
        JOIN play_runs AS r USING (play_run)
        JOIN play_nodes AS p ON p.node = pairs.source_node
        JOIN nodes AS n ON n.node = pairs.source_node
        LEFT JOIN play_nodes AS parent ON parent.node = p.parent_node
        LEFT JOIN play_nodes AS root ON root.node = p.root_node)
SELECT
    play_run, source_node, play_id, lane, source_request_id, source_session_id, recorded_start_ms, recorded_end_ms, input_tokens, slot,
    request_prefix || source_request_id AS request_id,
    conversation_prefix || source_session_id AS conversation_id,
    'lane:' || lane AS lane_id,
    request_prefix || source_root_id AS root_id,
    request_prefix || source_parent_id AS parent_id,
    cache_id
FROM named;

-- The envelope of an identity. A member that a request does not have is null.
CREATE OR REPLACE MACRO envelope(request, i) AS {
    'request_id': request, 'play_id': i.play_id, 'conversation_id': i.conversation_id, 'lane_id': i.lane_id,
    'root_id': i.root_id, 'parent_id': i.parent_id, 'cache_id': i.cache_id};

-- The graph, as the report shows it.
CREATE OR REPLACE TABLE graph_shown AS
SELECT {
    'source': {'format': source_format, 'digest': source_digest},
    'graph_digest': graph_digest,
    'block_size': block_tokens,
    'node_count': (SELECT count(*) FROM play_nodes),
    'play_count': (SELECT count(*) FROM plays),
    'source_models': (SELECT list(DISTINCT model ORDER BY model) FROM play_nodes)} AS graph
FROM agentic_run;
