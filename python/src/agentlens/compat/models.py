"""Values of the HTTP client. Unknown members of the platform's response are kept (`model_extra`)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class _Model(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")


class TokenUsage(_Model):
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int | None = None
    thinking_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


class LlmMessage(_Model):
    role: str
    content: Any = None


class ToolCallDef(_Model):
    id: str
    name: str
    arguments: dict[str, Any] = {}


class ToolDef(_Model):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Agent(_Model):
    id: str
    name: str | None = None
    first_seen_at: str | None = None
    last_seen_at: str | None = None
    session_count: int | None = None


class AgentLensEvent(_Model):
    id: str
    timestamp: str
    session_id: str
    agent_id: str
    event_type: str
    severity: str = "info"
    payload: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    hash: str | None = None


class Session(_Model):
    id: str
    agent_id: str
    status: str
    started_at: str | None = None
    ended_at: str | None = None


class EventQuery(_Model):
    session_id: str | None = None
    agent_id: str | None = None
    event_type: str | list[str] | None = None
    severity: str | list[str] | None = None
    from_time: str | None = Field(default=None, alias="from")
    to: str | None = None
    limit: int | None = None
    offset: int | None = None
    order: str | None = None
    search: str | None = None


class EventQueryResult(_Model):
    events: list[AgentLensEvent]
    total: int | None = None
    has_more: bool = False


class SessionQuery(_Model):
    agent_id: str | None = None
    status: str | list[str] | None = None
    from_time: str | None = Field(default=None, alias="from")
    to: str | None = None
    limit: int | None = None
    offset: int | None = None
    tags: list[str] | None = None


class SessionQueryResult(_Model):
    sessions: list[Session]
    total: int | None = None
    has_more: bool = False


class TimelineResult(_Model):
    events: list[AgentLensEvent]
    chain_valid: bool | None = None


class HealthResult(_Model):
    status: str
    version: str | None = None


class HealthScore(_Model):
    agent_id: str
    overall_score: float | None = None


class LogLlmCallParams(_Model):
    provider: str
    model: str
    messages: list[LlmMessage]
    completion: str | None
    finish_reason: str
    usage: TokenUsage
    cost_usd: float
    latency_ms: float
    system_prompt: str | None = None
    tool_calls: list[ToolCallDef] | None = None
    parameters: dict[str, Any] | None = None
    tools: list[ToolDef] | None = None
    redact: bool | None = None


class LogLlmCallResult(_Model):
    call_id: str


class LlmAnalyticsParams(_Model):
    from_time: str | None = Field(default=None, alias="from")
    to: str | None = None
    agent_id: str | None = None
    granularity: str | None = None


class LlmAnalyticsResult(_Model):
    """Response of `GET /api/analytics`, unchanged."""


class GuardrailRule(_Model):
    id: str
    name: str
    enabled: bool = True
    dry_run: bool = False
    condition_type: str | None = None
    condition_config: dict[str, Any] = {}
    action_type: str | None = None
    action_config: dict[str, Any] = {}


class GuardrailRuleListResult(_Model):
    rules: list[GuardrailRule]
    total: int | None = None


class GuardrailStatusResult(_Model):
    """Response of `GET /api/guardrails/:id/status`, unchanged."""


class GuardrailTriggerHistoryResult(_Model):
    triggers: list[dict[str, Any]]
    total: int | None = None


class GuardrailDeleteResult(_Model):
    ok: bool = True
