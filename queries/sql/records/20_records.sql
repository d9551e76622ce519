-- One page of per-request records: columns in the order of a record's keys. The two histories are filled in from
-- 30_routing.sql and 40_admissions.sql.
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
    r.first_admit_ms,
    r.terminal_ms AS terminal_time_ms,
    r.first_token_ms,
    r.last_token_ms,
    r.ttft_ms,
    r.ttst_ms,
    r.e2e_latency_ms,
    r.tpot_ms AS itl_ms,
    r.input_tokens AS input_length,
    r.requested_output_tokens AS requested_output_length,
    r.output_tokens AS output_length,
    r.reused_input_tokens,
    r.prefill_worker AS prefill_worker_idx,
    r.worker AS decode_worker_idx,
    r.prefill_admit_ms,
    r.source_held_ms,
    r.destination_reserved_ms,
    r.destination_activated_ms,
    r.decode_admit_ms,
    r.source_released_ms,
    r.decode_reused_input_tokens,
    r.prefill_route_overlap_tokens,
    r.decode_route_overlap_tokens,
    NULL AS routing_history,
    NULL AS admission_history,
    r.admission_count,
    r.readmission_count,
    NULL AS pressure_record_ordinals,
    r.status AS terminal_status
FROM record_page
JOIN request_latencies AS r USING (node)
LEFT JOIN nodes USING (node)
CROSS JOIN (SELECT stack, source FROM run)
ORDER BY position;
