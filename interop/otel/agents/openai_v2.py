"""OpenAI's client with OpenTelemetry's own instrumentation."""

from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

import chat_loop
import otel_setup

tracer, stop = otel_setup.start()
OpenAIInstrumentor().instrument()
chat_loop.run(tracer)
stop()
