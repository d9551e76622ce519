-- Distributions over requests: time to first and second token, time per output token, end-to-end latency.
CREATE OR REPLACE TEMP TABLE latency AS
WITH samples AS (
    SELECT
        list(ttft_ms) FILTER (ttft_ms IS NOT NULL) AS ttft,
        list(ttst_ms) FILTER (ttst_ms IS NOT NULL) AS ttst,
        list(tpot_ms) FILTER (tpot_ms IS NOT NULL) AS tpot,
        list(e2e_latency_ms) FILTER (e2e_latency_ms IS NOT NULL) AS e2e
    FROM completed
)
SELECT
    distribution(ttft) AS ttft,
    distribution(ttst) AS ttst,
    distribution(tpot) AS tpot,
    distribution(e2e) AS e2e
FROM samples;
