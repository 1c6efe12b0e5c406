from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from typing import Any

from autogen import ConversableAgent, OpenAIWrapper, register_function
from openai.types.chat import ChatCompletion, ChatCompletionMessage, ChatCompletionMessageToolCall
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_message_tool_call import Function
from openai.types.completion_usage import CompletionUsage

from conformance.world import DONE, Framework, World


class ScriptedClient:
    def __init__(self, config: Any, world: World, **kwargs: Any) -> None:
        self.world = world

    def create(self, params: dict[str, Any]) -> ChatCompletion:
        index, turn = self.world.next_turn(params["messages"])
        calls: list[Any] = [
            ChatCompletionMessageToolCall(
                id=f"c{index}-{n}",
                type="function",
                function=Function(name=use.tool, arguments=json.dumps(use.args)),
            )
            for n, use in enumerate(turn.uses)
        ]
        message = ChatCompletionMessage(role="assistant", content=turn.text, tool_calls=calls or None)
        return ChatCompletion(
            id="x",
            created=0,
            model="scripted",
            object="chat.completion",
            choices=[Choice(finish_reason="stop", index=0, message=message)],
            usage=CompletionUsage(prompt_tokens=10, completion_tokens=5, total_tokens=15),
        )

    def message_retrieval(self, response: ChatCompletion) -> list[Any]:
        message = response.choices[0].message
        return [message] if message.tool_calls else [message.content]

    def cost(self, response: ChatCompletion) -> float:
        return 0

    @staticmethod
    def get_usage(response: ChatCompletion) -> dict[str, Any]:
        return {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cost": 0, "model": "scripted"}


def function_of(method: Callable[..., str], *, is_async: bool) -> Callable[..., Any]:
    """A plain function: the framework notes things on what it registers, which a bound method does not take."""
    if is_async:

        @functools.wraps(method)
        async def afunction(*args: Any, **kwargs: Any) -> str:
            return method(*args, **kwargs)

        return afunction

    @functools.wraps(method)
    def function(*args: Any, **kwargs: Any) -> str:
        return method(*args, **kwargs)

    return function


class ClassicDriver(Framework):
    name = "autogen_classic"
    integration = "autogen"
    source = "autogen"
    modes = ("sync", "async", "async_tools")

    def play(self, world: World, mode: str) -> None:
        config = {
            "config_list": [{"model": "scripted", "model_client_cls": "ScriptedClient"}],
            "cache_seed": None,
        }
        helper = ConversableAgent("helper", llm_config=config, human_input_mode="NEVER")
        user = ConversableAgent(
            "user",
            llm_config=False,
            human_input_mode="NEVER",
            default_auto_reply="go on",
            is_termination_msg=lambda message: DONE in str(message.get("content")),
        )
        for tool in world.tools():
            register_function(
                function_of(tool, is_async=mode == "async_tools"),
                caller=helper,
                executor=user,
                name=tool.__name__,
                description=str(tool.__doc__),
            )
        # Each registered tool makes a new client, so the model comes last.
        helper.register_model_client(model_client_cls=ScriptedClient, world=world)
        try:
            if mode == "async":
                asyncio.run(user.a_initiate_chat(helper, message="go", max_turns=8, silent=True))
            else:
                user.initiate_chat(helper, message="go", max_turns=8, silent=True)
        except Exception as error:  # noqa: BLE001
            world.error = error

    def originals(self) -> list[object]:
        return [ConversableAgent.execute_function, ConversableAgent.a_execute_function, OpenAIWrapper.create]


DRIVER = ClassicDriver()
