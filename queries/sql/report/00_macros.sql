-- Helpers of the other files. Load this one first.
-- A run's tables are views of the same names: requests, nodes, request_results, passes, token_gaps, run, ...

-- Element of rank round((n - 1) * p / 100), half away from zero, of a sorted list; no interpolation. 0 when empty.
CREATE OR REPLACE TEMP MACRO nearest_rank(sorted, p) AS
    coalesce(sorted[1 + round((len(sorted) - 1) * p / 100)::BIGINT], 0::DOUBLE);

-- Population standard deviation around a mean that is known already: two passes, so equal values give 0.
CREATE OR REPLACE TEMP MACRO deviation(xs, mean) AS
    coalesce(sqrt(list_aggregate(list_transform(xs, lambda x: (x - mean) * (x - mean)), 'favg')), 0::DOUBLE);

-- The nine figures and the number of samples of an unsorted list; all 0 for an empty one.
CREATE OR REPLACE TEMP MACRO distribution(xs) AS (
    SELECT {
        'n': len(v),
        'mean': m,
        'min': coalesce(v[1], 0::DOUBLE),
        'max': coalesce(v[-1], 0::DOUBLE),
        'median': nearest_rank(v, 50),
        'p75': nearest_rank(v, 75),
        'p90': nearest_rank(v, 90),
        'p95': nearest_rank(v, 95),
        'p99': nearest_rank(v, 99),
        'std': deviation(v, m)
    }
    FROM (SELECT coalesce(list_sort(xs), []::DOUBLE[]) AS v, coalesce(list_aggregate(xs, 'favg'), 0::DOUBLE) AS m)
);

-- A total per second of virtual time.
CREATE OR REPLACE TEMP MACRO per_second(total, duration_ms) AS
    total / greatest(duration_ms / 1000, 1e-9);
