"""The explicit form, for `create_agent(middleware=[AgentLensMiddleware()])`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import hook_config

from agentlens.calls import ToolCall
from agentlens.decision import Decision
from agentlens.integrations.base import BaseFrameworkPlugin
from agentlens.integrations.langchain import reading
from agentlens.integrations.langchain.chains import chains
from agentlens.run import Run


class _Plugin(BaseFrameworkPlugin):
    framework_name = "langchain"
    distribution = "langchain"


class AgentLensMiddleware(AgentMiddleware):
    """
    Guards the tools of one agent, and ends its loop gracefully when its run is stopped. `interrupt=True`: a call
    that needs approval pauses the graph (LangGraph's `interrupt`, which needs a checkpointer and a thread id).
    Resume it after the decision; the same call is then decided again.
    """

    def __init__(self, *, interrupt: bool = False) -> None:
        super().__init__()
        self._plugin = _Plugin()
        self._interrupt = interrupt

    @property
    def name(self) -> str:
        return "AgentLens"

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        call = self._call(request)
        return self._plugin.call_tool(
            call, lambda decided: handler(_changed(request, decided)), lambda decision: _refused(request, decision)
        )

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        call = self._call(request)
        return await self._plugin.acall_tool(
            call, lambda decided: handler(_changed(request, decided)), lambda decision: _refused(request, decision)
        )

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._end_if_stopped()

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._end_if_stopped()

    def _end_if_stopped(self) -> dict[str, Any] | None:
        run = _run()
        if run is None and self._plugin.instance is not None:
            run = self._plugin.instance.active_run()
        return {"jump_to": "end"} if run is not None and run.stopped is not None else None

    def _call(self, request: Any) -> ToolCall:
        tool, asked = request.tool, request.tool_call
        return ToolCall(
            asked["name"],
            dict(asked.get("args") or {}),
            "langchain.middleware",
            call_id=asked.get("id"),
            tags=tuple(getattr(tool, "tags", None) or ()),
            source=self._plugin.source("tool"),
            run=_run(),
            error_in=reading.error_in,
            on_pending=_pause if self._interrupt else None,
        )


def _run() -> Run | None:
    """The run of the chain that this code runs in."""
    from langchain_core.runnables.config import ensure_config

    return chains.run_of(getattr(ensure_config().get("callbacks"), "parent_run_id", None))


def _pause(decision: Decision, run: Run) -> None:
    """Raises LangGraph's interrupt. On resumption it returns while the approval is still pending."""
    from langgraph.types import interrupt

    chains.interrupt(run)
    interrupt({"type": "approval", "message": decision.message, "callId": decision.call_id, "args": decision.args})


def _changed(request: Any, decided: dict[str, Any]) -> Any:
    if decided == (request.tool_call.get("args") or {}):
        return request
    return request.override(tool_call={**request.tool_call, "args": decided})


def _refused(request: Any, decision: Decision) -> Any:
    return reading.refusal(decision, request.tool_call["name"], request.tool_call.get("id"))
