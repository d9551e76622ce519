-- Distributions over all pairs of adjacent tokens: the inter-token latency, which is the gap itself, and the output
-- tokens per second per user, 1000 / gap of every gap above 0. A row of token_gaps stands for count equal gaps, so
-- every figure is weighted. Percentiles are exact. A run may have tens of millions of gaps: instead of sorting them,
-- they are counted in coarse buckets, then in fine buckets inside those that hold a percentile, then one by one.

-- Bucket numbers grow with the gap, evenly over its fourth root, which suits gaps of any size. A coarse bucket is 4096
-- fine ones. Gaps of 0 have a bucket of their own, -1.
CREATE OR REPLACE MACRO fine_bucket(gap_ms) AS
    CASE WHEN gap_ms > 0 THEN least(floor(sqrt(sqrt(gap_ms)) * 2097152), 2147483647)::INTEGER ELSE -1 END;
CREATE OR REPLACE MACRO coarse_bucket(gap_ms) AS fine_bucket(gap_ms) >> 12;

CREATE OR REPLACE TABLE gap_buckets AS
SELECT
    coarse_bucket(gap_ms) AS bucket,
    sum(count)::BIGINT AS n,
    sum(gap_ms * count) AS gap_sum,
    sum(1000 / gap_ms * count) AS rate_sum,
    min(gap_ms) AS min_gap_ms,
    max(gap_ms) AS max_gap_ms
FROM token_gaps
GROUP BY ALL;

CREATE OR REPLACE TABLE gap_means AS
SELECT
    coalesce(sum(n), 0)::BIGINT AS n,
    coalesce(sum(n) FILTER (bucket >= 0), 0)::BIGINT AS n_positive,
    fsum(gap_sum) / sum(n) AS mean_gap_ms,
    fsum(rate_sum) FILTER (bucket >= 0) / sum(n) FILTER (bucket >= 0) AS mean_rate,
    min(min_gap_ms) AS min_gap_ms,
    max(max_gap_ms) AS max_gap_ms,
    min(min_gap_ms) FILTER (bucket >= 0) AS min_positive_gap_ms
FROM gap_buckets;

-- Population standard deviations, in a second pass around the means.
CREATE OR REPLACE TABLE gap_deviations AS
SELECT
    sqrt(sum((gap_ms - mean_gap_ms) * (gap_ms - mean_gap_ms) * count) / any_value(n)) AS gap_std,
    sqrt(sum((1000 / nullif(gap_ms, 0) - mean_rate) * (1000 / nullif(gap_ms, 0) - mean_rate) * count) / any_value(n_positive)) AS rate_std
FROM token_gaps, gap_means;

-- The place of every percentile in the ascending list of all gaps, from 0. The rate falls as the gap grows: its
-- percentile stands as far from the end.
CREATE OR REPLACE TABLE gap_ranks AS
WITH percentiles AS (SELECT unnest([50, 75, 90, 95, 99]) AS p)
SELECT 'gap' AS what, p, rank_of(p, n) AS rank FROM gap_means, percentiles WHERE n > 0
UNION ALL
SELECT 'rate', p, n - 1 - rank_of(p, n_positive) FROM gap_means, percentiles WHERE n_positive > 0;

-- The coarse bucket of every percentile, and how many gaps stand below the bucket.
CREATE OR REPLACE TABLE coarse_hits AS
WITH placed AS (SELECT bucket, n, (sum(n) OVER (ORDER BY bucket) - n)::BIGINT AS below FROM gap_buckets)
SELECT what, p, rank, bucket, below FROM gap_ranks JOIN placed ON rank >= below AND rank < below + n;

-- The same with fine buckets.
CREATE OR REPLACE TABLE fine_hits AS
WITH counted AS (
        SELECT fine_bucket(gap_ms) AS bucket, sum(count)::BIGINT AS n FROM token_gaps
        WHERE coarse_bucket(gap_ms) IN (SELECT bucket FROM coarse_hits) GROUP BY ALL),
     placed AS (SELECT bucket, n, (sum(n) OVER (PARTITION BY bucket >> 12 ORDER BY bucket) - n)::BIGINT AS within FROM counted)
SELECT what, p, rank, placed.bucket, below + within AS below
FROM coarse_hits JOIN placed ON placed.bucket >> 12 = coarse_hits.bucket AND rank >= below + within AND rank < below + within + n;

-- The gap itself of every percentile.
CREATE OR REPLACE TABLE gap_percentiles AS
WITH counted AS (
        SELECT fine_bucket(gap_ms) AS bucket, gap_ms, sum(count)::BIGINT AS n FROM token_gaps
        WHERE fine_bucket(gap_ms) IN (SELECT bucket FROM fine_hits) GROUP BY ALL),
     placed AS (SELECT bucket, gap_ms, n, (sum(n) OVER (PARTITION BY bucket ORDER BY gap_ms) - n)::BIGINT AS within FROM counted)
SELECT what, p, gap_ms
FROM fine_hits JOIN placed ON placed.bucket = fine_hits.bucket AND rank >= below + within AND rank < below + within + n;

CREATE OR REPLACE TABLE gaps AS
WITH found AS (
    SELECT
        what,
        max(gap_ms) FILTER (p = 50) AS median,
        max(gap_ms) FILTER (p = 75) AS p75,
        max(gap_ms) FILTER (p = 90) AS p90,
        max(gap_ms) FILTER (p = 95) AS p95,
        max(gap_ms) FILTER (p = 99) AS p99
    FROM gap_percentiles GROUP BY what)
SELECT
    'itl' AS metric, n,
    coalesce(mean_gap_ms, 0) AS mean, coalesce(min_gap_ms, 0) AS min, coalesce(max_gap_ms, 0) AS max,
    coalesce(median, 0) AS median, coalesce(p75, 0) AS p75, coalesce(p90, 0) AS p90, coalesce(p95, 0) AS p95,
    coalesce(p99, 0) AS p99, coalesce(gap_std, 0) AS std
FROM gap_means, gap_deviations LEFT JOIN found ON what = 'gap'
UNION ALL
SELECT
    'rate', n_positive,
    coalesce(mean_rate, 0), coalesce(1000 / nullif(max_gap_ms, 0), 0), coalesce(1000 / min_positive_gap_ms, 0),
    coalesce(1000 / median, 0), coalesce(1000 / p75, 0), coalesce(1000 / p90, 0), coalesce(1000 / p95, 0),
    coalesce(1000 / p99, 0), coalesce(rate_std, 0)
FROM gap_means, gap_deviations LEFT JOIN found ON what = 'rate';
