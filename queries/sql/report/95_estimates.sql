-- Where the times of passes come from, as JSON: part of the reports of the reference's second entry (spec 02 section 7.5). It stands in
-- the summaries of plays and of requests that a call lists.
CREATE OR REPLACE MACRO provenance(estimator) AS {
    'data_version': NULL,
    'data_version_unavailable_reason': CASE estimator WHEN 'fixed' THEN 'configured' ELSE 'built-in' END || ' timing does not use performance data',
    'estimator': estimator, 'timing_source': CASE estimator WHEN 'fixed' THEN 'configured' ELSE 'built_in' END};

CREATE OR REPLACE VIEW estimates_shown AS
SELECT
    CASE WHEN prefill_estimator IS NULL THEN to_json({'aggregated': provenance(decode_estimator)})::VARCHAR
        ELSE to_json({'prefill': provenance(prefill_estimator), 'decode': provenance(decode_estimator)})::VARCHAR END AS prediction_provenance,
    to_json({
        'coverage_gate': 0.9::DOUBLE, 'energy_unit': 'W-ms', 'latency_unit': 'ms', 'phases': []::VARCHAR[], 'power_coverage': NULL, 'power_w': NULL, 'power_w_unit': 'W',
        'publication_status': 'unsupported', 'schema_version': '1.0', 'scope': 'active_forward_pass_per_gpu',
        'unavailable_reason': 'one or more replay roles have no timing provider'})::VARCHAR AS power_diagnostics
FROM run;

SELECT prediction_provenance, power_diagnostics FROM estimates_shown;
