#!/usr/bin/env python3
"""Compare published end-to-end measurements with dynosim's predictions.

    measured.py SAMPLE.csv [ROWS] [PROGRAM]

SAMPLE.csv is aisimulate_core/systems/silicon_sample.csv of the package aisimulate 0.13: serving benchmarks
on real GPUs (model, system, backend, parallel sizes, input and output lengths, concurrency) with their
measured mean time to first token and time per output token. Rows of aggregated serving on the five
systems and the models that this program has are taken, ROWS (8) of each model, system and backend, evenly
spread over the file. Each is run as a closed loop of three rounds of its concurrency. Prints Markdown:
a table of the groups, then one of every row.
"""
import csv
import json
import re
import statistics
import subprocess
import sys
import tempfile

SYSTEMS = {"h100_sxm", "h200_sxm", "b200_sxm", "a100_sxm", "l40s"}
MODELS = {"meta-llama/Llama-3.1-8B-Instruct", "nvidia/Llama-3.1-8B-Instruct-FP8", "Qwen/Qwen3-32B", "Qwen/Qwen3-235B-A22B-FP8", "openai/gpt-oss-120b",
          "MiniMaxAI/MiniMax-M2.5", "deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-V3"}


def size(row, key):
    return int(float(row[key] or 1))


def wanted(row):
    """The deployment and load of a row, None when this program has no data for it."""
    concurrency = re.search(r"silicon_concurrency=(\d+)", row["silicon_data_source"])
    if row["mode"] != "agg" or row["system"] not in SYSTEMS or row["model_path"] not in MODELS or not concurrency:
        return None
    tp, dp, et, ep = (size(row, k) for k in ("tp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size"))
    dense = "Llama" in row["model_path"] or row["model_path"] == "Qwen/Qwen3-32B"
    if size(row, "pp_size") != 1 or tp > 8 or not dense and tp * dp != et * ep:
        return None
    # The precision must be the checkpoint's own.
    own = {"Qwen/Qwen3-32B": "bf16", "meta-llama/Llama-3.1-8B-Instruct": "bf16", "openai/gpt-oss-120b": "fp4"}.get(row["model_path"], "fp8")
    if row["precision"] != own:
        return None
    return {"tensor": tp, "attention_data": dp, "moe_tensor": 1 if dense else et, "moe_expert": 1 if dense else ep}, int(concurrency[1])


def predict(program, row, parallelism, concurrency):
    document = {
        "traffic": {
            "source": {"type": "synthetic", "input_tokens": int(row["isl"]), "output_tokens": int(row["osl"])},
            "load": {"type": "concurrency", "concurrency": concurrency}, "stop": {"requests": 3 * concurrency},
        },
        "engine": {
            "model": row["model_path"], "hardware": row["system"], "backend": row["backend"], "context_length": 131072,
            "workers": {"aggregated": {"parallelism": parallelism, "scheduler": {"max_sequences": 1024}}},
        },
    }
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([program, "predict", "-c", "-", "-q", "--format", "json", "--detail", "none", "-o", out + "/run"],
                              input=json.dumps(document), capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1]
    summary = json.loads(done.stdout)
    return (summary["mean_ttft_ms"], summary["mean_tpot_ms"]), None


def main():
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    program = sys.argv[3] if len(sys.argv) > 3 else "bin/dynosim"
    groups = {}
    with open(sys.argv[1], newline="") as f:
        for row in csv.DictReader(f):
            if wanted(row):
                groups.setdefault((row["model_path"], row["system"], row["backend"]), []).append(row)
    lines, table, refused = [], [], {}
    for (model, system, backend), all_rows in sorted(groups.items()):
        ratios = []
        for row in all_rows[:: max(1, len(all_rows) // rows)][:rows]:
            parallelism, concurrency = wanted(row)
            got, why = predict(program, row, parallelism, concurrency)
            if got is None:
                refused.setdefault(why.split(": ", 2)[-1][:120], []).append(row["id"])
                continue
            ttft, tpot = float(row["silicon_ttft_ms"]), float(row["silicon_tpot_ms"])
            ratios.append((got[1] / tpot, got[0] / ttft))
            shape = "tp %(tensor)d dp %(attention_data)d, experts %(moe_tensor)d × %(moe_expert)d" % parallelism
            lines.append(f"| {model} | {system} | {backend} {row['backend_version']} | {shape} | {row['isl']} / {row['osl']} | {concurrency} | "
                         f"{tpot:.2f} | {got[1]:.2f} | {got[1] / tpot:.2f} | {ttft:.0f} | {got[0]:.0f} |")
        if ratios:
            token = sorted(r[0] for r in ratios)
            error = statistics.median(abs(r - 1) for r in token)
            versions = sorted({r["backend_version"] for r in all_rows})
            table.append(f"| {model} | {system} | {backend} ({', '.join(versions[:3])}{' …' if len(versions) > 3 else ''}) | {len(ratios)} | "
                         f"{statistics.median(token):.2f} | {token[0]:.2f} – {token[-1]:.2f} | {100 * error:.0f} % | {statistics.median(r[1] for r in ratios):.2f} |")
    print("| model | system | backend (versions measured) | rows | predicted / measured time per token, median | range | median error | predicted / measured time to first token, median |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(table))
    print("\n| model | system | backend | split | tokens in / out | concurrency | measured ms a token | predicted | ratio | measured ms to the first token | predicted |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(lines))
    for why, ids in refused.items():
        print(f"\nnot predicted, {len(ids)}: {why}")


main()
