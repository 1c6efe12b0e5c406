"""Anthropic's client, which traces by itself, with OpenLLMetry beside it: every call is reported twice."""

from anthropic import Anthropic
from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor

import otel_setup
from weather import PROMPTS, weather_of

TOOL = {
    "name": "get_weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}

tracer, stop = otel_setup.start()
AnthropicInstrumentor().instrument()
client = Anthropic(max_retries=0)
options = {"model": "claude-sonnet-4-5", "max_tokens": 100}

with tracer.start_as_current_span("answer question"):
    messages = [{"role": "user", "content": PROMPTS[0]}]
    while True:
        answer = client.messages.create(**options, messages=messages, tools=[TOOL])
        messages.append({"role": "assistant", "content": [block.model_dump() for block in answer.content]})
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            break
        results = []
        for call in calls:
            try:
                result = weather_of(call.input["city"])
            except ValueError as error:
                result = str(error)
            results.append({"type": "tool_result", "tool_use_id": call.id, "content": result})
        messages.append({"role": "user", "content": results})
with tracer.start_as_current_span("greet"):
    for _ in client.messages.create(**options, messages=[{"role": "user", "content": PROMPTS[1]}], stream=True):
        pass
stop()
