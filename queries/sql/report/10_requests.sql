-- The population of the report and the latencies of every request in it.

-- When the measurement began: 0 but for an agentic run with a warm-up, whose rows count from there. Differences of times are those of
-- the clock, which began before: they may differ in the last bit.
SET VARIABLE measured_from_ms = (SELECT coalesce(max(measured_from_ms), 0) FROM agentic_run);
CREATE OR REPLACE MACRO elapsed(since, until) AS (until + getvariable('measured_from_ms')::DOUBLE) - (since + getvariable('measured_from_ms')::DOUBLE);

-- Every request with its latencies. They are null unless it completed or was canceled, and where it has no sample: without a
-- token there is none, with one token no TTST and no TPOT.
CREATE OR REPLACE VIEW request_latencies AS
SELECT
    *,
    CASE WHEN timed AND output_tokens >= 1 THEN greatest(elapsed(arrival_ms, first_token_ms), 0::DOUBLE) END AS ttft_ms,
    CASE WHEN timed AND output_tokens >= 2 THEN greatest(elapsed(first_token_ms, second_token_ms), 0::DOUBLE) END AS ttst_ms,
    CASE WHEN timed AND output_tokens >= 2 THEN greatest(elapsed(first_token_ms, last_token_ms), 0::DOUBLE) / (output_tokens - 1) END AS tpot_ms,
    CASE WHEN timed AND output_tokens >= 1 THEN greatest(elapsed(arrival_ms, last_token_ms), 0::DOUBLE) END AS e2e_latency_ms
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
