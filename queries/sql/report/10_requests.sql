-- The population of the report and the latencies of every request in it.

-- When the measurement began: 0 but for an agentic run with a warm-up. The times of the report count from there.
SET VARIABLE measured_from_ms = (SELECT coalesce(max(measured_from_ms), 0) FROM agentic_run);
CREATE OR REPLACE MACRO measured(time_ms) AS time_ms - getvariable('measured_from_ms')::DOUBLE;

-- Every request with its latencies. They are null unless it completed or was canceled, and where it has no sample: without a
-- token there is none, with one token no TTST and no TPOT.
CREATE OR REPLACE VIEW request_latencies AS
SELECT
    * REPLACE (
        measured(arrival_ms) AS arrival_ms, measured(first_admit_ms) AS first_admit_ms, measured(first_token_ms) AS first_token_ms,
        measured(second_token_ms) AS second_token_ms, measured(last_token_ms) AS last_token_ms, measured(terminal_ms) AS terminal_ms,
        measured(prefill_admit_ms) AS prefill_admit_ms, measured(source_held_ms) AS source_held_ms,
        measured(destination_reserved_ms) AS destination_reserved_ms, measured(destination_activated_ms) AS destination_activated_ms,
        measured(decode_admit_ms) AS decode_admit_ms, measured(source_released_ms) AS source_released_ms),
    CASE WHEN timed AND output_tokens >= 1 THEN greatest(first_token_ms - arrival_ms, 0::DOUBLE) END AS ttft_ms,
    CASE WHEN timed AND output_tokens >= 2 THEN greatest(second_token_ms - first_token_ms, 0::DOUBLE) END AS ttst_ms,
    CASE WHEN timed AND output_tokens >= 2 THEN greatest(last_token_ms - first_token_ms, 0::DOUBLE) / (output_tokens - 1) END AS tpot_ms,
    CASE WHEN timed AND output_tokens >= 1 THEN greatest(last_token_ms - arrival_ms, 0::DOUBLE) END AS e2e_latency_ms
FROM (SELECT *, status = 'completed' AND admission_count > 0 AS done, status IN ('completed', 'canceled') AND admission_count > 0 AS timed FROM request_results);

-- The requests that count: a terminal status of completed and at least one admission.
CREATE OR REPLACE VIEW completed AS
SELECT * EXCLUDE (done, timed) FROM request_latencies WHERE done;

-- Counts and totals. The duration runs from the start of the run to the last end of a completed request.
CREATE OR REPLACE TABLE counts AS
SELECT
    (SELECT count(*) FROM request_results) AS num_requests,
    count(*) AS completed_requests,
    coalesce(sum(input_tokens), 0)::BIGINT AS total_input_tokens,
    coalesce(sum(output_tokens), 0)::BIGINT AS total_output_tokens,
    -- The largest reuse over all pools counts.
    coalesce(sum(greatest(reused_input_tokens, decode_reused_input_tokens)), 0)::BIGINT AS reused_input_tokens,
    coalesce(sum(first_admission_reused_input_tokens), 0)::BIGINT AS first_admission_reused_input_tokens,
    -- A profile counts from the first arrival (spec 02 section 10).
    coalesce(max(terminal_ms) - CASE WHEN (SELECT count(duration_seconds) FROM agentic_run) > 0 THEN min(arrival_ms) ELSE 0 END, 0::DOUBLE) AS duration_ms
FROM completed;
