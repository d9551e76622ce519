-- One page of per-request records: columns in the order of a record's keys.
SELECT
    position,
    -- The engine stack makes a session of one turn of every request of a plain list.
    CASE WHEN nodes.session_id IS NOT NULL OR stack <> 'engine' THEN nodes.session_id
        WHEN source = 'trace' THEN 'request_' || (nodes.request_index + 1)
        ELSE 'session_' || nodes.request_index END AS session_id,
    CASE WHEN nodes.turn IS NULL AND stack = 'engine' THEN 0 ELSE nodes.turn END AS turn_index,
    format('00000000-0000-0000-0000-{:012x}', coalesce(nodes.request_index, r.node) + 1) AS uuid,
    r.arrival_ms AS arrival_time_ms,
    NULL::DOUBLE AS dispatched_at_ms,
    r.* EXCLUDE (node, arrival_ms)
FROM record_page
JOIN record_fields AS r USING (node)
LEFT JOIN nodes USING (node)
CROSS JOIN (SELECT stack, source FROM run)
ORDER BY position;
