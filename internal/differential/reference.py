"""Answer calls of the reference simulator: reads one JSON object a line, {"dir", "call"},
from standard input and writes one line with its report. A call that the reference refuses
gives {"error": "..."}. The call form is that of call.json in a case folder."""
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


def report(call):
    args = dict(call["args"])
    if call["kind"] == "trace":
        out = _core.run_mocker_trace_replay(call["trace_files"], **args)
    else:
        lead = [args.pop(k) for k in ("input_tokens", "output_tokens", "request_count")]
        out = _core.run_mocker_synthetic_trace_replay(*lead, **args)
    return {"summary": dict(out.summary), "per_request": out.per_request, "coverage": out.coverage}


for line in sys.stdin:
    request = json.loads(line)
    try:
        os.chdir(request["dir"])
        answer = report(request["call"])
    except Exception as e:  # the reference raises many types; the message is the answer
        answer = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), file=answers, flush=True)
