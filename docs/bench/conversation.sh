#!/usr/bin/env bash
# Compare dynosim with the reference on the shipped conversation trace, in turn, RUNS times each
# (5 by default). Needs the reference: ../shared/oracle/setup.sh DIR, and DYNOSIM_ORACLE_PYTHON=DIR/bin/python.
# Run from the root of the repository after `make build`.
set -euo pipefail
python=${DYNOSIM_ORACLE_PYTHON:-../tools/oracle/bin/python}
runs=${RUNS:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go run ./internal/repeattrace -n 1 traces/conversation_trace.jsonl.zst > "$work/trace.jsonl"
cat > "$work/call.json" <<'J'
{"kind": "trace", "trace_files": ["trace.jsonl"], "args": {"trace_block_size": 512, "num_workers": 4, "sla_ttft_ms": 2000, "sla_itl_ms": 50,
 "extra_engine_args": {"engine": {"backend": "vllm", "block_size": 64, "num_gpu_blocks": 32768, "max_model_len": 131072, "timing_model": {"type": "polynomial"}}}}}
J
go test -c -o "$work/bench" ./internal/pipeline
for i in $(seq "$runs"); do
  echo "round $i"
  (cd internal/pipeline && "$work/bench" -test.run '^$' -test.bench Conversation -test.benchtime 3x) | grep '^Benchmark' | sed 's/^/  simulation alone: /'
  /usr/bin/time -f '  whole predict:    %e s wall, %U s user, %M KiB peak' bin/dynosim predict -c examples/conversation.yaml \
    --output-dir "$work/out" --overwrite --quiet --format json > /dev/null
  "$python" ../shared/oracle/oracle.py bench "$work" 1 | sed 's/^/  reference:        /'
done
