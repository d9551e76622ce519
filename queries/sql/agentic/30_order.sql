-- The order of the per-request records of plays: by the name that the source gives a request, then by arrival. Takes the place of
-- records/10_order.sql.
CREATE OR REPLACE TABLE record_order AS
SELECT r.node, (row_number() OVER (ORDER BY i.source_request_id, r.arrival_ms, i.slot, r.node) - 1)::BIGINT AS position
FROM request_results AS r
JOIN node_runs AS n USING (node)
JOIN play_identities AS i USING (play_run, source_node)
WHERE r.status <> 'unfinished';

CREATE OR REPLACE VIEW record_page AS
FROM record_order WHERE position >= getvariable('first_position')::BIGINT AND position < getvariable('end_position')::BIGINT;
