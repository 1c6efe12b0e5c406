"""A weather agent on Pydantic AI, instrumented as its documentation says: Logfire's SDK, exporting over plain OTLP."""

import os

import logfire
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from weather import PROMPTS, weather_of

logfire.configure(send_to_logfire=False, console=False, metrics=False)
logfire.instrument_pydantic_ai()

model = OpenAIChatModel(
    "gpt-4o-mini", provider=OpenAIProvider(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
)
agent = Agent(model, name="weather", system_prompt="You know the weather.")


@agent.tool_plain(retries=2)
def get_weather(city: str) -> str:
    """The weather of a city."""
    try:
        return weather_of(city)
    except ValueError as error:
        raise ModelRetry(str(error)) from error


for prompt in PROMPTS:
    try:
        print(agent.run_sync(prompt).output)
    except Exception as error:  # the third prompt is refused by the model
        print(f"failed: {type(error).__name__}")
logfire.force_flush()
