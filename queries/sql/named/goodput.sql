-- Goodput: completed requests within the bounds of the run's SLA, bound by bound and all together.
WITH bounds AS (SELECT sla_ttft_ms, sla_itl_ms, sla_e2e_ms FROM run),
     latencies AS (
        SELECT
            output_tokens,
            terminal_ms,
            greatest(first_token_ms - arrival_ms, 0::DOUBLE) AS ttft_ms,
            greatest(last_token_ms - arrival_ms, 0::DOUBLE) AS e2e_ms,
            terminal_ms - arrival_ms AS until_end_ms
        FROM request_results WHERE status = 'completed' AND admission_count > 0),
     judged AS (
        SELECT
            output_tokens,
            terminal_ms,
            CASE WHEN output_tokens = 0 THEN sla_ttft_ms IS NULL ELSE sla_ttft_ms IS NULL OR ttft_ms <= sla_ttft_ms END AS ttft_ok,
            CASE WHEN output_tokens = 0 THEN sla_itl_ms IS NULL
                 ELSE sla_itl_ms IS NULL OR output_tokens < 2 OR (e2e_ms - ttft_ms) / (output_tokens - 1) <= sla_itl_ms END AS itl_ok,
            CASE WHEN output_tokens = 0 THEN sla_e2e_ms IS NOT NULL AND until_end_ms <= sla_e2e_ms
                 ELSE sla_e2e_ms IS NULL OR e2e_ms <= sla_e2e_ms END AS e2e_ok
        FROM latencies, bounds)
SELECT
    any_value(sla_ttft_ms) AS sla_ttft_ms,
    any_value(sla_itl_ms) AS sla_itl_ms,
    any_value(sla_e2e_ms) AS sla_e2e_ms,
    count(output_tokens) AS completed,
    count(*) FILTER (ttft_ok) AS within_ttft,
    count(*) FILTER (itl_ok) AS within_itl,
    count(*) FILTER (e2e_ok) AS within_e2e,
    count(*) FILTER (ttft_ok AND itl_ok AND e2e_ok) AS good,
    good / nullif(completed, 0) AS good_share,
    good / greatest(max(terminal_ms) / 1000, 1e-9) AS good_requests_per_s
FROM bounds LEFT JOIN judged ON true;
