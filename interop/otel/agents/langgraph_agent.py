"""A weather agent on LangChain's create_agent (LangGraph) with OpenInference."""

from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from weather import PROMPTS, weather_of

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LangChainInstrumentor().instrument(tracer_provider=provider)


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    try:
        return weather_of(city)
    except ValueError as error:
        raise ToolException(str(error)) from error


get_weather.handle_tool_error = True
agent = create_agent(ChatOpenAI(model="gpt-4o-mini", max_retries=0), [get_weather], system_prompt="You know the weather.")

for prompt in PROMPTS:
    try:
        answer = agent.invoke({"messages": [{"role": "user", "content": prompt}]})
        print(answer["messages"][-1].content)
    except Exception as error:  # the third prompt is refused by the model
        print(f"failed: {type(error).__name__}")
provider.shutdown()
