-- The order of the per-request records: requests with a terminal status by arrival, then in order of creation.
-- position numbers them from 0. The records are read in pages of positions, so that a long run needs no more memory than
-- a short one: set the variables first_position and end_position, then run 20_records.sql and the two histories.
-- Needs report/00_macros.sql and report/10_requests.sql.
CREATE OR REPLACE TABLE record_order AS
SELECT node, (row_number() OVER (ORDER BY arrival_ms, creation_ordinal) - 1)::BIGINT AS position
FROM request_results
WHERE status <> 'unfinished';

CREATE OR REPLACE VIEW record_page AS
FROM record_order WHERE position >= getvariable('first_position')::BIGINT AND position < getvariable('end_position')::BIGINT;
