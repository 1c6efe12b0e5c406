"""
CrewAI 1.15. Its hooks guard: PRE_TOOL_CALL refuses, POST_TOOL_CALL gives the model the reason (the framework does
not), PRE_MODEL_CALL ends a run that was stopped. Any exception but HookAborted would let the call happen.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar

from agentlens.calls import CallGuard, ModelAnswer, ModelCall, ToolCall, ours
from agentlens.errors import RunStopped
from agentlens.integrations import registry
from agentlens.integrations.base import BaseFrameworkPlugin
from agentlens.integrations.patching import Patches
from agentlens.model_calls import Usage
from agentlens.run import Run

_patches = Patches()
# Calls whose end is never reported are evicted, oldest first.
MAX_OPEN_CALLS = 1_000


@dataclass
class _Open:
    """A call between its two hooks. `given` is kept because both hooks share its identity."""

    given: dict[str, Any]
    call: ToolCall
    begun: Any
    refused: str | None = None
    error: BaseException | None = None
    executions: int = 0


_current: ContextVar[_Open | None] = ContextVar("agentlens_crewai_call", default=None)
_asked: ContextVar[tuple[Run, str | None] | None] = ContextVar("agentlens_crewai_model", default=None)


class CrewAiPlugin(BaseFrameworkPlugin):
    framework_name: ClassVar[str] = "crewai"
    distribution: ClassVar[str | None] = "crewai"

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[int, _Open] = {}

    # -- tools -----------------------------------------------------------------------------------------------------

    def before_tool(self, context: Any) -> None:
        from crewai.hooks import HookAborted

        instance = self.instance
        if instance is None:
            return
        agent = getattr(context.agent, "role", None)
        given = context.tool_input
        call = ToolCall(context.tool_name, dict(given or {}), "crewai", source=self.source("tool", agent))
        begun = CallGuard(instance).begin_tool(call)
        opened = _Open(given, call, begun)
        self._open[id(given)] = opened
        if len(self._open) > MAX_OPEN_CALLS:
            del self._open[next(iter(self._open))]
        if begun.decision.blocked:
            opened.refused = begun.decision.refusal
            raise HookAborted(begun.decision.refusal)
        if begun.decision.args != given:
            given.clear()
            given.update(begun.decision.args)
        _current.set(opened)

    def after_tool(self, context: Any) -> str | None:
        opened = self._open.pop(id(context.tool_input), None)
        instance = self.instance
        _current.set(None)
        if opened is None or instance is None:
            return None
        if opened.refused is not None:
            return opened.refused
        result = context.tool_result if context.raw_tool_result is None else context.raw_tool_result
        after = CallGuard(instance).end_tool(opened.call, opened.begun, result, opened.error)
        return after.refusal if after is not None and after.blocked else None

    def execution(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Records what a tool raises, which the framework turns into text, and decides each further execution."""

        def guarded(tool: Any, *args: Any, **kwargs: Any) -> Any:
            opened = _current.get()
            if opened is None:
                return original(tool, *args, **kwargs)
            again = self._again(opened)
            if again is not None:
                return again
            try:
                return original(tool, *args, **kwargs)
            except BaseException as error:
                opened.error = error
                raise

        return guarded

    def aexecution(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(tool: Any, *args: Any, **kwargs: Any) -> Any:
            opened = _current.get()
            if opened is None:
                return await original(tool, *args, **kwargs)
            again = self._again(opened)
            if again is not None:
                return again
            try:
                return await original(tool, *args, **kwargs)
            except BaseException as error:
                opened.error = error
                raise

        return guarded

    def _again(self, opened: _Open) -> str | None:
        """The message of a refusal; None if the tool may run. The text path retries a failing tool several times."""
        instance = self.instance
        opened.executions += 1
        if opened.executions == 1 or instance is None:
            return None
        guard = CallGuard(instance)
        guard.end_tool(opened.call, opened.begun, None, opened.error)
        opened.error = None
        opened.begun = guard.begin_tool(opened.call)
        if opened.begun.decision.blocked:
            opened.refused = opened.begun.decision.refusal
        return opened.refused

    # -- models ----------------------------------------------------------------------------------------------------

    def before_model(self, context: Any) -> None:
        from crewai.hooks import HookAborted

        instance, llm = self.instance, context.llm
        if instance is None:
            return
        with ours("guarding a model"):
            self._guard(type(llm))
        run = instance.active_run()
        source = self.source("llm", getattr(context.agent, "role", None))
        messages = [{"role": item.get("role"), "content": item.get("content")} for item in context.messages]
        call = ModelCall(messages, getattr(llm, "model", None), getattr(llm, "provider", None), source)
        try:
            _asked.set((run, CallGuard(instance).begin_model(call, run)))
        except RunStopped as stopped:
            raise HookAborted(str(stopped)) from stopped

    def _guard(self, kind: type) -> None:
        for owner in kind.__mro__:
            for name, wrapper in (("call", self.model), ("acall", self.amodel)):
                if name in vars(owner) and not getattr(vars(owner)[name], "__isabstractmethod__", False):
                    _patches.add(owner, name, wrapper)

    def model(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(llm: Any, *args: Any, **kwargs: Any) -> Any:
            asked, before = _asked.get(), _used(llm)
            _asked.set(None)
            try:
                answer = original(llm, *args, **kwargs)
            except BaseException as error:
                self._model_ended(asked, llm, before, None, error)
                raise
            self._model_ended(asked, llm, before, answer, None)
            return answer

        return guarded

    def amodel(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(llm: Any, *args: Any, **kwargs: Any) -> Any:
            asked, before = _asked.get(), _used(llm)
            _asked.set(None)
            try:
                answer = await original(llm, *args, **kwargs)
            except BaseException as error:
                self._model_ended(asked, llm, before, None, error)
                raise
            self._model_ended(asked, llm, before, answer, None)
            return answer

        return guarded

    def _model_ended(
        self,
        asked: tuple[Run, str | None] | None,
        llm: Any,
        before: tuple[int, int],
        answer: Any,
        error: BaseException | None,
    ) -> None:
        instance = self.instance
        if asked is None or instance is None:
            return
        run, call_id = asked
        now = _used(llm)
        usage = Usage(max(0, now[0] - before[0]), max(0, now[1] - before[1]))
        model_answer = ModelAnswer(text=answer if isinstance(answer, str) else None, usage=usage)
        CallGuard(instance).end_model(run, call_id, None if error is not None else lambda: model_answer, error)

    # -- runs ------------------------------------------------------------------------------------------------------

    def kickoff(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(owner: Any, *args: Any, **kwargs: Any) -> Any:
            with self.root_run(_name(owner)):
                return original(owner, *args, **kwargs)

        return guarded

    def akickoff(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(owner: Any, *args: Any, **kwargs: Any) -> Any:
            async with self.aroot_run(_name(owner)):
                return await original(owner, *args, **kwargs)

        return guarded


_plugin = CrewAiPlugin()


def instrument() -> None:
    from crewai import Agent, Crew
    from crewai.hooks import InterceptionPoint, register_hook
    from crewai.tools.base_tool import BaseTool, Tool
    from crewai.tools.structured_tool import CrewStructuredTool

    _patches.add(BaseTool, "run", _plugin.execution)
    _patches.add(BaseTool, "arun", _plugin.aexecution)
    _patches.add(Tool, "run", _plugin.execution)
    _patches.add(Tool, "arun", _plugin.aexecution)
    _patches.add(CrewStructuredTool, "invoke", _plugin.execution)
    _patches.add(CrewStructuredTool, "ainvoke", _plugin.aexecution)
    for owner in (Crew, Agent):
        _patches.add(owner, "kickoff", _plugin.kickoff)
        _patches.add(owner, "kickoff_async", _plugin.akickoff)
        _patches.add(owner, "akickoff", _plugin.akickoff)
    register_hook(InterceptionPoint.PRE_TOOL_CALL, _plugin.before_tool)
    register_hook(InterceptionPoint.POST_TOOL_CALL, _plugin.after_tool)
    register_hook(InterceptionPoint.PRE_MODEL_CALL, _plugin.before_model)


def uninstrument() -> None:
    from crewai.hooks import InterceptionPoint, unregister_hook

    unregister_hook(InterceptionPoint.PRE_TOOL_CALL, _plugin.before_tool)
    unregister_hook(InterceptionPoint.POST_TOOL_CALL, _plugin.after_tool)
    unregister_hook(InterceptionPoint.PRE_MODEL_CALL, _plugin.before_model)
    _patches.undo()


def instrument_crewai() -> None:
    """Instruments CrewAI, if `init` was called with `integrations=[]`."""
    registry.instrument_one("crewai")


def uninstrument_crewai() -> None:
    registry.uninstrument_one("crewai")


def _name(owner: Any) -> str | None:
    found = getattr(owner, "role", None) or getattr(owner, "name", None)
    return found if isinstance(found, str) else None


def _used(llm: Any) -> tuple[int, int]:
    """Tokens this model has used so far."""
    used = getattr(llm, "_token_usage", None) or {}
    return used.get("prompt_tokens", 0), used.get("completion_tokens", 0)
