"""
autogen-agentchat 0.7. Tools are guarded at `BaseTool.run_json` and `BaseStreamTool.run_json_stream`, models in their
own class. A tool may only raise plain exceptions here; otherwise the agent would wait for its result forever.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, ClassVar

from agentlens.calls import ModelAnswer, ModelCall, ToolCall, ours
from agentlens.decision import Decision
from agentlens.errors import ToolBlocked
from agentlens.integrations.base import BaseFrameworkPlugin, StackedModels
from agentlens.integrations.patching import Patches
from agentlens.model_calls import Usage

_patches = Patches()
_models = StackedModels("agentchat")


class _Plugin(BaseFrameworkPlugin):
    framework_name: ClassVar[str] = "autogen_agentchat"
    distribution: ClassVar[str | None] = "autogen-agentchat"

    def run_json(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(tool: Any, args: Any, cancellation_token: Any, call_id: str | None = None) -> Any:
            call = self._call(tool, args, call_id, "agentchat.run_json")
            return await self.acall_tool(
                call, lambda decided: original(tool, decided, cancellation_token, call_id=call_id), _refuse
            )

        return guarded

    def run_json_stream(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(tool: Any, args: Any, cancellation_token: Any, call_id: str | None = None) -> AsyncIterator[Any]:
            call = self._call(tool, args, call_id, "agentchat.run_json_stream")
            return self.stream_tool(
                call, lambda decided: original(tool, decided, cancellation_token, call_id=call_id), _refuse
            )

        return guarded

    def _call(self, tool: Any, args: Any, call_id: str | None, seam: str) -> ToolCall:
        return ToolCall(tool.name, dict(args), seam, call_id=call_id, source=self.source("tool"))

    def run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(agent: Any, *args: Any, **kwargs: Any) -> Any:
            self.guard_models()
            async with self.aroot_run(getattr(agent, "name", None)):
                return await original(agent, *args, **kwargs)

        return guarded

    def run_stream(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(agent: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            self.guard_models()
            return self.stream_run(lambda: original(agent, *args, **kwargs), getattr(agent, "name", None))

        return guarded

    def guard_models(self) -> None:
        """Every class of model clients that exists so far."""
        from autogen_core.models import ChatCompletionClient

        with ours("guarding models"):
            for client in _subclasses(ChatCompletionClient):
                if "create" in vars(client):
                    _patches.add(client, "create", self.create)
                if "create_stream" in vars(client):
                    _patches.add(client, "create_stream", self.create_stream)

    def create(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(client: Any, messages: Any, *args: Any, **kwargs: Any) -> Any:
            if _models.inside:
                return await original(client, messages, *args, **kwargs)
            call = self._model_call(client, messages)
            return await self.acall_model(
                call, lambda: _models.call(lambda: original(client, messages, *args, **kwargs)), _answer
            )

        return guarded

    def create_stream(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(client: Any, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            if _models.inside:
                return original(client, messages, *args, **kwargs)
            call = self._model_call(client, messages)
            return self.stream_model(
                call,
                lambda: _models.stream(lambda: original(client, messages, *args, **kwargs)),
                lambda items: _answer(items[-1]) if items else ModelAnswer(),
            )

        return guarded

    def _model_call(self, client: Any, messages: Any) -> ModelCall:
        messages = [
            {"role": type(item).__name__.removesuffix("Message").lower(), "content": item.content} for item in messages
        ]
        name = getattr(client, "model", None) or getattr(client, "_create_args", {}).get("model")
        return ModelCall(messages, name if isinstance(name, str) else None, None, self.source("model"))


def instrument() -> None:
    from autogen_agentchat.agents import BaseChatAgent
    from autogen_agentchat.teams import BaseGroupChat
    from autogen_core.tools import BaseTool
    from autogen_core.tools._base import BaseStreamTool

    plugin = _Plugin()
    _patches.add(BaseTool, "run_json", plugin.run_json)
    _patches.add(BaseStreamTool, "run_json_stream", plugin.run_json_stream)
    for owner in (BaseChatAgent, BaseGroupChat):
        _patches.add(owner, "run", plugin.run)
        _patches.add(owner, "run_stream", plugin.run_stream)
    plugin.guard_models()


def uninstrument() -> None:
    _patches.undo()


def _refuse(decision: Decision) -> Any:
    """Becomes a result with `is_error` and the message as its content."""
    raise ToolBlocked(decision)


def _subclasses(kind: Any) -> Iterator[Any]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _answer(result: Any) -> ModelAnswer:
    usage = result.usage
    return ModelAnswer(
        text=result.content if isinstance(result.content, str) else (result.thought or None),
        usage=Usage(usage.prompt_tokens, usage.completion_tokens),
        finish_reason=result.finish_reason,
    )
