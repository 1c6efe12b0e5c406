"""pydantic-ai 2: one more capability for every agent created while `init` is active."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from agentlens.calls import ModelAnswer, ModelCall, ToolCall
from agentlens.decision import Decision
from agentlens.integrations import registry
from agentlens.integrations.base import BaseFrameworkPlugin
from agentlens.integrations.patching import Patches
from agentlens.model_calls import Usage

_patches = Patches()
_ROLES = {"user-prompt": "user", "system-prompt": "system", "tool-return": "tool", "retry-prompt": "tool"}


class _Plugin(BaseFrameworkPlugin):
    framework_name: ClassVar[str] = "pydantic_ai"
    distribution: ClassVar[str | None] = "pydantic-ai-slim"


def capability() -> Any:
    """The explicit form: `Agent(..., capabilities=[capability()])`."""
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ToolFailed

    class AgentLensCapability(AbstractCapability[Any]):
        plugin = _Plugin()

        async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
            async with self.plugin.aroot_run(getattr(ctx.agent, "name", None)):
                return await handler()

        async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
            model = request_context.model
            call = ModelCall(
                [_message(part) for message in request_context.messages for part in message.parts],
                getattr(model, "model_name", None),
                getattr(model, "system", None),
                self.plugin.source("model", getattr(ctx.agent, "name", None)),
            )
            return await self.plugin.acall_model(call, lambda: handler(request_context), _answer)

        async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
            def refuse(decision: Decision) -> Any:
                # A plain exception would end the run, and our own result would look like the tool's.
                raise ToolFailed(decision.refusal)

            asked = ToolCall(
                call.tool_name,
                dict(args),
                "pydantic_ai",
                call_id=call.tool_call_id,
                source=self.plugin.source("tool", getattr(ctx.agent, "name", None)),
            )
            return await self.plugin.acall_tool(asked, handler, refuse)

    return AgentLensCapability()


def instrument() -> None:
    from pydantic_ai import Agent

    guard = capability()

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(agent: Any, *args: Any, **kwargs: Any) -> None:
            given = list(kwargs.pop("capabilities", None) or ())
            if not any(type(item).__name__ == "AgentLensCapability" for item in given):
                given.append(guard)
            original(agent, *args, capabilities=given, **kwargs)

        return guarded

    _patches.add(Agent, "__init__", wrapper)


def uninstrument() -> None:
    _patches.undo()


def instrument_pydantic_ai() -> None:
    """Instruments pydantic-ai, if `init` was called with `integrations=[]`."""
    registry.instrument_one("pydantic_ai")


def uninstrument_pydantic_ai() -> None:
    registry.uninstrument_one("pydantic_ai")


def _message(part: Any) -> dict[str, Any]:
    kind = str(getattr(part, "part_kind", "unknown"))
    content = getattr(part, "content", None)
    if kind == "tool-call":
        content = {"tool": part.tool_name, "args": part.args}
    return {"role": _ROLES.get(kind, "assistant"), "content": content}


def _answer(response: Any) -> ModelAnswer:
    text = "".join(str(part.content) for part in response.parts if part.part_kind == "text")
    usage = response.usage
    return ModelAnswer(
        text=text or None,
        usage=Usage(
            usage.input_tokens or 0,
            usage.output_tokens or 0,
            cache_read_tokens=usage.cache_read_tokens or None,
            cache_write_tokens=usage.cache_write_tokens or None,
            audio_input_tokens=getattr(usage, "input_audio_tokens", None) or None,
            audio_output_tokens=getattr(usage, "output_audio_tokens", None) or None,
            cache_read_audio_tokens=getattr(usage, "cache_audio_read_tokens", None),
            web_searches=(getattr(usage, "details", None) or {}).get("web_search_requests") or None,
        ),
        model=response.model_name,
        finish_reason=response.finish_reason,
    )
