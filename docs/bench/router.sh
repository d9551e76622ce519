#!/usr/bin/env bash
# Compare dynosim with the reference on the shipped conversation trace with the KV router, on 4 and on 64 workers, in
# turn, RUNS times each (3 by default). Needs the reference: ../shared/oracle/setup.sh DIR, and
# DYNOSIM_ORACLE_PYTHON=DIR/bin/python. Run from the root of the repository after `make build`.
set -euo pipefail
python=${DYNOSIM_ORACLE_PYTHON:-../tools/oracle/bin/python}
runs=${RUNS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -c -o "$work/bench" ./internal/pipeline
for workers in ${WORKERS:-4 64}; do
  mkdir -p "$work/$workers"
  go run ./internal/repeattrace -n 1 traces/conversation_trace.jsonl.zst > "$work/$workers/trace.jsonl"
  cat > "$work/$workers/call.json" <<J
{"kind": "trace", "trace_files": ["trace.jsonl"], "args": {"router_mode": "kv_router", "trace_block_size": 512, "num_workers": $workers, "sla_ttft_ms": 2000, "sla_itl_ms": 50,
 "extra_engine_args": {"engine": {"backend": "vllm", "block_size": 64, "num_gpu_blocks": 32768, "max_model_len": 131072, "timing_model": {"type": "polynomial"}}}}, "router_config": {}}
J
  for i in $(seq "$runs"); do
    echo "$workers workers, round $i"
    (cd internal/pipeline && "$work/bench" -test.run '^$' -test.bench "Conversation/kv-router-$workers\$" -test.benchtime 3x) | grep '^Benchmark' | sed 's/^/  simulation alone: /'
    /usr/bin/time -f '  whole predict:    %e s wall, %U s user, %M KiB peak' bin/dynosim predict -c examples/conversation.yaml \
      --set router.policy=kv_router --set "engine.workers.aggregated.parallelism.replicas=$workers" \
      --output-dir "$work/out" --overwrite --quiet --format json > /dev/null
    "$python" ../shared/oracle/oracle.py bench "$work/$workers" 1 | sed 's/^/  reference:        /'
  done
done
