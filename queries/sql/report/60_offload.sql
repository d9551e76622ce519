-- What the summary says about the cache levels behind the GPUs (spec 10 sections 10 and 12): one row of JSON texts, null where there is
-- nothing to say.
CREATE OR REPLACE TABLE offload_shown AS
WITH reads AS (FROM g3_transfers WHERE kind = 'read'),
     writes AS (FROM g3_transfers WHERE kind = 'write')
SELECT
    -- Pools that ranks share; a cache of one rank is not in the summary.
    (SELECT to_json(list({'capacity_blocks': capacity_blocks, 'resident_blocks': resident_blocks, 'used_blocks': used_blocks} ORDER BY domain))::VARCHAR
     FROM host_domains HAVING count(*) > 0) AS g2_domains,
    (SELECT json_merge_patch(
        {'lookup_probes': lookup_probes, 'lookup_hits': lookup_hits, 'lookup_pending': lookup_pending,
         'read': (SELECT {
            'submitted_jobs': count(*), 'completed_jobs': count(completed_ms), 'cancelled_jobs': count(canceled_ms),
            'completed_bytes': coalesce(sum(bytes) FILTER (completed_ms IS NOT NULL), 0)::BIGINT,
            'transfer_ms': coalesce(sum(completed_ms - submitted_ms), 0::DOUBLE)} FROM reads),
         'write': (SELECT {
            'submitted_jobs': count(*), 'completed_jobs': count(completed_ms), 'cancelled_jobs': count(canceled_ms),
            'completed_bytes': coalesce(sum(bytes) FILTER (completed_ms IS NOT NULL), 0)::BIGINT,
            'transfer_ms': coalesce(sum(completed_ms - submitted_ms), 0::DOUBLE)} FROM writes),
         'evictions': evictions, 'cross_worker_read_blocks': cross_worker_read_blocks,
         'resident_blocks': resident_blocks, 'pending_blocks': pending_blocks}::JSON,
        -- Merging a null leaves the key out.
        {'bypassed_restores': nullif(bypassed_restores, 0)}::JSON)::VARCHAR
     FROM g3_run) AS g3_offload;
