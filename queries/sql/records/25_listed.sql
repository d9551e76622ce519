-- One page of the per-request records of requests that the call listed. Takes the place of 20_records.sql.
SELECT
    position,
    requests.request_id,
    requests.session_id,
    nodes.turn AS turn_index,
    format('00000000-0000-0000-0000-{:012x}', coalesce(nodes.request_index, r.node) + 1) AS uuid,
    r.arrival_ms AS arrival_time_ms,
    NULL::DOUBLE AS dispatched_at_ms,
    r.* EXCLUDE (node, arrival_ms)
FROM record_page
JOIN record_fields AS r USING (node)
LEFT JOIN nodes USING (node)
LEFT JOIN requests USING (request_index)
ORDER BY position;
