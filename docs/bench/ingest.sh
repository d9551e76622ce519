#!/usr/bin/env bash
# Ingest of a 2 GB trace, in turn with the same job in pyarrow, RUNS times each (3 by default). Needs a Python with pyarrow
# and numpy: DYNOSIM_PYTHON. Run from the root of the repository after `make build`.
set -euo pipefail
python=${DYNOSIM_PYTHON:-python3}
runs=${RUNS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trace=${TRACE:-$work/trace.jsonl}
[ -e "$trace" ] || go run ./internal/repeattrace -n 560 -shift traces/conversation_trace.jsonl.zst > "$trace"
ls -l "$trace"
for i in $(seq "$runs"); do
  echo "round $i"
  cat "$trace" > /dev/null # both read it from memory
  /usr/bin/time -f '  dynosim: %e s wall, %U s user, %S s system, %M KiB peak' bin/dynosim ingest "$trace" --format mooncake -o "$work/ingested" --overwrite --quiet | sed 's/^/  /'
  /usr/bin/time -f '  pyarrow: %e s wall, %U s user, %S s system, %M KiB peak' "$python" docs/bench/ingest_pyarrow.py "$trace" "$work/pyarrow" | sed 's/^/  /'
done
