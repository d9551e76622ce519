#!/usr/bin/env bash
# The shipped conversation trace on four workers with each backend, in turn with the reference, RUNS times each (3 by
# default): the wall_time_ms that both programs report, dynosim's with the writing of all tables. Needs the reference:
# ../shared/oracle/setup.sh DIR, and DYNOSIM_ORACLE_PYTHON=DIR/bin/python. Run from the root of the repository after `make build`.
set -euo pipefail
python=${DYNOSIM_ORACLE_PYTHON:-../tools/oracle/bin/python}
runs=${RUNS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go run ./internal/repeattrace -n 1 traces/conversation_trace.jsonl.zst > "$work/trace.jsonl"
for backend in vllm trtllm sglang; do
  blocks='"block_size": 64, "num_gpu_blocks": 32768'
  [ $backend != sglang ] || blocks='"block_size": 1, "num_gpu_blocks": 2097152'
  cat > "$work/call.json" <<J
{"kind": "trace", "trace_files": ["trace.jsonl"], "args": {"trace_block_size": 512, "num_workers": 4,
 "extra_engine_args": {"engine": {"backend": "$backend", $blocks, "max_model_len": 131072, "timing_model": {"type": "polynomial"}}}}}
J
  for i in $(seq "$runs"); do
    (cd "$work" && "$OLDPWD/bin/dynosim" replay call.json --output-dir out --overwrite --quiet --format json) |
      "$python" -c 'import json, sys; print(sys.argv[1], "dynosim wall_time_ms", round(json.load(sys.stdin)["wall_time_ms"]))' $backend
    "$python" ../shared/oracle/oracle.py bench "$work" 1 | sed "s/^/$backend reference /"
  done
done
