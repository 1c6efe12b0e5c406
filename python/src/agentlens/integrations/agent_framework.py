"""Microsoft Agent Framework: three middlewares for every agent created while `init` is active."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from agentlens.calls import CallGuard, ModelAnswer, ModelCall, ToolCall, ours
from agentlens.context import current
from agentlens.decision import Decision
from agentlens.integrations import registry
from agentlens.integrations.base import BaseFrameworkPlugin
from agentlens.integrations.patching import Patches
from agentlens.model_calls import Usage

_patches = Patches()


class _Plugin(BaseFrameworkPlugin):
    framework_name: ClassVar[str] = "agent_framework"
    distribution: ClassVar[str | None] = "agent-framework-core"


def middlewares() -> list[Any]:
    """The explicit form: `Agent(..., middleware=[*middlewares()])`. For runs, models and functions."""
    from agent_framework import AgentMiddleware, ChatMiddleware, FunctionMiddleware, MiddlewareTermination

    plugin = _Plugin()

    class AgentLensFunctionMiddleware(FunctionMiddleware):
        async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
            asked = _arguments(context.arguments)

            async def execute(decided: dict[str, Any]) -> Any:
                if decided != asked:
                    context.arguments = decided
                await call_next()
                return _texts(context.result)

            refused: list[Decision] = []

            def refuse(decision: Decision) -> Any:
                refused.append(decision)
                context.result = decision.refusal

            call = ToolCall(
                context.function.name,
                asked,
                "agent_framework",
                call_id=context.metadata.get("call_id"),
                source=plugin.source("function"),
            )
            await plugin.acall_tool(call, execute, refuse)
            if refused and refused[0].terminates:
                raise MiddlewareTermination(result=refused[0].refusal)

    class AgentLensChatMiddleware(ChatMiddleware):
        async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
            name = getattr(context.client, "model", None) or (context.options or {}).get("model")
            messages = [{"role": str(message.role), "content": _content(message)} for message in context.messages]
            call = ModelCall(messages, name if isinstance(name, str) else None, None, plugin.source("chat"))
            if context.stream:
                await _streamed(plugin, call, context, call_next)
                return

            async def execute() -> Any:
                await call_next()
                return context.result

            await plugin.acall_model(call, execute, _answer)

    class AgentLensAgentMiddleware(AgentMiddleware):
        async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
            name = getattr(context.agent, "name", None)
            if not context.stream:
                async with plugin.aroot_run(name):
                    await call_next()
                return
            await _streamed_run(plugin, name, context, call_next)

    return [AgentLensAgentMiddleware(), AgentLensChatMiddleware(), AgentLensFunctionMiddleware()]


async def _streamed(plugin: _Plugin, call: ModelCall, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
    """`call_next` returns before anything was read: the call ends with the stream."""
    instance = plugin.instance
    if instance is None:
        await call_next()
        return
    guard, run = CallGuard(instance), instance.active_run()
    call_id = await guard.abegin_model(call, run)

    def ended(answer: Any) -> None:
        guard.end_model(run, call_id, lambda: _answer(answer), None)

    context.stream_result_hooks.append(ended)
    try:
        await call_next()
    except BaseException as error:
        guard.end_model(run, call_id, None, error)
        raise
    context.result.with_pull_context_manager(_noting(lambda error: guard.end_model(run, call_id, None, error)))


async def _streamed_run(
    plugin: _Plugin, name: str | None, context: Any, call_next: Callable[[], Awaitable[None]]
) -> None:
    instance, joined = plugin.instance, current.get()
    if instance is None or (joined is not None and joined.belongs_to(instance) and not joined.ended):
        await call_next()
        return
    run = await instance.run(agent_id=name).astart()

    @contextmanager
    def in_run() -> Iterator[None]:
        token = current.set(run)
        try:
            yield
        finally:
            with ours("leaving a run"):
                current.reset(token)

    context.stream_result_hooks.append(lambda answer: plugin.end_run(run))
    try:
        with in_run():
            await call_next()
    except BaseException as error:
        plugin.end_run(run, error)
        raise
    # Model and function calls made while the stream is read belong to the run.
    context.result.with_pull_context_manager(in_run)
    context.result.with_pull_context_manager(_noting(lambda error: plugin.end_run(run, error)))


def _noting(failed: Callable[[BaseException], None]) -> Callable[[], Any]:
    """Wraps each update read from a stream; the stream's end is not a failure."""

    @contextmanager
    def pull() -> Iterator[None]:
        try:
            yield
        except StopAsyncIteration:
            raise
        except BaseException as error:
            failed(error)
            raise

    return pull


def instrument() -> None:
    from agent_framework import Agent

    ours_ = middlewares()

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(agent: Any, *args: Any, **kwargs: Any) -> None:
            given = list(kwargs.pop("middleware", None) or ())
            if not any(type(item).__name__ == "AgentLensFunctionMiddleware" for item in given):
                given += ours_
            original(agent, *args, middleware=given, **kwargs)

        return guarded

    _patches.add(Agent, "__init__", wrapper)


def uninstrument() -> None:
    _patches.undo()


def instrument_agent_framework() -> None:
    """Instruments Microsoft Agent Framework, if `init` was called with `integrations=[]`."""
    registry.instrument_one("agent_framework")


def uninstrument_agent_framework() -> None:
    registry.uninstrument_one("agent_framework")


def _arguments(given: Any) -> dict[str, Any]:
    dump = getattr(given, "model_dump", None)
    return dict(dump() if callable(dump) else given)


def _texts(result: Any) -> Any:
    """The texts of a list of Content."""
    if isinstance(result, list) and all(hasattr(item, "type") for item in result):
        return "".join(str(getattr(item, "text", "") or "") for item in result)
    return result


def _content(message: Any) -> Any:
    found = [
        getattr(item, "text", None) or getattr(item, "result", None) or getattr(item, "name", None)
        for item in message.contents
    ]
    return found[0] if len(found) == 1 else [item for item in found if item is not None]


def _answer(response: Any) -> ModelAnswer:
    usage = getattr(response, "usage_details", None) or {}
    return ModelAnswer(
        text=response.text or None,
        usage=Usage(
            int(usage.get("input_token_count") or 0),
            int(usage.get("output_token_count") or 0),
            usage.get("total_token_count"),
            cache_read_tokens=usage.get("cache_read_input_token_count"),
            cache_write_tokens=usage.get("cache_creation_input_token_count"),
            reasoning_tokens=usage.get("reasoning_output_token_count"),
        ),
        model=response.model,
        finish_reason=None if response.finish_reason is None else str(response.finish_reason),
    )
