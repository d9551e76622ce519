-- The agentic values of the summary that are not numbers, as JSON (spec 02 sections 7.3, 7.5 and 8.5). A column whose name ends in ?
-- is left out when it is null.
SELECT
    to_json((SELECT graph FROM graph_shown))::VARCHAR AS agentic_graph,
    to_json({'policy': 'project_to_configured_target', 'source_models': (SELECT graph.source_models FROM graph_shown), 'target_model': target_model})::VARCHAR AS agentic_model_projection,
    '"functional_only"' AS agentic_qualification,
    to_json(input_format)::VARCHAR AS agentic_input_format,
    coalesce(lanes::VARCHAR, 'null') AS agentic_lanes,
    to_json(nested_timestamp_basis)::VARCHAR AS "weka_nested_timestamp_basis?",
    lifecycle_events::VARCHAR AS agentic_lifecycle_event_count,
    to_json(lifecycle_digest)::VARCHAR AS agentic_lifecycle_digest,
    (SELECT to_json(list({
            'play_id': r.play_id, 'status': r.status, 'causal_terminal_ms': measured(r.terminal_ms), 'settled_at_ms': measured(r.settled_ms),
            'failure_request_id': failed.request_id, 'failure_status': r.failed_status} ORDER BY r.play_run))::VARCHAR
        FROM play_runs AS r
        LEFT JOIN node_runs AS f ON f.node = r.failed_node
        LEFT JOIN play_nodes AS failed ON failed.node = f.source_node) AS agentic_play_outcomes,
    CASE WHEN snapshot_seed IS NOT NULL THEN (
        SELECT to_json(list({
            'schema': 'aisimulate.agentic.snapshot.v1', 'graph': (SELECT graph FROM graph_shown), 'seed': snapshot_seed::UBIGINT,
            'lane_id': r.lane, 'play_ordinal': r.lane_ordinal, 'source_play_id': p.play_id, 'play_id': r.play_id, 'cache_id': r.play_id || ':cache',
            't_star_ms': r.t_star_ms, 'recorded_start_ms': p.recorded_start_ms, 'recorded_last_start_ms': p.recorded_last_start_ms,
            'requests': coalesce(s.requests, []), 'primers': coalesce(s.primers, [])} ORDER BY r.play_run))::VARCHAR
        FROM play_runs AS r
        JOIN plays AS p USING (play)
        LEFT JOIN snapshots_shown AS s USING (play_run)) END AS "agentic_snapshots?",
    (SELECT prediction_provenance FROM estimates_shown) AS prediction_provenance,
    (SELECT power_diagnostics FROM estimates_shown) AS power_diagnostics,
    (FROM phases_shown) AS "agentic_phases?",
    (FROM profile_shown) AS "agentic_profile?"
FROM agentic_run;
