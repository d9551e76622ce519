-- The operations on the pools: the entries of lifecycle_operations in prediction.json. A member whose name ends in ? is
-- left out when it is null.
WITH spans AS (
    -- Every state of every worker, with the operations from which on and before which it held.
    SELECT
        pool, worker, state,
        coalesce(operation, -1) AS since,
        lead(coalesce(operation, -1)) OVER (PARTITION BY pool, worker ORDER BY coalesce(operation, -1), position) AS until
    FROM lifecycle
),
operations AS (
    SELECT
        operation, pool,
        any_value(at_ms) AS at_ms,
        any_value(cause) AS cause,
        any_value(tick_ordinal) AS tick_ordinal,
        any_value(origin_operation) AS origin_operation,
        any_value(released_requests) AS released_requests,
        list({
            'worker_id': worker, 'transition': transition, 'prior_state': prior_state, 'state': state, 'reason?': reason,
            'origin_operation_ordinal': transition_origin_operation
        } ORDER BY position) AS transitions
    FROM lifecycle
    WHERE operation IS NOT NULL
    GROUP BY operation, pool
),
after AS (
    SELECT
        o.operation,
        list(s.worker ORDER BY s.worker) FILTER (s.state = 'active') AS active,
        list(s.worker ORDER BY s.worker) FILTER (s.state = 'starting') AS starting,
        list(s.worker ORDER BY s.worker) FILTER (s.state = 'draining') AS draining
    FROM operations AS o JOIN spans AS s ON s.pool = o.pool AND s.since <= o.operation AND (s.until IS NULL OR o.operation < s.until)
    GROUP BY o.operation
)
SELECT
    operation AS operation_ordinal,
    at_ms,
    pool,
    cause,
    tick_ordinal AS planner_tick_ordinal,
    origin_operation AS origin_operation_ordinal,
    transitions,
    {'active': coalesce(active, []), 'starting': coalesce(starting, []), 'draining': coalesce(draining, [])} AS state_after_batch,
    released_requests AS topology_released_request_count
FROM operations LEFT JOIN after USING (operation)
ORDER BY operation;
