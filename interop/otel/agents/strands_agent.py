"""A weather agent on Strands Agents, which traces by itself."""

import os

from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.telemetry import StrandsTelemetry

from weather import PROMPTS, weather_of

telemetry = StrandsTelemetry().setup_otlp_exporter()


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return weather_of(city)


model = OpenAIModel(
    client_args={"base_url": os.environ["OPENAI_BASE_URL"], "api_key": "none", "max_retries": 0}, model_id="gpt-4o-mini"
)
for prompt in PROMPTS:
    try:
        Agent(name="weather", model=model, tools=[get_weather], callback_handler=None)(prompt)
    except Exception as error:  # the third prompt is refused by the model
        print(f"failed: {type(error).__name__}")
telemetry.tracer_provider.force_flush()
