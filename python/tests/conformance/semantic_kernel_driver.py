from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from openai.types.completion_usage import CompletionUsage
from semantic_kernel import Kernel
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai import FunctionChoiceBehavior, PromptExecutionSettings
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.contents import (
    AuthorRole,
    ChatMessageContent,
    FunctionCallContent,
    StreamingChatMessageContent,
    StreamingTextContent,
    TextContent,
)
from semantic_kernel.functions import kernel_function

from conformance.world import Framework, Turn, World


class ScriptedService(ChatCompletionClientBase):
    SUPPORTS_FUNCTION_CALLING = True
    world: Any = None

    def _update_function_choice_settings_callback(self) -> Any:
        return lambda *args, **kwargs: None

    def get_prompt_execution_settings_class(self) -> Any:
        return PromptExecutionSettings

    def service_url(self) -> str | None:
        return None

    def _calls(self, index: int, turn: Turn) -> list[Any]:
        return [
            FunctionCallContent(id=f"c{index}-{n}", name=f"tools-{use.tool}", arguments=json.dumps(use.args), index=n)
            for n, use in enumerate(turn.uses)
        ]

    async def _inner_get_chat_message_contents(self, chat_history: Any, settings: Any) -> list[Any]:
        index, turn = self.world.next_turn(_texts(chat_history))
        items = [TextContent(text=turn.text), *self._calls(index, turn)]
        return [ChatMessageContent(role=AuthorRole.ASSISTANT, items=items, metadata={"usage": USAGE})]

    async def _inner_get_streaming_chat_message_contents(
        self, chat_history: Any, settings: Any, function_invoke_attempt: int = 0
    ) -> AsyncIterator[list[Any]]:
        index, turn = self.world.next_turn(_texts(chat_history))
        items = [StreamingTextContent(text=turn.text, choice_index=0), *self._calls(index, turn)]
        yield [
            StreamingChatMessageContent(
                role=AuthorRole.ASSISTANT,
                choice_index=0,
                items=items,
                metadata={"usage": USAGE},
                function_invoke_attempt=function_invoke_attempt,
            )
        ]


USAGE = CompletionUsage(prompt_tokens=10, completion_tokens=5, total_tokens=15)


def _texts(chat_history: Any) -> list[Any]:
    return [message.to_dict() for message in chat_history.messages]


class SemanticKernelDriver(Framework):
    name = "semantic_kernel"
    integration = "semantic_kernel"
    source = "semantic_kernel"
    modes = ("agent", "stream")

    def play(self, world: World, mode: str) -> None:
        kernel = Kernel()
        kernel.add_service(ScriptedService(ai_model_id="scripted", world=world))
        named = [(tool, {"name": tool.__name__, "description": tool.__doc__}) for tool in world.tools()]
        kernel.add_functions("tools", [kernel_function(_plain(tool), **about) for tool, about in named])
        agent = ChatCompletionAgent(
            kernel=kernel, name="helper", function_choice_behavior=FunctionChoiceBehavior.Auto()
        )
        try:
            asyncio.run(_ask(agent) if mode == "agent" else _stream(agent))
        except Exception as error:  # noqa: BLE001
            world.error = error

    def originals(self) -> list[object]:
        return [Kernel.__init__, ChatCompletionAgent.get_response, ScriptedService._inner_get_chat_message_contents]


def _plain(method: Any) -> Any:
    """A plain function: the framework notes things on what it is given, which a bound method does not take."""
    import functools

    @functools.wraps(method)
    def function(*args: Any, **kwargs: Any) -> str:
        return str(method(*args, **kwargs))

    return function


async def _ask(agent: Any) -> None:
    await agent.get_response("go")


async def _stream(agent: Any) -> None:
    async for _ in agent.invoke_stream("go"):
        pass


DRIVER = SemanticKernelDriver()
