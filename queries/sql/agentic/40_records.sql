-- One page of the per-request records of plays. Takes the place of records/20_records.sql. A column whose name ends in :json is JSON
-- already.
SELECT
    position,
    i.source_request_id AS request_id,
    i.play_id,
    i.conversation_id AS session_id,
    NULL AS turn_index,
    format('00000000-0000-0000-0000-{:012x}', i.slot * ((SELECT count(*) FROM play_nodes) + CASE WHEN i.cache_id IS NULL THEN 0 ELSE 1 END) + i.source_node + 1) AS uuid,
    r.arrival_ms AS arrival_time_ms,
    measured(n.dispatched_ms) AS dispatched_at_ms,
    r.* EXCLUDE (node, arrival_ms),
    to_json(envelope(i.request_id, i))::VARCHAR AS "agentic:json",
    CASE WHEN (SELECT measured_from_ms FROM agentic_run) IS NOT NULL THEN '"profile"' END AS "agentic_phase:json"
FROM record_page
JOIN record_fields AS r USING (node)
JOIN node_runs AS n USING (node)
JOIN play_identities AS i USING (play_run, source_node)
ORDER BY position;
