#!/usr/bin/env bash
# What timing from measured data costs: the conversation trace on four vLLM workers with polynomial timing and with
# the data of Llama 3.1 8B on H200, in turn. Prints processor seconds (user) and wall seconds of each whole predict.
#
#   bash docs/bench/timing.sh [ROUNDS] [PROGRAM]
set -euo pipefail
rounds=${1:-5} program=${2:-bin/dynosim} out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for ((i = 0; i < rounds; i++)); do
    for timing in polynomial default; do
        /usr/bin/time -f "$timing: %U s of processor time, %e s" "$program" predict -c examples/conversation.yaml -q --format json --overwrite -o "$out/run" \
            --set engine.model=meta-llama/Meta-Llama-3.1-8B --set engine.hardware=h200_sxm --set "engine.workers.aggregated.timing={type: $timing}" >/dev/null
    done
done
