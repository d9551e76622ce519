-- Distributions over all pairs of adjacent tokens: the inter-token latency, which is the gap itself, and the output
-- tokens per second per user, 1000 / gap of every gap above 0. A row of token_gaps stands for count equal gaps, so
-- every figure is weighted. Percentiles are exact: sorting is avoided (a run may have tens of millions of gaps) by
-- counting gaps in coarse buckets, then in fine buckets inside those that hold a percentile, then exactly.

CREATE OR REPLACE TEMP TABLE gap_totals AS
SELECT
    coalesce(sum(count), 0)::BIGINT AS n,
    coalesce(sum(count) FILTER (gap_ms > 0), 0)::BIGINT AS n_positive,
    coalesce(min(gap_ms), 0::DOUBLE) AS min_gap_ms,
    coalesce(max(gap_ms), 0::DOUBLE) AS max_gap_ms,
    coalesce(min(gap_ms) FILTER (gap_ms > 0), 0::DOUBLE) AS min_positive_gap_ms,
    coalesce(fsum(gap_ms * count) / sum(count), 0::DOUBLE) AS mean_gap_ms,
    coalesce(fsum(1000 / gap_ms * count) FILTER (gap_ms > 0) / sum(count) FILTER (gap_ms > 0), 0::DOUBLE) AS mean_rate
FROM token_gaps
WHERE count > 0;

CREATE OR REPLACE TEMP TABLE gap_deviations AS
SELECT
    coalesce(sqrt(fsum((gap_ms - mean_gap_ms) * (gap_ms - mean_gap_ms) * count) / any_value(n)), 0::DOUBLE) AS gap_std,
    coalesce(sqrt(fsum((1000 / gap_ms - mean_rate) * (1000 / gap_ms - mean_rate) * count) FILTER (gap_ms > 0) / any_value(n_positive)), 0::DOUBLE) AS rate_std
FROM token_gaps, gap_totals
WHERE count > 0;

-- The place of every percentile in the ascending list of all gaps, from 0. The rate falls as the gap grows: its
-- percentile stands as far from the end.
CREATE OR REPLACE TEMP TABLE gap_ranks AS
SELECT 'gap' AS what, p, round((n - 1) * p / 100)::BIGINT AS rank FROM gap_totals, (SELECT unnest([50, 75, 90, 95, 99]) AS p) WHERE n > 0
UNION ALL
SELECT 'rate', p, n - 1 - round((n_positive - 1) * p / 100)::BIGINT FROM gap_totals, (SELECT unnest([50, 75, 90, 95, 99]) AS p) WHERE n_positive > 0;

-- Bucket numbers grow with the gap: 24 bits over the fourth root, of which the upper 12 are the coarse bucket.
CREATE OR REPLACE TEMP MACRO fine_bucket(gap_ms, lowest, highest) AS
    CASE WHEN highest > lowest
        THEN floor((sqrt(sqrt(gap_ms)) - sqrt(sqrt(lowest))) * (16777215 / (sqrt(sqrt(highest)) - sqrt(sqrt(lowest)))))::INTEGER
        ELSE 0 END;
CREATE OR REPLACE TEMP VIEW bucketed_gaps AS
SELECT gap_ms, count, fine_bucket(gap_ms, min_gap_ms, max_gap_ms) AS bucket FROM token_gaps, gap_totals WHERE count > 0;

CREATE OR REPLACE TEMP TABLE coarse_hits AS
WITH counted AS (SELECT bucket >> 12 AS bucket, sum(count)::BIGINT AS n FROM bucketed_gaps GROUP BY 1),
     placed AS (SELECT bucket, n, (sum(n) OVER (ORDER BY bucket) - n)::BIGINT AS below FROM counted)
SELECT what, p, rank, bucket, below FROM gap_ranks JOIN placed ON rank >= below AND rank < below + n;

CREATE OR REPLACE TEMP TABLE fine_hits AS
WITH counted AS (
        SELECT bucket, sum(count)::BIGINT AS n FROM bucketed_gaps
        WHERE bucket >> 12 IN (SELECT bucket FROM coarse_hits) GROUP BY 1),
     placed AS (SELECT bucket, n, (sum(n) OVER (PARTITION BY bucket >> 12 ORDER BY bucket) - n)::BIGINT AS within FROM counted)
SELECT what, p, rank, placed.bucket, below + within AS below
FROM coarse_hits JOIN placed ON placed.bucket >> 12 = coarse_hits.bucket AND rank >= below + within AND rank < below + within + n;

CREATE OR REPLACE TEMP TABLE gap_percentiles AS
WITH counted AS (
        SELECT bucket, gap_ms, sum(count)::BIGINT AS n FROM bucketed_gaps
        WHERE bucket IN (SELECT bucket FROM fine_hits) GROUP BY ALL),
     placed AS (SELECT bucket, gap_ms, n, (sum(n) OVER (PARTITION BY bucket ORDER BY gap_ms) - n)::BIGINT AS within FROM counted)
SELECT what, p, gap_ms
FROM fine_hits JOIN placed ON placed.bucket = fine_hits.bucket AND rank >= below + within AND rank < below + within + n;

CREATE OR REPLACE TEMP MACRO gap_percentile(wanted, percent) AS
    coalesce((SELECT CASE wanted WHEN 'gap' THEN gap_ms ELSE 1000 / gap_ms END FROM gap_percentiles WHERE what = wanted AND p = percent), 0::DOUBLE);

CREATE OR REPLACE TEMP TABLE gaps AS
SELECT
    {
        'n': n, 'mean': mean_gap_ms, 'min': min_gap_ms, 'max': max_gap_ms,
        'median': gap_percentile('gap', 50), 'p75': gap_percentile('gap', 75), 'p90': gap_percentile('gap', 90),
        'p95': gap_percentile('gap', 95), 'p99': gap_percentile('gap', 99), 'std': gap_std
    } AS itl,
    {
        'n': n_positive, 'mean': mean_rate,
        'min': CASE WHEN n_positive > 0 THEN 1000 / max_gap_ms ELSE 0 END,
        'max': CASE WHEN n_positive > 0 THEN 1000 / min_positive_gap_ms ELSE 0 END,
        'median': gap_percentile('rate', 50), 'p75': gap_percentile('rate', 75), 'p90': gap_percentile('rate', 90),
        'p95': gap_percentile('rate', 95), 'p99': gap_percentile('rate', 99), 'std': rate_std
    } AS rate
FROM gap_totals, gap_deviations;
