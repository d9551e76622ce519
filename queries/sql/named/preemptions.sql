-- Requests that were preempted, most often first, and what readmission cost them.
SELECT
    node,
    readmission_count AS readmissions,
    input_tokens,
    output_tokens,
    first_admission_reused_input_tokens AS first_reused_tokens,
    reused_input_tokens AS best_reused_tokens,
    terminal_ms - arrival_ms AS until_end_ms
FROM request_results
WHERE readmission_count > 0
ORDER BY readmissions DESC, node
LIMIT 50;
