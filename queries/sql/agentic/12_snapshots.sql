-- The requests and primers of each snapshot (spec 02 section 8.5), one row an executed play.
CREATE OR REPLACE TABLE snapshots_shown AS
WITH waiting AS (
        SELECT s.play_run, e.successor AS source_node, list(waited.request_id ORDER BY e.predecessor, e.trigger DESC, e.relation, e.delay_ms) AS pending
        FROM edges AS e
        JOIN snapshot_nodes AS s ON s.source_node = e.successor AND s.historical = 0
        JOIN snapshot_nodes AS before ON before.play_run = s.play_run AND before.source_node = e.predecessor AND before.historical = 0
        JOIN play_identities AS waited ON waited.play_run = s.play_run AND waited.source_node = e.predecessor
        GROUP BY ALL)
SELECT
    s.play_run,
    list({
        'source_request_id': i.source_request_id, 'identity': envelope(i.request_id, i),
        'recorded_start_ms': i.recorded_start_ms, 'recorded_end_ms': i.recorded_end_ms, 'historical': s.historical = 1,
        'remaining_delay_ms': s.remaining_delay_ms, 'pending_dependencies': coalesce(w.pending, [])} ORDER BY s.source_node) AS requests,
    list({
        'source_request_id': i.source_request_id, 'request_id': i.request_id, 'conversation_id': i.conversation_id, 'input_length': i.input_tokens}
        ORDER BY s.primer) FILTER (s.primer IS NOT NULL) AS primers
FROM snapshot_nodes AS s
JOIN play_identities AS i USING (play_run, source_node)
LEFT JOIN waiting AS w USING (play_run, source_node)
GROUP BY s.play_run;
