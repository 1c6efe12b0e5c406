"""The conversations of the other agents, by hand on OpenAI's client; the instrumentation is the caller's matter."""

import json

from openai import OpenAI

from weather import PROMPTS, weather_of

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def run(tracer) -> None:
    client = OpenAI(max_retries=0)
    with tracer.start_as_current_span("answer question"):
        messages = [{"role": "user", "content": PROMPTS[0]}]
        while True:
            answer = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=[TOOL])
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                try:
                    result = weather_of(json.loads(call.function.arguments)["city"])
                except ValueError as error:
                    result = str(error)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    with tracer.start_as_current_span("greet"):
        options = {"stream": True, "stream_options": {"include_usage": True}}
        for _ in client.chat.completions.create(
            model="gpt-4o-mini", messages=[{"role": "user", "content": PROMPTS[1]}], **options
        ):
            pass
    with tracer.start_as_current_span("refused"):
        try:
            client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": PROMPTS[2]}])
        except Exception as error:
            print(f"failed: {type(error).__name__}")
