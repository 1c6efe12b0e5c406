"""The HTTP client of the original package for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import Any, TypeVar

import httpx

from agentlens.compat import calls, models
from agentlens.compat.client import BACKOFF_S, MAX_ATTEMPTS, RETRIED, read_answer
from agentlens.errors import AgentLensConnectionError
from agentlens.waiting import apause

T = TypeVar("T")


class AsyncAgentLensClient:
    """`AgentLensClient` with coroutines."""

    def __init__(self, url: str, api_key: str | None = None) -> None:
        self.url = url
        self.api_key = api_key
        headers = {} if api_key is None else {"authorization": f"Bearer {api_key}"}
        self._client = httpx.AsyncClient(base_url=url.rstrip("/"), headers=headers, timeout=30)

    async def __aenter__(self) -> AsyncAgentLensClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._client.aclose()

    async def _request(self, method: str, path: str, *, params: dict[str, str] | None = None, json: Any = None) -> Any:
        """JSON of the response; raises an AgentLensError."""
        for attempt in range(MAX_ATTEMPTS):
            try:
                answer = await self._client.request(method, path, params=params, json=json)
            except httpx.HTTPError as error:
                raise AgentLensConnectionError(f"{method} {path}: {error}", error) from error
            if answer.status_code not in RETRIED or attempt + 1 == MAX_ATTEMPTS:
                return read_answer(answer)
            await apause(BACKOFF_S * 2**attempt)
        return None

    async def _make(self, call: calls.Call[T]) -> T:
        return call.read(await self._request(call.method, call.path, params=call.params, json=call.json))

    async def query_events(self, query: models.EventQuery | None = None) -> models.EventQueryResult:
        return await self._make(calls.query_events(query))

    async def get_event(self, event_id: str) -> models.AgentLensEvent:
        return await self._make(calls.get_event(event_id))

    async def get_sessions(self, query: models.SessionQuery | None = None) -> models.SessionQueryResult:
        return await self._make(calls.get_sessions(query))

    async def get_session(self, session_id: str) -> models.Session:
        return await self._make(calls.get_session(session_id))

    async def get_session_timeline(self, session_id: str) -> models.TimelineResult:
        return await self._make(calls.get_session_timeline(session_id))

    async def get_agent(self, agent_id: str) -> models.Agent:
        return await self._make(calls.get_agent(agent_id))

    async def log_llm_call(
        self, session_id: str, agent_id: str, params: models.LogLlmCallParams
    ) -> models.LogLlmCallResult:
        return await self._make(calls.log_llm_call(session_id, agent_id, params))

    async def get_llm_analytics(self, params: models.LlmAnalyticsParams | None = None) -> models.LlmAnalyticsResult:
        return await self._make(calls.get_llm_analytics(params))

    async def health(self) -> models.HealthResult:
        return await self._make(calls.health())

    async def get_health(self, agent_id: str, window: int = 7) -> models.HealthScore:
        return await self._make(calls.get_health(agent_id, window))

    async def get_health_overview(self, window: int = 7) -> list[models.HealthScore]:
        return await self._make(calls.get_health_overview(window))

    async def list_guardrails(self, agent_id: str | None = None) -> models.GuardrailRuleListResult:
        return await self._make(calls.list_guardrails(agent_id))

    async def get_guardrail(self, rule_id: str) -> models.GuardrailRule:
        return await self._make(calls.get_guardrail(rule_id))

    async def update_guardrail(self, rule_id: str, **changes: Any) -> models.GuardrailRule:
        return await self._make(calls.update_guardrail(rule_id, calls.camel(changes)))

    async def delete_guardrail(self, rule_id: str) -> models.GuardrailDeleteResult:
        return await self._make(calls.delete_guardrail(rule_id))

    async def get_guardrail_status(self, rule_id: str) -> models.GuardrailStatusResult:
        return await self._make(calls.get_guardrail_status(rule_id))

    async def get_guardrail_history(
        self, rule_id: str | None = None, limit: int = 50, offset: int = 0
    ) -> models.GuardrailTriggerHistoryResult:
        return await self._make(calls.get_guardrail_history(rule_id, limit, offset))

    async def create_guardrail(
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
        return await self._make(calls.create_guardrail(calls.camel(rule)))

    async def enable_guardrail(self, rule_id: str) -> models.GuardrailRule:
        return await self.update_guardrail(rule_id, enabled=True)

    async def disable_guardrail(self, rule_id: str) -> models.GuardrailRule:
        return await self.update_guardrail(rule_id, enabled=False)

    # Features of the original platform only: each raises a NotFoundError that says so.

    async def recall(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("recall")

    async def create_lesson(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("create_lesson")

    async def get_lessons(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("get_lessons")

    async def get_lesson(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("get_lesson")

    async def update_lesson(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("update_lesson")

    async def delete_lesson(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("delete_lesson")

    async def reflect(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("reflect")

    async def get_context(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("get_context")

    async def get_health_history(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("get_health_history")

    async def get_optimization_recommendations(self, *args: Any, **kwargs: Any) -> Any:
        calls.absent("get_optimization_recommendations")
