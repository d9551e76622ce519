-- Goodput: completed requests within the bounds of the service level agreement, and their tokens, over the same
-- duration as the throughput. A bound that is not set does not bind; one that is set includes its value.
CREATE OR REPLACE VIEW good AS
SELECT
    completed.*,
    CASE
        -- Without a token there is only an end, which only a bound on the end alone can judge.
        WHEN output_tokens = 0 THEN
            sla_e2e_ms IS NOT NULL AND sla_ttft_ms IS NULL AND sla_itl_ms IS NULL AND terminal_ms - arrival_ms <= sla_e2e_ms
        ELSE
            (sla_ttft_ms IS NULL OR ttft_ms <= sla_ttft_ms)
            AND (sla_itl_ms IS NULL OR output_tokens < 2 OR (e2e_latency_ms - ttft_ms) / (output_tokens - 1) <= sla_itl_ms)
            AND (sla_e2e_ms IS NULL OR e2e_latency_ms <= sla_e2e_ms)
    END AS good
FROM completed, run;

-- All null when no bound is set.
CREATE OR REPLACE TABLE goodput AS
SELECT
    CASE WHEN has_sla THEN n END AS goodput_completed_requests,
    CASE WHEN has_sla THEN per_second(n, duration_ms) END AS goodput_request_throughput_rps,
    CASE WHEN has_sla THEN per_second(tokens, duration_ms) END AS goodput_output_throughput_tok_s
FROM
    (SELECT count(*) AS n, coalesce(sum(output_tokens), 0)::BIGINT AS tokens FROM good WHERE good),
    (SELECT coalesce(sla_ttft_ms, sla_itl_ms, sla_e2e_ms) IS NOT NULL AS has_sla FROM run),
    counts;
