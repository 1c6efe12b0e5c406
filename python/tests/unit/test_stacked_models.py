"""A model that stands on another one is one call, however it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentlens.testing import TestServer


@pytest.fixture
def server() -> TestServer:
    server = TestServer()
    server.client()
    return server


def calls(server: TestServer) -> int:
    asked, answered = server.events_of("llm_call"), server.events_of("llm_response")
    assert len(asked) == len(answered)
    return len(asked)


async def drained(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def test_a_reader_may_call_another_model_between_the_items_of_a_stream() -> None:
    from agentlens.integrations.base import StackedModels

    models = StackedModels("test")
    seen: list[bool] = []

    async def stream() -> AsyncIterator[int]:
        for item in range(2):
            seen.append(models.inside)
            yield item

    async def read() -> None:
        async for _ in models.stream(stream):
            seen.append(models.inside)

    asyncio.run(read())
    assert seen == [True, False, True, False]


def test_agentchat_counts_a_cache_before_a_client_once(server: TestServer) -> None:
    pytest.importorskip("autogen_agentchat")
    from autogen_core.models import CreateResult, RequestUsage, UserMessage

    from agentlens.integrations.autogen.agentchat import _Plugin

    answer = CreateResult(
        finish_reason="stop", content="hi", usage=RequestUsage(prompt_tokens=10, completion_tokens=5), cached=False
    )
    plugin = _Plugin()

    class Client:
        model = "m"

        async def create(self, messages: Any) -> Any:
            return answer

        async def create_stream(self, messages: Any) -> AsyncIterator[Any]:
            yield answer

    class Cache(Client):
        async def create(self, messages: Any) -> Any:
            return await super().create(messages)

        async def create_stream(self, messages: Any) -> AsyncIterator[Any]:
            async for item in super().create_stream(messages):
                yield item

    for kind in (Client, Cache):
        kind.create = plugin.create(kind.create)  # type: ignore[method-assign]
        kind.create_stream = plugin.create_stream(kind.create_stream)  # type: ignore[method-assign]
    messages = [UserMessage(content="hello", source="user")]
    asyncio.run(Cache().create(messages))
    assert calls(server) == 1
    assert asyncio.run(drained(Cache().create_stream(messages))) == [answer]
    assert calls(server) == 2


def test_semantic_kernel_counts_a_service_that_calls_its_parent_once(server: TestServer) -> None:
    pytest.importorskip("semantic_kernel")
    from semantic_kernel.contents import AuthorRole, ChatHistory, ChatMessageContent

    from agentlens.integrations.semantic_kernel import SemanticKernelPlugin

    answer = [ChatMessageContent(role=AuthorRole.ASSISTANT, content="hi")]
    plugin = SemanticKernelPlugin()

    class Service:
        ai_model_id = "m"

        async def one(self, history: Any, settings: Any) -> Any:
            return answer

        async def stream(self, history: Any, settings: Any) -> AsyncIterator[Any]:
            yield answer

    class Child(Service):
        async def one(self, history: Any, settings: Any) -> Any:
            return await super().one(history, settings)

        async def stream(self, history: Any, settings: Any) -> AsyncIterator[Any]:
            async for item in super().stream(history, settings):
                yield item

    for kind in (Service, Child):
        kind.one = plugin.inner(kind.one)  # type: ignore[method-assign]
        kind.stream = plugin.inner_stream(kind.stream)  # type: ignore[method-assign]
    asyncio.run(Child().one(ChatHistory(), None))
    asyncio.run(drained(Child().stream(ChatHistory(), None)))
    assert calls(server) == 2


def test_openai_agents_counts_a_model_behind_another_once(server: TestServer) -> None:
    pytest.importorskip("agents")
    from agentlens.integrations.openai_agents import _Plugin

    plugin = _Plugin()

    class Inner:
        model = "m"

        async def stream_response(self, system: Any, given: Any) -> AsyncIterator[Any]:
            yield object()

    class Outer(Inner):
        async def stream_response(self, system: Any, given: Any) -> AsyncIterator[Any]:
            async for item in super().stream_response(system, given):
                yield item

    for kind in (Inner, Outer):
        kind.stream_response = plugin.stream_response(kind.stream_response)  # type: ignore[method-assign]
    assert len(asyncio.run(drained(Outer().stream_response(None, "hello")))) == 1
    assert calls(server) == 1
