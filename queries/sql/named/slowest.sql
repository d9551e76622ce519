-- The 20 requests with the longest end-to-end latency, and where their time went.
SELECT
    node,
    arrival_ms,
    input_tokens,
    output_tokens,
    reused_input_tokens,
    worker,
    readmission_count AS readmissions,
    first_admit_ms - arrival_ms AS queued_ms,
    first_token_ms - first_admit_ms AS prefill_ms,
    last_token_ms - first_token_ms AS decode_ms,
    last_token_ms - arrival_ms AS e2e_ms
FROM request_results
WHERE status = 'completed' AND last_token_ms IS NOT NULL
ORDER BY e2e_ms DESC, node
LIMIT 20;
