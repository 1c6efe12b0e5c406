"""The original's Semantic Kernel handler. Its `filter` also guards if `init` enforces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from agentlens.compat.integrations.calls import OpenCalls, name_of, told
from agentlens.integrations.semantic_kernel import (
    SemanticKernelPlugin,
    instrument_semantic_kernel,
    uninstrument_semantic_kernel,
)

__all__ = ["AgentLensSKHandler", "init", "instrument_semantic_kernel", "uninstrument_semantic_kernel"]


class AgentLensSKHandler(SemanticKernelPlugin):
    """`kernel.add_filter("function_invocation", handler.filter)`, or `init(kernel)`."""

    framework_name: ClassVar[str] = "semantic_kernel"

    def __init__(self, kernel_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._kernel_name = kernel_name
        self._calls = OpenCalls()

    async def filter(self, context: Any, next: Callable[[Any], Any]) -> None:
        await self.function(context, next)

    def on_ai_call(
        self, service_id: str = "default", model: str = "unknown", messages: list[dict[str, Any]] | None = None
    ) -> str:
        call_id = self._calls.begin()
        payload = {"callId": call_id, "model": model, "messages": messages or [], "parameters": {"service": service_id}}
        self._send("llm_call", payload)
        return call_id

    def on_ai_response(
        self,
        call_id: str = "",
        response: str | None = None,
        service_id: str = "default",
        model: str = "unknown",
        input_tokens: int = 0,
        output_tokens: int = 0,
    ) -> None:
        usage = {
            "inputTokens": input_tokens,
            "outputTokens": output_tokens,
            "totalTokens": input_tokens + output_tokens,
        }
        payload = {"callId": call_id or "unknown", "model": model, "completion": response, "finishReason": "stop"}
        self._send("llm_response", {**payload, "usage": usage, "latencyMs": self._calls.end_ms(call_id)})

    def on_planner_step(self, step: Any) -> None:
        self._send_custom_event("planner_step", {"name": name_of(step, "name", "description"), "step": told(step)})


def init(kernel: Any, handler: AgentLensSKHandler | None = None, **kwargs: Any) -> AgentLensSKHandler:
    """Adds the filters of this package to a kernel."""
    found = handler or AgentLensSKHandler(**kwargs)
    found.install(kernel)
    return found
