"""
The platform in memory, for tests of agents without a network. The package runs unchanged: its requests reach the
test server instead of a socket.
"""

from __future__ import annotations

import fnmatch
import json
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from agentlens import _init, _state
from agentlens.instance import Instance
from agentlens.transport import Reply, Unanswered

Question = Mapping[str, Any]
Answer = Mapping[str, Any]
Failure = Literal["down", "hang", "nonsense"] | int


def allow() -> Answer:
    return {"verdict": "ALLOW", "control": "CONTINUE", "cause": {"kind": "ALLOW"}, "message": "", "evaluatedRules": []}


def block(message: str = "Not allowed.", rule_id: str = "rule-1") -> Answer:
    cause = {"kind": "RULE_VIOLATION", "ruleId": rule_id}
    return {**allow(), "verdict": "BLOCK", "cause": cause, "message": message, "finalRuleId": rule_id}


def terminate(message: str = "Not allowed; the run ends.", rule_id: str = "rule-1") -> Answer:
    return {**block(message, rule_id), "control": "TERMINATE"}


def modify(args: Mapping[str, Any]) -> Answer:
    return {**allow(), "modifiedArgs": dict(args)}


def need_approval(message: str = "A human has to approve this.") -> Answer:
    return {**block(message), "cause": {"kind": "HITL_PENDING", "approvalId": "pending", "ruleId": "rule-1"}}


@dataclass
class _Rule:
    answer: Callable[[Question], Answer]
    tools: Sequence[str]
    phases: Sequence[str]
    when: Callable[[Question], bool]


@dataclass
class TestServer:
    """
    The last rule added is tried first. `events` holds each event once, `questions` the decision requests, `calls`
    all requests.
    """

    __test__ = False  # not a pytest test
    questions: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Sent to a run at its start and with each heartbeat; and the answer to the next poll for orders.
    lockdown: dict[str, Any] = field(default_factory=lambda: {"active": False})
    orders: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._events: dict[str, dict[str, Any]] = {}
        self._rules: list[_Rule] = []
        self._approved: set[tuple[str, str]] = set()
        self._failure: tuple[Failure, str] | None = None
        self._released = threading.Event()
        self.pending: list[tuple[str, str]] = []
        self.bundle: Reply | None = None

    # -- what the test says ----------------------------------------------------------------------------------------

    def rule(
        self,
        answer: Answer,
        *,
        tools: Sequence[str] = ("*",),
        phases: Sequence[str] = ("tool.before",),
        when: Callable[[Question], bool] = lambda question: True,
    ) -> TestServer:
        self._rules.insert(0, _Rule(lambda question: answer, tools, phases, when))
        return self

    def approve(self) -> None:
        """All pending approvals."""
        with self._lock:
            self._approved.update(self.pending)
            self.pending.clear()

    def fail(self, how: Failure | None, path: str = "") -> None:
        """Fails every call whose path contains `path`, until `fail(None)`."""
        self._released.set()
        self._released = threading.Event()
        self._failure = None if how is None else (how, path)

    def client(self, **options: Any) -> Instance:
        """`agentlens.init` with this server; call `agentlens.shutdown` afterwards."""
        if _state.get() is not None:
            raise RuntimeError("agentlens.init() was called already; call agentlens.shutdown() first")
        return _init.start_with(self, **{"integrations": [], "heartbeat_ms": 0, **options})

    # -- what arrived ----------------------------------------------------------------------------------------------

    @property
    def events(self) -> list[dict[str, Any]]:
        instance = _state.get()
        if instance is not None:
            instance.sink.flush(5)
        return sorted(self._events.values(), key=lambda event: str(event["id"]))

    def events_of(self, event_type: str, custom: str | None = None) -> list[dict[str, Any]]:
        """`custom`: only custom events of this type."""
        found = [event for event in self.events if event["eventType"] == event_type]
        return [event for event in found if custom is None or event["payload"].get("type") == custom]

    def asked(self, phase: str = "tool.before") -> list[dict[str, Any]]:
        return [question for question in self.questions if question["phase"] == phase]

    # -- the transport ---------------------------------------------------------------------------------------------

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float) -> Reply:
        with self._lock:
            self.calls.append((method, path))
        failed = self._failed(path, timeout_s)
        if failed is not None:
            return failed
        content = None if body is None else json.loads(body)
        return self._route(method, urlsplit(path).path, content, headers)

    def close(self) -> None:
        self._released.set()

    def _failed(self, path: str, timeout_s: float) -> Reply | None:
        if self._failure is None or self._failure[1] not in path:
            return None
        how = self._failure[0]
        if how == "down":
            raise Unanswered("unavailable")
        if how == "hang":
            self._released.wait(timeout_s * 4)
            raise Unanswered("deadline")
        return Reply(200, "<html>") if how == "nonsense" else Reply(how, json.dumps({"error": "no", "status": how}))

    def _route(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Reply:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if parts[:2] == ["api", "events"]:
            return self._take_events(body["events"])
        if parts[:2] == ["v1", "agents"]:
            return _json(200, {"agentId": body["slug"]})
        if parts[:3] == ["v1", "rules", "bundle"]:
            return self.bundle or _json(404, {"error": "no bundle", "status": 404})
        if parts[:2] == ["v1", "runs"] and len(parts) == 4:
            return self._of_run(parts[2], parts[3], body)
        if parts[:2] == ["v1", "control"]:
            items, self.orders = [{"kind": "order", "id": "1", "value": order} for order in self.orders], []
            return _json(200, {"items": items, "next": "1"})
        return _json(404, {"error": f"{method} {path} is no route", "status": 404})

    def _of_run(self, run_id: str, call: str, body: Any) -> Reply:
        with self._lock:
            run = self.runs.setdefault(run_id, {})
            if call == "evaluate":
                self.questions.append({**body, "runId": run_id})
                return _json(200, self._decide(run_id, body))
            run.update({"start": {"started": body}, "end": {"ended": body}}.get(call, {}))
        return _json(200, {"runId": run_id, "status": (body or {}).get("status"), "lockdown": self.lockdown})

    def _decide(self, run_id: str, question: Question) -> Answer:
        tool = (question.get("tool") or {}).get("name", "")
        for rule in self._rules:
            about = question["phase"] in rule.phases and any(fnmatch.fnmatchcase(tool, glob) for glob in rule.tools)
            if not about or not rule.when(question):
                continue
            answer = rule.answer(question)
            call = (run_id, str(question.get("callId")))
            if answer["cause"]["kind"] != "HITL_PENDING":
                return answer
            if call in self._approved:
                return allow()
            if call not in self.pending:
                self.pending.append(call)
            return answer
        return allow()

    def _take_events(self, events: Sequence[Any]) -> Reply:
        with self._lock:
            for event in events:
                self._events.setdefault(event.get("id") or str(uuid.uuid4()), event)
        return _json(201, {"ingested": len(events), "events": []})


def _json(status: int, body: Any) -> Reply:
    return Reply(status, json.dumps(body))
