-- Helpers of the other files. Load this one first.
-- A run's tables are views of the same names: requests, nodes, request_results, passes, token_gaps, run, ...

-- Where percentile p stands among n sorted values, from 0: rank round((n - 1) * p / 100), half away from zero.
CREATE OR REPLACE MACRO rank_of(p, n) AS round((n - 1) * p / 100)::BIGINT;

-- A total per second of time.
CREATE OR REPLACE MACRO per_second(total, duration_ms) AS total / greatest(duration_ms / 1000, 1e-9);
