from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.agent import AgentBase
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.run import AgentRunner
from agents.usage import Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails, ResponseUsage

from conformance.world import Framework, World

set_tracing_disabled(True)


class ScriptedModel(Model):
    def __init__(self, world: World) -> None:
        self.world = world

    def _output(self, asked: Any) -> list[Any]:
        index, turn = self.world.next_turn(asked)
        text = ResponseOutputText(text=turn.text, type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id=f"m{index}", content=[text], role="assistant", status="completed", type="message"
        )
        calls = [
            ResponseFunctionToolCall(
                call_id=f"c{index}-{n}", name=use.tool, arguments=json.dumps(use.args), type="function_call"
            )
            for n, use in enumerate(turn.uses)
        ]
        return [message, *calls]

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        usage = Usage(requests=1, input_tokens=10, output_tokens=5, total_tokens=15)
        return ModelResponse(output=self._output(input), usage=usage, response_id=None)

    async def stream_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        usage = ResponseUsage(
            input_tokens=10,
            output_tokens=5,
            total_tokens=15,
            input_tokens_details=InputTokensDetails.model_construct(cached_tokens=0),
            output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
        )
        response = Response(
            id="r",
            created_at=0,
            model="scripted",
            object="response",
            output=self._output(input),
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
            usage=usage,
        )
        yield ResponseCompletedEvent(response=response, type="response.completed", sequence_number=0)


class OpenAiAgentsDriver(Framework):
    name = "openai_agents"
    integration = "openai_agents"
    source = "openai_agents"
    modes = ("sync", "async", "stream")

    def play(self, world: World, mode: str) -> None:
        tools = [function_tool(tool) for tool in world.tools()]
        agent = Agent(name="helper", model=ScriptedModel(world), tools=tools)
        try:
            if mode == "sync":
                Runner.run_sync(agent, "go")
            elif mode == "async":
                asyncio.run(Runner.run(agent, "go"))
            else:
                asyncio.run(_stream(agent))
        except Exception as error:  # noqa: BLE001
            world.error = error

    def originals(self) -> list[object]:
        return [AgentBase.get_all_tools, AgentRunner.run, ScriptedModel.get_response]


async def _stream(agent: Any) -> None:
    result = Runner.run_streamed(agent, "go")
    async for _ in result.stream_events():
        pass


DRIVER = OpenAiAgentsDriver()
