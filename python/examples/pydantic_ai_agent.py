"""A pydantic-ai agent with a scripted model."""

from _tools import look, remove
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

import agentlens

agentlens.init()

script = iter(
    [
        ModelResponse([ToolCallPart("look", {"topic": "tea"})]),
        ModelResponse([ToolCallPart("remove", {"path": "/data/tea.txt"})]),
        ModelResponse([TextPart("Done.")]),
    ]
)
agent = Agent(FunctionModel(lambda messages, info: next(script)), name="example", tools=[look, remove])
for message in agent.run_sync("Tidy up.").all_messages():
    for part in message.parts:
        print(part.part_kind, getattr(part, "content", ""))
