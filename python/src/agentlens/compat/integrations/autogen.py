"""The original's AutoGen handler; it observes. `instrument_autogen` actually instruments."""

from __future__ import annotations

from typing import Any, ClassVar

from agentlens.compat.integrations.calls import OpenCalls, name_of, told
from agentlens.integrations.autogen import instrument_autogen, uninstrument_autogen
from agentlens.integrations.base import BaseFrameworkPlugin

__all__ = ["AgentLensAutoGenHandler", "instrument_autogen", "uninstrument_autogen"]


class AgentLensAutoGenHandler(BaseFrameworkPlugin):
    """Call its `on_*` methods. None of them raises."""

    framework_name: ClassVar[str] = "autogen"
    distribution: ClassVar[str | None] = "autogen"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._calls = OpenCalls()

    def on_conversation_start(self, initiator: Any, participants: list[Any] | None = None) -> None:
        tags = [name_of(agent) for agent in participants or ()]
        self._send("session_started", {"agentName": name_of(initiator), "tags": tags})

    def on_conversation_end(self, summary: str | None = None) -> None:
        self._send("session_ended", {"reason": "completed", "summary": summary})

    def on_message_sent(self, sender: Any, receiver: Any, message: Any) -> Any:
        """Returns the message, so that it can be a hook of the framework."""
        data = {"from": name_of(sender), "to": name_of(receiver), "message": _text(message)}
        self._send_custom_event("agent_message", data)
        return message

    def on_message_received(self, sender: Any, receiver: Any, message: Any) -> None:
        data = {"from": name_of(sender), "to": name_of(receiver), "message": _text(message)}
        self._send_custom_event("message_received", data)

    def on_llm_call(self, agent: Any, messages: list[dict[str, Any]] | None = None, model: str = "unknown") -> str:
        call_id = self._calls.begin()
        self._send("llm_call", {"callId": call_id, "model": model, "messages": messages or []})
        return call_id

    def on_llm_response(
        self,
        agent: Any,
        response: str | None = None,
        call_id: str = "",
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

    def on_code_execution(self, agent: Any, code: str, language: str = "python") -> str:
        call_id = self._calls.begin()
        data = {"callId": call_id, "agent": name_of(agent), "code": code, "language": language}
        self._send_custom_event("code_execution", data)
        return call_id

    def on_code_result(self, agent: Any, call_id: str = "", result: str = "", exit_code: int = 0) -> None:
        data = {"callId": call_id, "agent": name_of(agent), "result": result, "exitCode": exit_code}
        self._send_custom_event("code_result", {**data, "durationMs": self._calls.end_ms(call_id)})

    def on_tool_call(self, agent: Any, tool_name: str, arguments: dict[str, Any] | None = None) -> str:
        call_id = self._calls.begin()
        self._send_tool_call(tool_name, call_id, arguments or {})
        return call_id

    def on_tool_result(self, agent: Any, tool_name: str, result: Any, call_id: str | None = None) -> None:
        self._send_tool_response(tool_name, call_id or "unknown", result, self._calls.end_ms(call_id or ""))


def _text(message: Any) -> str | None:
    return told(message.get("content")) if isinstance(message, dict) else told(message)
