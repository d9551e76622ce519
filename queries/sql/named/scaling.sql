-- Workers of every pool over time, a row for every change: █ active, ▒ starting, ░ draining.
WITH spans AS (
    SELECT
        pool, worker, state, at_ms AS since,
        coalesce(lead(at_ms) OVER (PARTITION BY pool, worker ORDER BY coalesce(operation, -1), position), 'Infinity'::DOUBLE) AS until
    FROM lifecycle
),
changes AS (SELECT DISTINCT pool, at_ms FROM lifecycle)
SELECT
    c.at_ms / 1000 AS at_s,
    c.pool,
    count(*) FILTER (s.state = 'active') AS active,
    count(*) FILTER (s.state = 'starting') AS starting,
    count(*) FILTER (s.state = 'draining') AS draining,
    -- At most 60 characters, whatever the number of workers.
    repeat('█', round(count(*) FILTER (s.state = 'active') * scale)::BIGINT)
        || repeat('▒', round(count(*) FILTER (s.state = 'starting') * scale)::BIGINT)
        || repeat('░', round(count(*) FILTER (s.state = 'draining') * scale)::BIGINT) AS workers
FROM changes AS c
LEFT JOIN spans AS s ON s.pool = c.pool AND s.since <= c.at_ms AND c.at_ms < s.until,
    (SELECT least(1, 60 / greatest(count(DISTINCT worker), 1)) AS scale FROM lifecycle)
GROUP BY c.at_ms, c.pool, scale
ORDER BY c.at_ms, c.pool;
