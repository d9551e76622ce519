-- Trajectories: from the start of a play to its last end, for plays that completed all of their nodes without a failure
-- (spec 02 section 7.3). Needs report/20_latency.sql. One row of figures.
CREATE OR REPLACE VIEW trajectory AS
SELECT terminal_ms - origin_ms AS value
FROM play_runs
WHERE failed_node IS NULL AND completed_count = node_count
ORDER BY play_run;

CREATE OR REPLACE TABLE trajectory_figures AS FROM distribution_of('trajectory');

SELECT
    (SELECT count(*) FROM play_runs) AS total_trajectories,
    n AS completed_trajectories,
    (SELECT count(*) FROM play_runs) - n AS incomplete_trajectories,
    mean AS mean_trajectory_e2e_latency_ms,
    min AS min_trajectory_e2e_latency_ms,
    max AS max_trajectory_e2e_latency_ms,
    median AS median_trajectory_e2e_latency_ms,
    median AS p50_trajectory_e2e_latency_ms,
    p75 AS p75_trajectory_e2e_latency_ms,
    p90 AS p90_trajectory_e2e_latency_ms,
    p95 AS p95_trajectory_e2e_latency_ms,
    p99 AS p99_trajectory_e2e_latency_ms,
    std AS std_trajectory_e2e_latency_ms
FROM trajectory_figures;
