-- The admissions of the requests of one page: the entries of admission_history.
SELECT
    position,
    admission_ordinal,
    pool_admission_ordinal,
    pool,
    measured(at_ms) AS at_ms,
    reused_input_tokens,
    pool_admission_ordinal > 0 AS is_readmission
FROM admissions JOIN record_page USING (node)
ORDER BY position, admission_ordinal;
