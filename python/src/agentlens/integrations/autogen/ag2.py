"""AG2 1.x: a middleware for every agent created while `init` is active."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from agentlens.calls import ModelAnswer, ModelCall, ToolCall
from agentlens.decision import Decision
from agentlens.events import error_text
from agentlens.integrations.base import BaseFrameworkPlugin
from agentlens.integrations.patching import Patches
from agentlens.model_calls import Usage

_patches = Patches()


class _Plugin(BaseFrameworkPlugin):
    framework_name: ClassVar[str] = "ag2"
    distribution: ClassVar[str | None] = "ag2"


def middleware() -> Any:
    """The explicit form: `Agent(..., middleware=[middleware()])`."""
    from ag2.events import ToolErrorEvent, ToolResult, ToolResultEvent
    from ag2.middleware import BaseMiddleware, Middleware

    plugin = _Plugin()

    class AgentLensMiddleware(BaseMiddleware):
        async def on_turn(self, call_next: Any, event: Any, context: Any) -> Any:
            async with plugin.aroot_run():
                return await call_next(event, context)

        async def on_llm_call(self, call_next: Any, events: Any, context: Any) -> Any:
            call = ModelCall([_message(item) for item in events], None, None, plugin.source("llm"))
            return await plugin.acall_model(call, lambda: call_next(events, context), _answer)

        async def on_tool_execution(self, call_next: Any, event: Any, context: Any) -> Any:
            asked = _arguments(event)

            async def execute(decided: dict[str, Any]) -> Any:
                if decided != asked:
                    event.arguments = json.dumps(decided)
                    event.serialized_arguments = decided
                return await call_next(event, context)

            def refuse(decision: Decision) -> Any:
                # An exception would reach the model as a traceback; `final` ends the turn.
                return ToolResultEvent.from_call(event, ToolResult(decision.refusal, final=decision.terminates))

            def error_in(result: Any) -> str | None:
                return error_text(result.error) if isinstance(result, ToolErrorEvent) else None

            call = ToolCall(event.name, asked, "ag2", call_id=event.id, source=plugin.source("tool"), error_in=error_in)
            return await plugin.acall_tool(call, execute, refuse)

    return Middleware(AgentLensMiddleware)


def instrument() -> None:
    from ag2 import Agent

    guard = middleware()

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(agent: Any, *args: Any, **kwargs: Any) -> None:
            original(agent, *args, **kwargs)
            agent.insert_middleware(guard)

        return guarded

    _patches.add(Agent, "__init__", wrapper)


def uninstrument() -> None:
    _patches.undo()


def _arguments(event: Any) -> dict[str, Any]:
    """The model's arguments; anything but an object is sent as `input`."""
    try:
        found = event.serialized_arguments
    except ValueError:
        return {"input": event.arguments}
    return dict(found) if isinstance(found, dict) else {"input": found}


def _message(event: Any) -> dict[str, Any]:
    kind = type(event).__name__
    role = {"ModelRequest": "user", "ModelResponse": "assistant"}.get(kind, "tool" if "Tool" in kind else "system")
    content = getattr(event, "content", None)
    return {"role": role, "content": str(event) if content is None else content}


def _answer(response: Any) -> ModelAnswer:
    usage = response.usage
    return ModelAnswer(
        text=response.content,
        usage=Usage(
            int(usage.prompt_tokens or 0),
            int(usage.completion_tokens or 0),
            None if usage.total_tokens is None else int(usage.total_tokens),
            None if usage.cache_read_input_tokens is None else int(usage.cache_read_input_tokens),
        ),
        model=response.model,
        finish_reason=response.finish_reason,
    )
