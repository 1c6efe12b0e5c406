"""OpenAI's client with OpenLLMetry."""

from opentelemetry.instrumentation.openai import OpenAIInstrumentor

import chat_loop
import otel_setup

tracer, stop = otel_setup.start()
OpenAIInstrumentor().instrument()
chat_loop.run(tracer)
stop()
