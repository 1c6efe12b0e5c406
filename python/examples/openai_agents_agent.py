"""An agent of OpenAI Agents with a scripted model."""

import json
from typing import Any

from _tools import look, remove
from agents import Agent, Runner, Usage, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import agentlens

agentlens.init()
set_tracing_disabled(True)


def use(call_id: str, name: str, **args: str) -> Any:
    return ResponseFunctionToolCall(call_id=call_id, name=name, arguments=json.dumps(args), type="function_call")


class ScriptedModel(Model):
    def __init__(self) -> None:
        text = ResponseOutputText(text="Done.", type="output_text", annotations=[])
        done = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        self.script = iter([use("1", "look", topic="tea"), use("2", "remove", path="/data/tea.txt"), done])

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return ModelResponse(output=[next(self.script)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


agent = Agent(name="example", model=ScriptedModel(), tools=[function_tool(look), function_tool(remove)])
for item in Runner.run_sync(agent, "Tidy up.").to_input_list():
    print(item.get("output") or item.get("content") or item.get("name"))
