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
    r.status AS terminal_status,
    to_json(envelope(i.request_id, i))::VARCHAR AS "agentic:json",
    CASE WHEN (SELECT measured_from_ms FROM agentic_run) IS NOT NULL THEN '"profile"' END AS "agentic_phase:json"
FROM record_page
JOIN request_latencies AS r USING (node)
JOIN node_runs AS n USING (node)
JOIN play_identities AS i USING (play_run, source_node)
ORDER BY position;
