#!/usr/bin/env bash
# Versions: PyPI openinference-instrumentation-agno 1.0.15, openinference-instrumentation-anthropic 3.1.0, agno 3.1.10,
#   anthropic 2.14.0, opentelemetry-sdk 1.45.2.
# Expected: `llm.token_count.prompt` has one meaning in the instrumentations of one project: the whole prompt, with the
#   cached tokens that the `prompt_details` count.
# Seen: both instrumentations in one process report one call of Claude (10 new, 900 read and 90 written tokens) with the
#   same details, but one says a prompt of 1000 and the other one of 10. A consumer that sums up prompts is wrong with
#   either meaning.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openinference-instrumentation-agno==1.0.15 \
  openinference-instrumentation-anthropic==3.1.0 agno==3.1.10 anthropic==2.14.0 opentelemetry-sdk==1.45.2
cat > ask.py <<'PY'
import json, os, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["AGNO_TELEMETRY"] = "false"
ANSWER = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
          "stop_sequence": None, "content": [{"type": "text", "text": "ok"}],
          "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90}}


class Model(BaseHTTPRequestHandler):
    def log_message(self, *args): pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()

import anthropic
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)

from openinference.instrumentation.agno import AgnoInstrumentor
from openinference.instrumentation.anthropic import AnthropicInstrumentor

AgnoInstrumentor().instrument()
AnthropicInstrumentor().instrument()

from agno.agent import Agent
from agno.models.anthropic import Claude

client = anthropic.Anthropic(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}")
Agent(name="a", model=Claude(id="claude-sonnet-4-5", client=client)).run("hi")
PARTS = ("prompt", "prompt_details.cache_read", "prompt_details.cache_write")
for span in spans.get_finished_spans():
    counts = [span.attributes.get(f"llm.token_count.{part}") for part in PARTS]
    if counts[0] is not None:
        print(span.instrumentation_scope.name.rsplit(".", 1)[-1], *counts)
PY
seen=$(venv/bin/python ask.py 2>/dev/null | sort | paste -sd, -)
echo "seen: $seen"
[ "$seen" = "agno 10 900 90,anthropic 1000 900 90" ]
