-- Prefix cache reuse by prompt length: tokens found in cache over tokens asked for.
SELECT
    CASE WHEN input_tokens = 0 THEN 0 ELSE pow(2, floor(log2(input_tokens)))::BIGINT END AS input_tokens_from,
    count(*) AS requests,
    sum(input_tokens) AS input_tokens,
    sum(reused_input_tokens) AS reused_tokens,
    sum(reused_input_tokens) / nullif(sum(input_tokens), 0) AS reused_share,
    count(*) FILTER (reused_input_tokens > 0) / count(*) AS requests_with_reuse
FROM request_results
WHERE status = 'completed' AND admission_count > 0
GROUP BY 1
ORDER BY 1;
