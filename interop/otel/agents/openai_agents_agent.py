"""A weather agent on the OpenAI Agents SDK with OpenInference."""

from agents import Agent, Runner, function_tool
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from weather import PROMPTS, weather_of

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return weather_of(city)


agent = Agent(name="weather", instructions="You know the weather.", model="gpt-4o-mini", tools=[get_weather])

for prompt in PROMPTS:
    try:
        print(Runner.run_sync(agent, prompt).final_output)
    except Exception as error:  # the third prompt is refused by the model
        print(f"failed: {type(error).__name__}")
provider.shutdown()
