from __future__ import annotations

import asyncio
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool
from langchain_core.tools.base import BaseTool

from conformance.world import Framework, Turn, World


class ScriptedModel(BaseChatModel):
    world: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_said(AIMessage, *self.world.next_turn(messages)))])


class StreamingModel(ScriptedModel):
    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        yield ChatGenerationChunk(message=_said(AIMessageChunk, *self.world.next_turn(messages)))


def _said(kind: Any, index: int, turn: Turn) -> Any:
    calls = [{"name": use.tool, "args": use.args, "id": f"c{index}-{n}"} for n, use in enumerate(turn.uses)]
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    if kind is AIMessageChunk:
        import json

        chunks = [{**call, "args": json.dumps(call["args"]), "index": n} for n, call in enumerate(calls)]
        return AIMessageChunk(content=turn.text, tool_call_chunks=chunks, usage_metadata=usage)
    return AIMessage(content=turn.text, tool_calls=calls, usage_metadata=usage)


class LangChainDriver(Framework):
    name = "langchain"
    integration = "langchain"
    source = "langchain"
    modes = ("sync", "async", "stream", "astream", "middleware", "amiddleware")

    def play(self, world: World, mode: str) -> None:
        model = (StreamingModel if "stream" in mode else ScriptedModel)(world=world)
        middleware = []
        if "middleware" in mode:
            from agentlens.integrations.langchain import AgentLensMiddleware

            middleware = [AgentLensMiddleware()]
        tools = [StructuredTool.from_function(tool) for tool in world.tools()]
        agent = create_agent(model, tools=tools, middleware=middleware)
        asked = {"messages": [{"role": "user", "content": "go"}]}
        try:
            if mode in ("sync", "middleware"):
                agent.invoke(asked)
            elif mode == "stream":
                list(agent.stream(asked, stream_mode="messages"))
            elif mode == "astream":
                asyncio.run(_drain(agent.astream(asked, stream_mode="messages")))
            else:
                asyncio.run(agent.ainvoke(asked))
        except Exception as error:  # noqa: BLE001
            world.error = error

    def originals(self) -> list[object]:
        return [BaseTool.run, BaseTool.arun]


async def _drain(stream: Any) -> None:
    async for _ in stream:
        pass


DRIVER = LangChainDriver()
