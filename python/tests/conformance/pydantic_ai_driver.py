from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

from conformance.world import Framework, World


class PydanticAiDriver(Framework):
    name = "pydantic_ai"
    integration = "pydantic_ai"
    source = "pydantic_ai"
    modes = ("sync", "async", "stream")
    estimating = ("stream",)

    def play(self, world: World, mode: str) -> None:
        def answer(messages: Any, info: Any) -> ModelResponse:
            index, turn = world.next_turn(messages)
            calls = [ToolCallPart(use.tool, use.args, f"c{index}-{n}") for n, use in enumerate(turn.uses)]
            return ModelResponse([TextPart(turn.text), *calls], usage=RequestUsage(input_tokens=10, output_tokens=5))

        async def stream(messages: Any, info: Any) -> AsyncIterator[Any]:
            import json

            index, turn = world.next_turn(messages)
            yield turn.text
            for n, use in enumerate(turn.uses):
                yield {n + 1: DeltaToolCall(use.tool, json.dumps(use.args), tool_call_id=f"c{index}-{n}")}

        agent = Agent(FunctionModel(answer, stream_function=stream), name="helper", tools=world.tools())
        try:
            if mode == "sync":
                agent.run_sync("go")
            elif mode == "async":
                asyncio.run(agent.run("go"))
            else:
                asyncio.run(_stream(agent))
        except Exception as error:  # noqa: BLE001
            world.error = error

    def originals(self) -> list[object]:
        return [Agent.__init__]


async def _stream(agent: Any) -> None:
    async with agent.run_stream_events("go") as events:
        async for _ in events:
            pass


DRIVER = PydanticAiDriver()
