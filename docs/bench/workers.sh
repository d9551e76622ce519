#!/usr/bin/env bash
# Compare dynosim with the reference on clusters of 4 and of 64 workers at the same load a worker, in
# turn, RUNS times each (3 by default): synthetic requests, round robin, all tables and the SQL report of
# dynosim, the call of the reference. Processor time is shown beside wall time: it says more on a busy
# machine. Needs the reference: ../shared/oracle/setup.sh DIR, and DYNOSIM_ORACLE_PYTHON=DIR/bin/python.
# Run from the root of the repository after `make build`.
set -euo pipefail
python=${DYNOSIM_ORACLE_PYTHON:-../tools/oracle/bin/python}
program=${PROGRAM:-bin/dynosim}
runs=${RUNS:-3}
workers=${WORKERS:-4 64}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
timed() { /usr/bin/time -f "  $1: %e s wall, %U s user + %S s system, %M KiB peak" "${@:2}"; }
for n in $workers; do
  mkdir -p "$work/$n"
  cat > "$work/$n/call.json" <<J
{"kind": "synthetic", "args": {"input_tokens": 512, "output_tokens": 96, "request_count": 32768, "request_rate": $((4 * n)), "num_workers": $n,
 "extra_engine_args": {"engine": {"backend": "vllm", "block_size": 64, "num_gpu_blocks": 4096, "timing_model": {"type": "polynomial"}}}}}
J
  for i in $(seq "$runs"); do
    echo "$n workers, round $i"
    timed "dynosim  " "$program" replay "$work/$n/call.json" --output-dir "$work/out" --overwrite --quiet --format json > /dev/null
    timed "reference" "$python" ../shared/oracle/oracle.py bench "$work/$n" 1
  done
done
