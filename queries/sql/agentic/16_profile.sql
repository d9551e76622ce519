-- The measurement of a fixed time, as JSON (spec 02 section 10); no row without one. Times count from the start of the run.
CREATE OR REPLACE TABLE profile_shown AS
WITH issued AS (
        SELECT
            count(*) AS requests, count(*) FILTER (status = 'completed') AS completed, count(*) FILTER (status = 'canceled') AS canceled,
            min(arrival_ms) AS first_ms
        FROM request_results),
     runs AS (
        SELECT
            count(*) AS started, count(*) FILTER (over = 1 AND censored = 0) AS completed,
            count(*) FILTER (over = 1) AS retired, count(settled_ms) AS settled
        FROM play_runs)
SELECT to_json({
    'schema': 'aisimulate.agentic.profile.v1',
    'options': {
        'duration_seconds': r.duration_seconds, 'response_grace_seconds': r.response_grace_seconds, 'cancel_drain_seconds': r.cancel_drain_seconds,
        'tree_idle_cap_seconds': r.tree_idle_cap_seconds, 'global_idle_cap_seconds': r.global_idle_cap_seconds},
    'profile_start_ms': r.profile_start_ms, 'admission_cutoff_ms': r.cutoff_ms, 'response_grace_deadline_ms': r.grace_ms,
    'cancel_drain_deadline_ms': r.drain_ms, 'admission_closed': r.closed = 1, 'finished_at_ms': r.finished_ms, 'cancel_drain_timed_out': false,
    'unsettled_server_requests': r.unsettled, 'plays_started': runs.started, 'client_completed_plays': runs.completed, 'retired_plays': runs.retired,
    'server_quiescent_plays': runs.settled, 'issued_requests': issued.requests, 'successful_responses': issued.completed,
    'canceled_requests': issued.canceled, 'never_issued_requests': (SELECT count(*) FROM node_runs WHERE state = 'censored'),
    'client_in_flight_requests': (SELECT count(*) FROM node_runs WHERE state = 'emitted'), 'server_unsettled_requests': r.unsettled,
    'first_request_ms': issued.first_ms, 'last_successful_response_ms': r.last_response_ms,
    'observation_duration_ms': counts.duration_ms,
    'successful_request_throughput': CASE WHEN counts.duration_ms > 0 THEN counts.completed_requests * 1000 / counts.duration_ms END,
    'corpus_cursor': r.cursor,
    'idle_shifts': coalesce((SELECT list({'at_ms': s.at_ms, 'play_id': p.play_id, 'shifted_by_ms': s.shifted_ms, 'timer_count': s.timers} ORDER BY s.shift)
        FROM idle_shifts AS s LEFT JOIN play_runs AS p USING (play_run)), [])})::VARCHAR AS shown
FROM agentic_run AS r, issued, runs, counts
WHERE r.duration_seconds IS NOT NULL;
