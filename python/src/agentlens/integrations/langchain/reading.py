"""Reads LangChain's objects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentlens.calls import ModelAnswer
from agentlens.decision import Decision
from agentlens.model_responses import read_usage

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
    counted = read_usage(usage) if usage else read_usage(output.get("token_usage"))
    searches = read_usage(metadata.get("usage"))
    if counted is not None and searches is not None and searches.web_searches:
        counted = replace(counted, web_searches=searches.web_searches)
    tier = metadata.get("service_tier")
    return ModelAnswer(
        text=text or None,
        usage=replace(counted, service_tier=tier) if counted is not None and isinstance(tier, str) else counted,
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
        return decision.refusal
    from langchain_core.messages import ToolMessage

    return ToolMessage(content=decision.refusal, tool_call_id=call_id, name=name, status="error")


def error_in(result: Any) -> str | None:
    """A tool with `handle_tool_error`, and LangGraph's ToolNode, turn exceptions into messages."""
    return str(getattr(result, "content", "")) if getattr(result, "status", None) == "error" else None
