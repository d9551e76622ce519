-- The admissions of the requests of one page: the entries of admission_history. A column whose name
-- ends in ? is left out when it is null.
SELECT
    position,
    admission_ordinal,
    pool_admission_ordinal,
    pool,
    measured(at_ms) AS at_ms,
    reused_input_tokens,
    g1_reused_input_tokens AS "g1_reused_input_tokens?",
    host_reused_input_tokens AS "host_reused_input_tokens?",
    pool_admission_ordinal > 0 AS is_readmission
FROM admissions JOIN record_page USING (node)
ORDER BY position, admission_ordinal;
