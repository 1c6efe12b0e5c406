"""An agent of Semantic Kernel with a scripted chat service."""

import asyncio
import json
from typing import Any

import _tools
from semantic_kernel import Kernel
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai import FunctionChoiceBehavior, PromptExecutionSettings
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.contents import AuthorRole, ChatMessageContent, FunctionCallContent, TextContent
from semantic_kernel.functions import kernel_function

import agentlens

agentlens.init()


def use(call_id: str, name: str, **args: str) -> FunctionCallContent:
    return FunctionCallContent(id=call_id, name=f"tools-{name}", arguments=json.dumps(args))


SCRIPT = iter([use("1", "look", topic="tea"), use("2", "remove", path="/data/tea.txt"), TextContent(text="Done.")])


class ScriptedService(ChatCompletionClientBase):
    SUPPORTS_FUNCTION_CALLING = True

    def _update_function_choice_settings_callback(self) -> Any:
        return lambda *args, **kwargs: None

    def get_prompt_execution_settings_class(self) -> Any:
        return PromptExecutionSettings

    async def _inner_get_chat_message_contents(self, chat_history: Any, settings: Any) -> list[Any]:
        last = chat_history.messages[-1]
        print(*[getattr(item, "result", last.content) for item in last.items])
        return [ChatMessageContent(role=AuthorRole.ASSISTANT, items=[next(SCRIPT)])]


kernel = Kernel()
kernel.add_service(ScriptedService(ai_model_id="scripted"))
functions = [kernel_function(_tools.look, name="look"), kernel_function(_tools.remove, name="remove")]
kernel.add_functions("tools", functions)
agent = ChatCompletionAgent(kernel=kernel, name="example", function_choice_behavior=FunctionChoiceBehavior.Auto())
print(asyncio.run(agent.get_response("Tidy up.")))
