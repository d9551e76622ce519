#!/usr/bin/env bash
# Five million requests through predict: the shipped trace 416 times end to end. Outputs are cut to OUTPUT tokens (8 by
# default), which keeps the tables at a few gigabytes; OUTPUT=0 leaves them as they are. Run from the root of the repository
# after `make build`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
output=${OUTPUT:-8}
cut=cat
[ "$output" = 0 ] || cut="sed -E s/\"output_length\":.[0-9]{2,}/\"output_length\":$output/"
zstd -dqc traces/conversation_trace.jsonl.zst | $cut > "$work/once.jsonl"
go run ./internal/repeattrace -n 416 "$work/once.jsonl" > "$work/trace.jsonl"
/usr/bin/time -f '%e s wall, %U s user, %S s system, %M KiB peak' bin/dynosim predict -c examples/conversation.yaml \
  --set "traffic.source.paths=[$work/trace.jsonl]" --output-dir "$work/out" --quiet --format json > "$work/summary.json"
bin/dynosim query "$work/out" "select
  (select count(*) from requests) requests, (select sum(block_count) from requests) block_count, (select count(*) from blocks) blocks,
  (select count(*) from nodes) nodes, (select count(*) from request_results) results, (select sum(output_tokens) from request_results) output_tokens,
  (select sum(output_tokens) from passes) tokens_of_passes, (select count(*) from passes) passes, (select sum(count) from token_gaps) gaps"
du -sh "$work/out"
