#!/usr/bin/env bash
# Versions: PyPI litellm 1.110.2, opentelemetry-sdk 1.45.2.
# Expected: LiteLLM's own OpenTelemetry callback names the operation of a chat completion as the GenAI conventions do
#   (`chat`), whichever function of LiteLLM makes the call.
# Seen: `completion()` is `chat`, but `acompletion()` with the same arguments is `acompletion`, and `aresponses()` is
#   `aresponses`: a consumer that selects inference spans by their operation sees only the synchronous calls.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check litellm==1.110.2 opentelemetry-sdk==1.45.2
cat > ask.py <<'PY'
import asyncio, json, os, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
USAGE = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "prompt_tokens": 10, "completion_tokens": 5}
CHAT = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-4o", "usage": USAGE,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]}
ITEM = {"id": "m1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "ok", "annotations": []}]}
RESPONSE = {"id": "r1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-4o", "output": [ITEM],
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": USAGE}


class Model(BaseHTTPRequestHandler):
    def log_message(self, *args): pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(RESPONSE if self.path.endswith("/responses") else CHAT).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()

import litellm
from litellm.integrations.opentelemetry import OpenTelemetry, OpenTelemetryConfig
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans = InMemorySpanExporter()
litellm.callbacks = [OpenTelemetry(config=OpenTelemetryConfig(exporter=spans))]
about = {"model": "openai/gpt-4o", "api_base": f"http://127.0.0.1:{server.server_port}/v1", "api_key": "none"}
question = [{"role": "user", "content": "hi"}]


def names():
    return [span.attributes["gen_ai.operation.name"] for span in spans.get_finished_spans() if span.name == "litellm_request"]


async def ask():
    await litellm.acompletion(messages=question, **about)
    await litellm.aresponses(input="hi", **about)
    for _ in range(100):
        if len(names()) >= 3: return
        await asyncio.sleep(0.1)


litellm.completion(messages=question, **about)
asyncio.run(ask())
print(" ".join(names()))
PY
seen=$(venv/bin/python ask.py 2>/dev/null | tail -1)
echo "seen: $seen"
[ "$seen" = "chat acompletion aresponses" ]
