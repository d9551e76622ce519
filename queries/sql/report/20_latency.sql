-- Distributions over requests: time to first and second token, time per output token, end-to-end latency.

CREATE OR REPLACE TABLE latency_samples AS SELECT ttft_ms, ttst_ms, tpot_ms, e2e_latency_ms FROM completed;
CREATE OR REPLACE VIEW ttft AS SELECT ttft_ms AS value FROM latency_samples WHERE ttft_ms IS NOT NULL;
CREATE OR REPLACE VIEW ttst AS SELECT ttst_ms AS value FROM latency_samples WHERE ttst_ms IS NOT NULL;
CREATE OR REPLACE VIEW tpot AS SELECT tpot_ms AS value FROM latency_samples WHERE tpot_ms IS NOT NULL;
CREATE OR REPLACE VIEW e2e_latency AS SELECT e2e_latency_ms AS value FROM latency_samples WHERE e2e_latency_ms IS NOT NULL;

-- The element at the rank of a percentile; lists count from 1.
CREATE OR REPLACE MACRO nearest_rank(sorted, p) AS coalesce(sorted[1 + rank_of(p, len(sorted))], 0);

-- The figures of the column value of a view. Percentiles are values that occurred, without interpolation; the standard
-- deviation is that of the population, in a second pass around the mean. All are 0 for an empty population.
CREATE OR REPLACE MACRO distribution_of(metric) AS TABLE
WITH totals AS (
        SELECT count(*) AS n, fsum(value) / count(*) AS mean, list_sort(list(value)) AS sorted
        FROM query_table(metric)),
     spread AS (
        SELECT sqrt(fsum((value - mean) * (value - mean)) / count(*)) AS std
        FROM query_table(metric), (SELECT mean FROM totals))
SELECT
    metric AS metric,
    n,
    coalesce(mean, 0) AS mean,
    coalesce(sorted[1], 0) AS min,
    coalesce(sorted[-1], 0) AS max,
    nearest_rank(sorted, 50) AS median,
    nearest_rank(sorted, 75) AS p75,
    nearest_rank(sorted, 90) AS p90,
    nearest_rank(sorted, 95) AS p95,
    nearest_rank(sorted, 99) AS p99,
    coalesce(std, 0) AS std
FROM totals, spread;

CREATE OR REPLACE TABLE latency AS FROM distribution_of('ttft');
INSERT INTO latency FROM distribution_of('ttst');
INSERT INTO latency FROM distribution_of('tpot');
INSERT INTO latency FROM distribution_of('e2e_latency');

DROP VIEW ttft;
DROP VIEW ttst;
DROP VIEW tpot;
DROP VIEW e2e_latency;
DROP TABLE latency_samples;
