from __future__ import annotations

import asyncio
import json
from typing import Any

from ag2 import Agent
from ag2.config import LLMClient, ModelConfig
from ag2.events import ModelMessage, ModelResponse, ToolCallEvent, ToolCallsEvent, Usage

from conformance.world import Framework, World


class ScriptedClient(LLMClient):
    def __init__(self, world: World) -> None:
        self.world = world

    async def __call__(self, messages: Any, context: Any, **kwargs: Any) -> ModelResponse:
        index, turn = self.world.next_turn(_shown(messages))
        calls = [
            ToolCallEvent(id=f"c{index}-{n}", name=use.tool, arguments=json.dumps(use.args))
            for n, use in enumerate(turn.uses)
        ]
        usage = Usage(prompt_tokens=10, completion_tokens=5, total_tokens=15)
        return ModelResponse(ModelMessage(turn.text), tool_calls=ToolCallsEvent(calls), usage=usage)


def _shown(messages: Any) -> str:
    """Events print a long text shortened, so the texts of results follow in full."""
    results = [getattr(message, "result", None) for message in messages]
    texts = [getattr(part, "content", "") for result in results for part in getattr(result, "parts", ())]
    return f"{messages} {texts}"


class ScriptedConfig(ModelConfig):
    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def provider(self) -> Any:
        return "scripted"

    @property
    def model(self) -> str:
        return "scripted"

    def copy(self) -> Any:
        return self

    def create(self) -> Any:
        return ScriptedClient(self.world)

    def create_files_client(self) -> Any:
        raise NotImplementedError


class Ag2Driver(Framework):
    name = "ag2"
    integration = "autogen"
    source = "ag2"
    modes = ("async",)

    def play(self, world: World, mode: str) -> None:
        agent = Agent("helper", config=ScriptedConfig(world), tools=world.tools())
        try:
            asyncio.run(_ask(agent))
        except Exception as error:  # noqa: BLE001
            world.error = error

    def originals(self) -> list[object]:
        return [Agent.__init__]


async def _ask(agent: Any) -> None:
    await agent.ask("go")


DRIVER = Ag2Driver()
