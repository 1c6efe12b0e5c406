"""The HTTP client of the original package. Retries if the platform is busy, at most three times."""

from __future__ import annotations

from types import TracebackType
from typing import Any, TypeVar

import httpx

from agentlens.compat import calls, models
from agentlens.errors import AgentLensConnectionError
from agentlens.waiting import pause

T = TypeVar("T")
MAX_ATTEMPTS = 3
BACKOFF_S = 0.5
RETRIED = (429, 503)


class AgentLensClient:
    """For reading, rules and single calls; `init` has its own connection. `url` is the platform's address."""

    def __init__(self, url: str, api_key: str | None = None) -> None:
        self.url = url
        self.api_key = api_key
        headers = {} if api_key is None else {"authorization": f"Bearer {api_key}"}
        self._client = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=30)

    def __enter__(self) -> AgentLensClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def _request(self, method: str, path: str, *, params: dict[str, str] | None = None, json: Any = None) -> Any:
        """JSON of the response; raises an AgentLensError."""
        for attempt in range(MAX_ATTEMPTS):
            try:
                answer = self._client.request(method, path, params=params, json=json)
            except httpx.HTTPError as error:
                raise AgentLensConnectionError(f"{method} {path}: {error}", error) from error
            if answer.status_code not in RETRIED or attempt + 1 == MAX_ATTEMPTS:
                return read_answer(answer)
            pause(BACKOFF_S * 2**attempt)
        return None

    def _make(self, call: calls.Call[T]) -> T:
        return call.read(self._request(call.method, call.path, params=call.params, json=call.json))

    def query_events(self, query: models.EventQuery | None = None) -> models.EventQueryResult:
        return self._make(calls.query_events(query))

    def get_event(self, event_id: str) -> models.AgentLensEvent:
        return self._make(calls.get_event(event_id))

    def get_sessions(self, query: models.SessionQuery | None = None) -> models.SessionQueryResult:
        return self._make(calls.get_sessions(query))

    def get_session(self, session_id: str) -> models.Session:
        return self._make(calls.get_session(session_id))

    def get_session_timeline(self, session_id: str) -> models.TimelineResult:
        return self._make(calls.get_session_timeline(session_id))

    def get_agent(self, agent_id: str) -> models.Agent:
        return self._make(calls.get_agent(agent_id))

    def log_llm_call(self, session_id: str, agent_id: str, params: models.LogLlmCallParams) -> models.LogLlmCallResult:
        return self._make(calls.log_llm_call(session_id, agent_id, params))

    def get_llm_analytics(self, params: models.LlmAnalyticsParams | None = None) -> models.LlmAnalyticsResult:
        return self._make(calls.get_llm_analytics(params))

    def health(self) -> models.HealthResult:
        return self._make(calls.health())

    def get_health(self, agent_id: str, window: int = 7) -> models.HealthScore:
        return self._make(calls.get_health(agent_id, window))

    def get_health_overview(self, window: int = 7) -> list[models.HealthScore]:
        return self._make(calls.get_health_overview(window))

    def list_guardrails(self, agent_id: str | None = None) -> models.GuardrailRuleListResult:
        return self._make(calls.list_guardrails(agent_id))

    def get_guardrail(self, rule_id: str) -> models.GuardrailRule:
        return self._make(calls.get_guardrail(rule_id))

    def update_guardrail(self, rule_id: str, **changes: Any) -> models.GuardrailRule:
        return self._make(calls.update_guardrail(rule_id, calls.camel(changes)))

    def delete_guardrail(self, rule_id: str) -> models.GuardrailDeleteResult:
        return self._make(calls.delete_guardrail(rule_id))

    def get_guardrail_status(self, rule_id: str) -> models.GuardrailStatusResult:
        return self._make(calls.get_guardrail_status(rule_id))

    def get_guardrail_history(
        self, rule_id: str | None = None, limit: int = 50, offset: int = 0
    ) -> models.GuardrailTriggerHistoryResult:
        return self._make(calls.get_guardrail_history(rule_id, limit, offset))

    def create_guardrail(
        self,
        *,
        name: str,
        condition_type: str,
        condition_config: dict[str, Any],
        action_type: str,
        action_config: dict[str, Any],
        description: str | None = None,
        agent_id: str | None = None,
        enabled: bool = True,
        dry_run: bool = False,
        cooldown_minutes: int = 5,
    ) -> models.GuardrailRule:
        """The original created disabled dry-run rules; here a new rule is active."""
        rule = {key: value for key, value in locals().items() if key != "self"}
        return self._make(calls.create_guardrail(calls.camel(rule)))

    def enable_guardrail(self, rule_id: str) -> models.GuardrailRule:
        return self.update_guardrail(rule_id, enabled=True)

    def disable_guardrail(self, rule_id: str) -> models.GuardrailRule:
        return self.update_guardrail(rule_id, enabled=False)

    # Features of the original platform only: each raises a NotFoundError that says so.

    def recall(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("recall")

    def create_lesson(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("create_lesson")

    def get_lessons(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("get_lessons")

    def get_lesson(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("get_lesson")

    def update_lesson(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("update_lesson")

    def delete_lesson(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("delete_lesson")

    def reflect(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("reflect")

    def get_context(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("get_context")

    def get_health_history(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("get_health_history")

    def get_optimization_recommendations(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("get_optimization_recommendations")


def read_answer(answer: httpx.Response) -> Any:
    try:
        body = answer.json() if answer.content else None
    except ValueError:
        body = None
    if answer.is_success:
        return body
    raise calls.error_of(answer.status_code, body, answer.headers.get("retry-after"))
