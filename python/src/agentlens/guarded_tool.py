"""A decorator for any function that an agent can call, with or without a framework."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from agentlens import _state
from agentlens.calls import CallGuard, ToolCall
from agentlens.decision import Decision
from agentlens.errors import RunStopped, ToolBlocked

F = TypeVar("F", bound=Callable[..., Any])
OnBlock = Literal["return", "raise"]
_SEAM = "guarded_tool"


@overload
def guarded_tool(function: F, /) -> F: ...
@overload
def guarded_tool(
    *,
    name: str | None = None,
    tags: Sequence[str] = (),
    on_block: OnBlock = "return",
    wait_for_approval: float | None = None,
) -> Callable[[F], F]: ...
def guarded_tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    tags: Sequence[str] = (),
    on_block: OnBlock = "return",
    wait_for_approval: float | None = None,
) -> Any:
    """
    Requests a decision before the function runs and reports its result, for sync and async functions and generators.
    A refused call returns the message for the model, or raises ToolBlocked (RunStopped if the run ends) with
    `on_block="raise"`. `wait_for_approval` is in seconds. Errors of the function are raised unchanged. Before `init`
    it runs unguarded.
    """

    def decorate(wrapped: Any) -> Any:
        return _wrapped(wrapped, name or wrapped.__name__, tuple(tags), on_block, wait_for_approval)

    return decorate if function is None else decorate(function)


def _wrapped(function: Any, name: str, tags: tuple[str, ...], on_block: OnBlock, wait: float | None) -> Any:
    signature = inspect.signature(function)

    def call_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[CallGuard | None, ToolCall, Any]:
        instance = _state.get()
        bound = signature.bind(*args, **kwargs)
        call = ToolCall(name, _asked(bound), _SEAM, tags=tags, wait=wait)
        return (None if instance is None else CallGuard(instance)), call, bound

    def refuse(decision: Decision) -> Any:
        if on_block == "return":
            return decision.refusal
        raise RunStopped(decision) if decision.terminates else ToolBlocked(decision)

    def apply(bound: inspect.BoundArguments, decided: dict[str, Any]) -> Any:
        args, kwargs = _decided(bound, decided)
        return function(*args, **kwargs)

    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def astream(*args: Any, **kwargs: Any) -> Any:
            guard, call, bound = call_of(args, kwargs)
            items = (
                function(*args, **kwargs)
                if guard is None
                else guard.atool_stream(call, lambda decided: apply(bound, decided), refuse)
            )
            async for item in items:
                yield item

        return astream
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def stream(*args: Any, **kwargs: Any) -> Any:
            guard, call, bound = call_of(args, kwargs)
            if guard is None:
                yield from function(*args, **kwargs)
            else:
                yield from guard.tool_stream(call, lambda decided: apply(bound, decided), refuse)

        return stream
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            guard, call, bound = call_of(args, kwargs)
            if guard is None:
                return await function(*args, **kwargs)
            return await guard.atool(call, lambda decided: apply(bound, decided), refuse)

        return coroutine

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        guard, call, bound = call_of(args, kwargs)
        if guard is None:
            return function(*args, **kwargs)
        return guard.tool(call, lambda decided: apply(bound, decided), refuse)

    return plain


def _asked(bound: inspect.BoundArguments) -> dict[str, Any]:
    """Arguments by name, without the object of a method; `**kwargs` are merged."""
    asked: dict[str, Any] = {}
    for index, (name, value) in enumerate(bound.arguments.items()):
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            asked.update(value)
        elif not (index == 0 and name in ("self", "cls")):
            asked[name] = value
    return asked


def _decided(bound: inspect.BoundArguments, decided: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call with the decided arguments; unchanged ones are the original objects."""
    arguments = dict(bound.arguments)
    parameters = bound.signature.parameters
    rest = next((name for name, item in parameters.items() if item.kind is inspect.Parameter.VAR_KEYWORD), None)
    extra = {key: value for key, value in decided.items() if key not in parameters or key == rest}
    arguments.update((key, value) for key, value in decided.items() if key in parameters and key != rest)
    if rest is not None and (extra or rest in arguments):
        arguments[rest] = extra
    changed = inspect.BoundArguments(bound.signature, arguments)
    return changed.args, changed.kwargs
