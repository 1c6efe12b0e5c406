from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionClient, CreateResult, ModelFamily, RequestUsage
from autogen_core.tools import BaseTool, FunctionTool

from conformance.world import DONE, Framework, World


class ScriptedClient(ChatCompletionClient):
    def __init__(self, world: World) -> None:
        self.world = world

    def _result(self, messages: Any) -> CreateResult:
        index, turn = self.world.next_turn(messages)
        calls = [
            FunctionCall(id=f"c{index}-{n}", name=use.tool, arguments=json.dumps(use.args))
            for n, use in enumerate(turn.uses)
        ]
        return CreateResult(
            finish_reason="function_calls" if calls else "stop",
            content=calls or turn.text,
            usage=RequestUsage(prompt_tokens=10, completion_tokens=5),
            cached=False,
        )

    async def create(self, messages: Any, **kwargs: Any) -> CreateResult:
        return self._result(messages)

    async def create_stream(self, messages: Any, **kwargs: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        yield self._result(messages)

    async def close(self) -> None:
        pass

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    def total_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    def count_tokens(self, messages: Any, **kwargs: Any) -> int:
        return 0

    def remaining_tokens(self, messages: Any, **kwargs: Any) -> int:
        return 1_000

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> Any:
        return {
            "vision": False,
            "function_calling": True,
            "json_output": False,
            "family": ModelFamily.UNKNOWN,
            "structured_output": False,
        }


class AgentChatDriver(Framework):
    name = "autogen_agentchat"
    integration = "autogen"
    source = "autogen_agentchat"
    modes = ("agent", "stream", "team")

    def play(self, world: World, mode: str) -> None:
        agent = AssistantAgent(
            "helper",
            ScriptedClient(world),
            tools=[FunctionTool(tool, description=str(tool.__doc__)) for tool in world.tools()],
            model_client_stream=mode == "stream",
            reflect_on_tool_use=False,
            max_tool_iterations=6,
        )
        try:
            if mode == "agent":
                asyncio.run(_run(agent))
            elif mode == "stream":
                asyncio.run(_stream(agent))
            else:
                ends = TextMentionTermination(DONE) | MaxMessageTermination(12)
                asyncio.run(_run(RoundRobinGroupChat([agent], termination_condition=ends)))
        except Exception as error:  # noqa: BLE001
            world.error = error

    def originals(self) -> list[object]:
        return [BaseTool.run_json, AssistantAgent.run, ScriptedClient.create]


async def _run(agent: Any) -> None:
    await agent.run(task="go")


async def _stream(agent: Any) -> None:
    async for _ in agent.run_stream(task="go"):
        pass


DRIVER = AgentChatDriver()
