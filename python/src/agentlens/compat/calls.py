"""The calls of the HTTP client, without the HTTP; shared by both clients."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from agentlens.compat import models
from agentlens.errors import (
    AgentLensError,
    AuthenticationError,
    BackpressureError,
    NotFoundError,
    QuotaExceededError,
    RateLimitError,
    ValidationError,
)
from agentlens.ids import new_id
from agentlens.redact.content import without_content

T = TypeVar("T")
HINT = "this platform has no such feature; see docs/sdk/python-migration.md"


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    path: str
    read: Callable[[Any], T]
    params: dict[str, str] | None = None
    json: Any = None


def error_of(status: int, body: Any, retry_after: str | None = None) -> AgentLensError:
    told = body if isinstance(body, dict) else {}
    message = str(told.get("error") or f"HTTP {status}")
    if told.get("hint"):
        message = f"{message} ({told['hint']})"
    if status in (401, 403):
        return AuthenticationError(message, status)
    if status == 404:
        return NotFoundError(message)
    if status == 400:
        return ValidationError(message, told.get("details"))
    if status == 402:
        return QuotaExceededError(message)
    if status == 429:
        return RateLimitError(message, float(retry_after) if retry_after and retry_after.isdigit() else None)
    if status == 503:
        return BackpressureError(message)
    return AgentLensError(message, status, details=told.get("details"))


def absent(name: str) -> NoReturn:
    raise NotFoundError(f"{name}: {HINT}")


def query_events(query: models.EventQuery | None) -> Call[models.EventQueryResult]:
    return Call("GET", "/api/events", models.EventQueryResult.model_validate, _params(query))


def get_event(event_id: str) -> Call[models.AgentLensEvent]:
    return Call("GET", f"/api/events/{_id(event_id)}", models.AgentLensEvent.model_validate)


def get_sessions(query: models.SessionQuery | None) -> Call[models.SessionQueryResult]:
    return Call("GET", "/api/sessions", models.SessionQueryResult.model_validate, _params(query))


def get_session(session_id: str) -> Call[models.Session]:
    return Call("GET", f"/api/sessions/{_id(session_id)}", models.Session.model_validate)


def get_session_timeline(session_id: str) -> Call[models.TimelineResult]:
    return Call("GET", f"/api/sessions/{_id(session_id)}/timeline", models.TimelineResult.model_validate)


def get_agent(agent_id: str) -> Call[models.Agent]:
    return Call("GET", f"/api/agents/{_id(agent_id)}", models.Agent.model_validate)


def log_llm_call(session_id: str, agent_id: str, params: models.LogLlmCallParams) -> Call[models.LogLlmCallResult]:
    call_id = str(uuid.uuid4())
    told = params.model_dump(by_alias=True, exclude_none=True, exclude={"redact"})
    asked: dict[str, Any] = {
        key: told[key] for key in ("provider", "model", "messages", "systemPrompt", "parameters") if key in told
    }
    answered: dict[str, Any] = {
        key: told[key] for key in ("provider", "model", "finishReason", "usage", "costUsd", "latencyMs")
    }
    answered["completion"] = params.completion
    if params.redact:
        asked, answered = without_content(asked), without_content(answered)
    about = {"sessionId": session_id, "agentId": agent_id}
    events = [
        {**about, "id": new_id(), "eventType": kind, "payload": {**payload, "callId": call_id}}
        for kind, payload in (("llm_call", asked), ("llm_response", answered))
    ]
    result = models.LogLlmCallResult(call_id=call_id)
    return Call("POST", "/api/events", lambda body: result, json={"events": events})


def get_llm_analytics(params: models.LlmAnalyticsParams | None) -> Call[models.LlmAnalyticsResult]:
    return Call("GET", "/api/analytics", models.LlmAnalyticsResult.model_validate, _params(params))


def health() -> Call[models.HealthResult]:
    return Call("GET", "/api/health", models.HealthResult.model_validate)


def get_health(agent_id: str, window: int) -> Call[models.HealthScore]:
    params = {"window": str(window)}
    return Call("GET", f"/api/agents/{_id(agent_id)}/health", models.HealthScore.model_validate, params)


def get_health_overview(window: int) -> Call[list[models.HealthScore]]:
    def read(body: Any) -> list[models.HealthScore]:
        found = body.get("agents", []) if isinstance(body, dict) else body
        return [models.HealthScore.model_validate(item) for item in found]

    return Call("GET", "/api/health/overview", read, {"window": str(window)})


def list_guardrails(agent_id: str | None) -> Call[models.GuardrailRuleListResult]:
    params = None if agent_id is None else {"agentId": agent_id}
    return Call("GET", "/api/guardrails", models.GuardrailRuleListResult.model_validate, params)


def get_guardrail(rule_id: str) -> Call[models.GuardrailRule]:
    return Call("GET", f"/api/guardrails/{_id(rule_id)}", models.GuardrailRule.model_validate)


def create_guardrail(rule: dict[str, Any]) -> Call[models.GuardrailRule]:
    return Call("POST", "/api/guardrails", models.GuardrailRule.model_validate, json=rule)


def update_guardrail(rule_id: str, changes: dict[str, Any]) -> Call[models.GuardrailRule]:
    return Call("PUT", f"/api/guardrails/{_id(rule_id)}", models.GuardrailRule.model_validate, json=changes)


def delete_guardrail(rule_id: str) -> Call[models.GuardrailDeleteResult]:
    return Call("DELETE", f"/api/guardrails/{_id(rule_id)}", lambda body: models.GuardrailDeleteResult())


def get_guardrail_status(rule_id: str) -> Call[models.GuardrailStatusResult]:
    return Call("GET", f"/api/guardrails/{_id(rule_id)}/status", models.GuardrailStatusResult.model_validate)


def get_guardrail_history(rule_id: str | None, limit: int, offset: int) -> Call[models.GuardrailTriggerHistoryResult]:
    params = {"limit": str(limit), "offset": str(offset), **({} if rule_id is None else {"ruleId": rule_id})}
    return Call("GET", "/api/guardrails/history", models.GuardrailTriggerHistoryResult.model_validate, params)


def camel(options: dict[str, Any]) -> dict[str, Any]:
    """Members with the platform's names; None is omitted."""
    return {
        "".join([first, *(part.title() for part in rest)]): value
        for key, value in options.items()
        if value is not None
        for first, *rest in [key.split("_")]
    }


def _id(value: str) -> str:
    return quote(value, safe="")


def _params(query: BaseModel | None) -> dict[str, str] | None:
    if query is None:
        return None
    told = query.model_dump(by_alias=True, exclude_none=True)
    return {key: ",".join(map(str, value)) if isinstance(value, list) else str(value) for key, value in told.items()}
