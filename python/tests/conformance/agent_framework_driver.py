from __future__ import annotations

import asyncio
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

from conformance.world import Framework, Turn, World


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc, type-arg]
    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.model = "scripted"

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        if stream:
            return ResponseStream(self._updates(messages), finalizer=ChatResponse.from_updates)
        return self._response(messages)

    def _said(self, messages: Any) -> tuple[int, Turn]:
        return self.world.next_turn([message.to_dict() for message in messages])

    async def _response(self, messages: Any) -> ChatResponse:
        said = _contents(*self._said(messages))
        return ChatResponse(messages=[Message(role="assistant", contents=said)], usage_details=USAGE)

    async def _updates(self, messages: Any) -> Any:
        said = _contents(*self._said(messages))
        yield ChatResponseUpdate(role="assistant", contents=[*said, Content.from_usage(USAGE)])


USAGE: Any = {"input_token_count": 10, "output_token_count": 5, "total_token_count": 15}


def _contents(index: int, turn: Turn) -> list[Any]:
    calls = [
        Content.from_function_call(call_id=f"c{index}-{n}", name=use.tool, arguments=dict(use.args))
        for n, use in enumerate(turn.uses)
    ]
    return [Content.from_text(turn.text), *calls]


class AgentFrameworkDriver(Framework):
    name = "agent_framework"
    integration = "agent_framework"
    source = "agent_framework"
    modes = ("async", "stream")

    def play(self, world: World, mode: str) -> None:
        agent = Agent(ScriptedClient(world), name="helper", tools=world.tools())
        try:
            asyncio.run(_run(agent) if mode == "async" else _stream(agent))
        except Exception as error:  # noqa: BLE001
            world.error = error

    def originals(self) -> list[object]:
        return [Agent.__init__]


async def _run(agent: Any) -> None:
    await agent.run("go")


async def _stream(agent: Any) -> None:
    async for _ in agent.run("go", stream=True):
        pass


DRIVER = AgentFrameworkDriver()
