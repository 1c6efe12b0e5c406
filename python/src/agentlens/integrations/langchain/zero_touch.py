"""The patches of `init()`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar

from langchain_core.tools.base import BaseTool
from langchain_core.tracers.context import register_configure_hook

from agentlens.calls import ToolCall
from agentlens.integrations.base import BaseFrameworkPlugin
from agentlens.integrations.langchain import reading
from agentlens.integrations.langchain.chains import chains
from agentlens.integrations.langchain.handler import AgentLensCallbackHandler
from agentlens.integrations.patching import Patches


class ToolSeam(BaseFrameworkPlugin):
    framework_name: ClassVar[str] = "langchain"
    distribution: ClassVar[str | None] = "langchain-core"

    def run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(tool: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
            call_id = kwargs.get("tool_call_id")
            return self.call_tool(
                self._call(tool, tool_input, kwargs),
                lambda decided: original(tool, reading.input_with(tool, tool_input, decided), *args, **kwargs),
                lambda decision: reading.refusal(decision, tool.name, call_id),
            )

        return guarded

    def arun(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(tool: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
            call_id = kwargs.get("tool_call_id")
            return await self.acall_tool(
                self._call(tool, tool_input, kwargs),
                lambda decided: original(tool, reading.input_with(tool, tool_input, decided), *args, **kwargs),
                lambda decision: reading.refusal(decision, tool.name, call_id),
            )

        return guarded

    def _call(self, tool: Any, tool_input: Any, kwargs: Mapping[str, Any]) -> ToolCall:
        return ToolCall(
            tool.name,
            reading.tool_input(tool, tool_input),
            "langchain.tool",
            call_id=kwargs.get("tool_call_id"),
            tags=tuple(tool.tags or ()),
            source=self.source("tool"),
            run=chains.run_of(getattr(kwargs.get("callbacks"), "parent_run_id", None)),
            error_in=reading.error_in,
        )


class _NotOurStop(logging.Filter):
    """LangChain logs every exception of a callback; a stopped run is not an error."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "RunStopped" not in record.getMessage()


handler = AgentLensCallbackHandler()
handler.active = False
# A hook works on every thread only if the handler is its variable's default, which stays for the process, so the
# handler checks its own flag.
_hook: ContextVar[AgentLensCallbackHandler | None] = ContextVar("agentlens_langchain_handler", default=handler)
_patches = Patches()
_quiet = _NotOurStop()
_logger = logging.getLogger("langchain_core.callbacks.manager")
_hooked = False


def instrument() -> None:
    global _hooked
    seam = ToolSeam()
    _patches.add(BaseTool, "run", seam.run)
    _patches.add(BaseTool, "arun", seam.arun)
    if not _hooked:
        register_configure_hook(_hook, True, AgentLensCallbackHandler)
        _hooked = True
    handler.active = True
    _logger.addFilter(_quiet)


def uninstrument() -> None:
    handler.active = False
    _logger.removeFilter(_quiet)
    _patches.undo()
