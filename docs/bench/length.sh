#!/usr/bin/env bash
# Peak memory over trace length: the shipped trace once, and 20 times end to end.
# Run from the root of the repository after `make build`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for copies in 1 20; do
  go run ./internal/repeattrace -n "$copies" traces/conversation_trace.jsonl.zst > "$work/trace.jsonl"
  /usr/bin/time -f "  $copies x: %e s wall, %U s user, %M KiB peak" bin/dynosim predict -c examples/conversation.yaml \
    --set "traffic.source.paths=[$work/trace.jsonl]" --output-dir "$work/out" --overwrite --quiet --format json > /dev/null
done
