-- The preparation of caches before the measurement, as JSON (spec 02 section 9); no row without one.
CREATE OR REPLACE TABLE phases_shown AS
WITH requests AS (
        SELECT p.*, i.play_id, i.lane, i.source_request_id, i.input_tokens, i.play_id || ':' || p.phase || ':' || p.ordinal AS request_id, envelope(i.play_id || ':' || p.phase || ':' || p.ordinal, i) AS identity,
            row_number() OVER (ORDER BY p.play_run, p.ordinal) - 1 AS number
        FROM preparations AS p
        JOIN play_identities AS i USING (play_run, source_node)),
     lanes AS (
        SELECT lane, {
            'lane_id': lane, 'play_id': any_value(play_id),
            'primers_expected': count(*) FILTER (phase = 'primer'), 'primers_completed': count(*) FILTER (phase = 'primer' AND status = 'completed'),
            'warmup_expected': count(*) FILTER (phase = 'warmup'), 'warmup_completed': count(*) FILTER (phase = 'warmup' AND status = 'completed'),
            'requests_quiescent': count(settled_ms)} AS shown
        FROM requests GROUP BY lane),
     failed AS (
        SELECT format('80000000-0000-0000-0000-{:012x}', number) AS uuid, 'preparation request ended with ' || upper(status[1]) || status[2:] AS reason
        FROM requests WHERE status <> 'completed' OR output_tokens <> 1 ORDER BY terminal_ms, number LIMIT 1)
SELECT to_json({
    'schema': 'aisimulate.agentic.phases.v1', 'phase': r.preparation, 'barrier_condition': 'all_preparation_succeeded_and_server_quiescent',
    'profile_start_ms': r.measured_from_ms, 'finished_at_ms': r.preparation_end_ms,
    'failure_request_id': (SELECT uuid FROM failed), 'failure_reason': (SELECT reason FROM failed),
    'lanes': (SELECT list(shown ORDER BY lane) FROM lanes),
    'requests': (SELECT list({
            'uuid': format('80000000-0000-0000-0000-{:012x}', number), 'phase': phase, 'lane_id': lane, 'source_request_id': source_request_id, 'identity': identity,
            'input_length': input_tokens, 'max_output_tokens': 1, 'expected_full_block_tokens': input_tokens // r.engine_block_tokens * r.engine_block_tokens,
            'dispatched_at_ms': dispatched_ms, 'terminal_status': status, 'causal_terminal_at_ms': terminal_ms, 'quiescent_at_ms': settled_ms,
            'first_admit_ms': first_admit_ms, 'first_admission_reused_input_tokens': reused_input_tokens, 'observed_output_tokens': output_tokens} ORDER BY number)
        FROM requests)})::VARCHAR AS shown
FROM agentic_run AS r
WHERE r.preparation IS NOT NULL;
