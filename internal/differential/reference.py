"""Answer calls of the reference simulator: reads one JSON object a line, {"dir", "call"},
from standard input and writes one line with its report. A call that the reference refuses
gives {"error": "..."}. The call form is that of call.json in a case folder."""
import importlib.machinery
import importlib.util
import json
import os
import sys

os.environ.setdefault("DYN_LOG", "error")  # the reference logs every decision otherwise
# What the reference prints must not mix with the answers.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

try:
    from dynamo import _core
except ImportError as e:
    print(json.dumps({"missing": str(e)}), file=answers, flush=True)
    sys.exit(1)
print(json.dumps({"ready": True}), file=answers, flush=True)


def second_entry():
    loader = importlib.machinery.ExtensionFileLoader("_runtime", _core.__file__)
    spec = importlib.util.spec_from_file_location("_runtime", _core.__file__, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module.run_replay_json


class Scripted:
    """The scaling policy of a scaling_plan; ticks holds the snapshots it was given."""

    def __init__(self, plan):
        self.plan, self.ticks = plan, []

    def initial_tick_ms(self):
        return float(self.plan["first_ms"])

    def on_tick(self, snapshot):
        self.ticks.append(snapshot)
        answer = {"target_prefill": None, "target_decode": None, "next_tick_ms": snapshot["now_ms"] + self.plan["every_ms"]}
        answer.update(self.plan.get("ticks", {}).get(str(snapshot["tick_ordinal"]), {}))
        return answer


def passes(call):
    """The times of passes, an error in the place of each that is refused."""
    from aisimulate_core.sdk import RustForwardPassPerfModel

    model = RustForwardPassPerfModel.best_available({"worker_type": "aggregated", "estimation_mode": "op_level", **call["config"]})

    def ask(**scheduled):
        try:
            return model.estimate_forward_pass_time_ms({"scheduled_requests": scheduled})
        except Exception as e:
            return {"error": f"{type(e).__name__}: {e}"}

    return {
        "prefill_ms": [ask(num_prefill_requests=b, sum_prefill_tokens=b * n, sum_prefill_kv_tokens=b * p) for b, n, p in call["prefill"]],
        "decode_ms": [ask(num_decode_requests=b, sum_decode_kv_tokens=b * c) for b, c in call["decode"]],
        "mixed_ms": [
            ask(num_prefill_requests=a, sum_prefill_tokens=b, sum_prefill_kv_tokens=c, num_decode_requests=d, sum_decode_kv_tokens=e)
            for a, b, c, d, e in call["mixed"]
        ],
    }


def blocks(call):
    """The KV blocks of workers."""
    from aisimulate.capacity import estimate_num_gpu_blocks

    fraction = {"vllm": "gpu_memory_utilization", "sglang": "mem_fraction_static", "trtllm": "free_gpu_memory_fraction"}
    out = []
    for q in call["queries"]:
        more = {k: q[k] for k in ("moe_tp_size", "moe_ep_size", "attention_dp_size", "pp_size", "cuda_graph_reserved_bytes") if k in q}
        if "memory_fraction" in q:
            more[fraction[q["backend"]]] = q["memory_fraction"]
        try:
            out.append(estimate_num_gpu_blocks(
                backend_name=q["backend"], system=q["system"], model_path=q["model"], tp_size=q["tp"], block_size=q["block_size"],
                max_num_batched_tokens=q["max_batched_tokens"], max_num_sequences=256, **more))
        except Exception as e:
            out.append({"error": f"{type(e).__name__}: {e}"})
    return {"blocks": out}


def report(call):
    if call["kind"] == "spec":
        out = json.loads(second_entry()(json.dumps(call["payload"])))
        per_request = out.pop("per_request", None)
        return {"summary": out, "per_request": per_request}
    if call["kind"] == "forward_pass":
        return passes(call)
    if call["kind"] == "kv_blocks":
        return blocks(call)
    args = dict(call["args"])
    if call.get("router_config") is not None:
        args["router_config"] = _core.KvRouterConfig(**call["router_config"])
    if call.get("scaling_plan") is not None:
        args["scaling_policy"] = Scripted(call["scaling_plan"])
    if call["kind"] == "trace":
        out = _core.run_mocker_trace_replay(call["trace_files"], **args)
    else:
        lead = [args.pop(k) for k in ("input_tokens", "output_tokens", "request_count")]
        out = _core.run_mocker_synthetic_trace_replay(*lead, **args)
    answer = {"summary": dict(out.summary), "per_request": out.per_request, "coverage": out.coverage, "telemetry": out.telemetry}
    if "scaling_policy" in args:
        operations = [dict(op) for op in out.lifecycle_operations]
        for op in operations:
            # The ids of released requests are random; their number is not.
            op["topology_released_request_count"] = len(op.pop("topology_released_request_uuids"))
        answer.update(lifecycle_operations=operations, ticks=args["scaling_policy"].ticks)
    return answer


for line in sys.stdin:
    request = json.loads(line)
    try:
        os.chdir(request["dir"])
        answer = report(request["call"])
    except Exception as e:  # the reference raises many types; the message is the answer
        answer = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), file=answers, flush=True)
