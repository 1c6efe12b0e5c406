"""Reads LangChain's objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentlens.calls import ModelAnswer
from agentlens.decision import Decision
from agentlens.model_calls import Usage

_ROLES = {"human": "user", "ai": "assistant"}


def message(sent: Any) -> dict[str, Any]:
    kind = str(getattr(sent, "type", "unknown"))
    found: dict[str, Any] = {"role": _ROLES.get(kind, kind), "content": getattr(sent, "content", str(sent))}
    calls = getattr(sent, "tool_calls", None)
    if calls:
        found["toolCalls"] = [{"id": call.get("id"), "name": call.get("name")} for call in calls]
    call_id = getattr(sent, "tool_call_id", None)
    return found if call_id is None else {**found, "toolCallId": call_id}


def answer(response: Any) -> ModelAnswer:
    """Reads an LLMResult."""
    generation = next((item for batch in response.generations for item in batch), None)
    message = getattr(generation, "message", None)
    usage = getattr(message, "usage_metadata", None)
    metadata = getattr(message, "response_metadata", None) or {}
    output = response.llm_output or {}
    text = getattr(generation, "text", None)
    return ModelAnswer(
        text=text or None,
        usage=_usage(usage) if usage else _plain_usage(output.get("token_usage") or {}),
        model=metadata.get("model_name") or output.get("model_name"),
        finish_reason=metadata.get("finish_reason") or metadata.get("stop_reason"),
    )


def tool_input(tool: Any, given: Any) -> dict[str, Any]:
    """The model's arguments, without those that the framework adds."""
    if not isinstance(given, dict):
        return {"input": given}
    strip = getattr(tool, "_filter_injected_args", None)
    return dict(strip(given)) if callable(strip) else dict(given)


def input_with(tool: Any, given: Any, decided: dict[str, Any]) -> Any:
    if not isinstance(given, dict):
        return decided.get("input", given)
    asked = tool_input(tool, given)
    if decided == asked:
        return given
    return {**{key: value for key, value in given.items() if key not in asked}, **decided}


def refusal(decision: Decision, name: str, call_id: str | None) -> Any:
    """One result for the call: LangChain does not continue after a call without one."""
    if call_id is None:
        return decision.message
    from langchain_core.messages import ToolMessage

    return ToolMessage(content=decision.message, tool_call_id=call_id, name=name, status="error")


def error_in(result: Any) -> str | None:
    """A tool with `handle_tool_error`, and LangGraph's ToolNode, turn exceptions into messages."""
    return str(getattr(result, "content", "")) if getattr(result, "status", None) == "error" else None


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = usage.get("input_token_details") or {}
    output = usage.get("output_token_details") or {}
    return Usage(
        input_tokens=usage.get("input_tokens") or 0,
        output_tokens=usage.get("output_tokens") or 0,
        total_tokens=usage.get("total_tokens"),
        cache_read_tokens=details.get("cache_read"),
        cache_write_tokens=details.get("cache_creation"),
        cache_write_1h_tokens=details.get("ephemeral_1h_input_tokens"),
        reasoning_tokens=output.get("reasoning"),
        audio_input_tokens=details.get("audio"),
        audio_output_tokens=output.get("audio"),
    )


def _plain_usage(usage: Mapping[str, Any]) -> Usage | None:
    if not usage:
        return None
    return Usage(usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0, usage.get("total_tokens"))
