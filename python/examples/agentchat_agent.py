"""An agent of autogen-agentchat with its replay model."""

import asyncio
import json

from _tools import look, remove
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

import agentlens

agentlens.init()


def use(call_id: str, name: str, **args: str) -> CreateResult:
    call = FunctionCall(id=call_id, name=name, arguments=json.dumps(args))
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    return CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)


info = {
    "vision": False,
    "function_calling": True,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}
script = [use("1", "look", topic="tea"), use("2", "remove", path="/data/tea.txt"), "Done."]
model = ReplayChatCompletionClient(script, model_info=info)  # type: ignore[arg-type]
agent = AssistantAgent("helper", model, tools=[look, remove], max_tool_iterations=5)
for message in asyncio.run(agent.run(task="Tidy up.")).messages:
    print(type(message).__name__, getattr(message, "content", ""))
