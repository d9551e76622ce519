-- Totals per second of virtual time, tokens computed as prefill, worker time and GPU hours.
CREATE OR REPLACE TABLE throughput AS
SELECT
    per_second(completed_requests, duration_ms) AS request_throughput_rps,
    per_second(total_input_tokens, duration_ms) AS input_throughput_tok_s,
    per_second(total_output_tokens, duration_ms) AS output_throughput_tok_s,
    per_second(total_input_tokens + total_output_tokens, duration_ms) AS total_throughput_tok_s
FROM counts;

CREATE OR REPLACE TABLE work AS
SELECT coalesce(sum(prefill_tokens), 0)::BIGINT AS committed_prefill_tokens FROM passes;

CREATE OR REPLACE TABLE workers AS
SELECT
    prefill_worker_seconds,
    decode_worker_seconds,
    prefill_gpus_per_worker,
    decode_gpus_per_worker,
    (prefill_worker_seconds * prefill_gpus_per_worker + decode_worker_seconds * decode_gpus_per_worker) / 3600 AS gpu_hours
FROM run;
