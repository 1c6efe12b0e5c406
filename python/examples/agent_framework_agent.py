"""An agent of Microsoft Agent Framework with a scripted chat client."""

import asyncio
from typing import Any

from _tools import look, remove
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)

import agentlens

agentlens.init()


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc, type-arg]
    def __init__(self) -> None:
        super().__init__()
        self.script = iter(
            [
                Content.from_function_call(call_id="1", name="look", arguments={"topic": "tea"}),
                Content.from_function_call(call_id="2", name="remove", arguments={"path": "/data/tea.txt"}),
                Content.from_text("Done."),
            ]
        )

    async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        return ChatResponse(messages=[Message(role="assistant", contents=[next(self.script)])])


response = asyncio.run(Agent(ScriptedClient(), name="example", tools=[look, remove]).run("Tidy up."))
for message in response.messages:
    for content in message.contents:
        print(message.role, getattr(content, "result", None) or getattr(content, "text", None) or content.name)
