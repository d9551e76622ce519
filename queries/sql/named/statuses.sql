-- How requests ended.
SELECT status, count(*) AS requests, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens
FROM request_results
GROUP BY status
ORDER BY requests DESC, status;
