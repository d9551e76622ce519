-- Per-request records: one row a request with a terminal status, by arrival, then in order of creation. position
-- numbers them; the histories carry it too, so that all three can be read side by side in pages.
-- Needs report/00_macros.sql and report/10_requests.sql.
CREATE OR REPLACE TABLE record_order AS
SELECT node, (row_number() OVER (ORDER BY arrival_ms, creation_ordinal) - 1)::BIGINT AS position
FROM request_results
WHERE status <> 'unfinished'
ORDER BY position;

-- Columns in the order of a record's keys. The two histories are filled in from the tables below.
CREATE OR REPLACE TABLE records AS
SELECT
    position,
    nodes.session_id AS session_id,
    nodes.turn AS turn_index,
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
    NULL::INTEGER AS prefill_worker_idx,
    r.worker AS decode_worker_idx,
    NULL::DOUBLE AS prefill_admit_ms,
    NULL::DOUBLE AS source_held_ms,
    NULL::DOUBLE AS destination_reserved_ms,
    NULL::DOUBLE AS destination_activated_ms,
    NULL::DOUBLE AS decode_admit_ms,
    NULL::DOUBLE AS source_released_ms,
    NULL::INTEGER AS decode_reused_input_tokens,
    NULL::INTEGER AS prefill_route_overlap_tokens,
    NULL::INTEGER AS decode_route_overlap_tokens,
    NULL AS routing_history,
    NULL AS admission_history,
    r.admission_count,
    r.readmission_count,
    NULL AS pressure_record_ordinals,
    r.status AS terminal_status
FROM record_order
JOIN request_latencies AS r USING (node)
LEFT JOIN nodes USING (node)
ORDER BY position;

CREATE OR REPLACE TABLE record_routing AS
SELECT
    position,
    pool,
    CASE WHEN queued_ms IS NULL THEN 'immediate' ELSE 'queued' END AS outcome,
    queued_ms AS queue_entered_at_ms,
    released_ms AS released_at_ms,
    queue_wait_ms,
    worker AS logical_worker_id,
    scheduler AS scheduler_id,
    rank AS dp_rank,
    overlap_tokens AS reported_overlap_tokens,
    selected_overlap_blocks,
    best_overlap_blocks AS best_available_overlap_blocks,
    overlap_regret_blocks,
    NULL AS placement_replica_id
FROM routing JOIN record_order USING (node)
ORDER BY position, routing_ordinal;

CREATE OR REPLACE TABLE record_admissions AS
SELECT
    position,
    admission_ordinal,
    pool_admission_ordinal,
    pool,
    at_ms,
    reused_input_tokens,
    pool_admission_ordinal > 0 AS is_readmission
FROM admissions JOIN record_order USING (node)
ORDER BY position, admission_ordinal;
