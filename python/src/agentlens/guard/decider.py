"""Decides about one call, cheapest check first: orders, the breaker, the platform, the fail mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agentlens.decision import (
    BYPASSES,
    Actor,
    Bypass,
    Cause,
    Decision,
    Phase,
    RuleBypass,
    Shadowed,
    Subject,
    read_decision,
)
from agentlens.guard.operator_orders import OrderedState
from agentlens.guard.outage import OutagePause
from agentlens.guard.rule_bundle import RuleBundleReader
from agentlens.platform import NoAnswer, Outcome, PlatformCalls, run_path

# Larger arguments cannot be checked; the platform itself stops reading at 250,000.
MAX_ARGUMENT_CHARS = 200_000


@dataclass(frozen=True)
class Question:
    """`args` and `result` are JSON already; `given` is what the tool will be called with."""

    phase: Phase
    call_id: str
    given: Mapping[str, Any]
    args: Any = None
    tool: str | None = None
    tags: Sequence[str] = ()
    subjects: Sequence[Subject] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    result: Any = None
    oversized: bool = False


class AskingRun(Protocol):
    """What the decider needs from its run."""

    @property
    def id(self) -> str: ...
    @property
    def agent_id(self) -> str: ...
    @property
    def actor(self) -> Actor | None: ...
    @property
    def tags(self) -> Mapping[str, str]: ...
    @property
    def stopped(self) -> Decision | None: ...
    def ordered_state(self) -> OrderedState: ...
    def breaker_refuses(self, question: Question) -> str | None: ...


@dataclass(frozen=True)
class _Request:
    path: str
    body: dict[str, Any]
    headers: dict[str, str]


class Decider:
    """`asked` and `bypassed` count requests to the platform and calls without a decision."""

    def __init__(
        self,
        platform: PlatformCalls,
        outage: OutagePause,
        bundle: RuleBundleReader,
        *,
        enforce: Literal["enforce", "shadow", "off"],
        fail_mode: Literal["open", "closed"],
        deadline_ms: int,
        new_id: Callable[[], str],
        warn_once: Callable[[str], None],
    ) -> None:
        self._platform = platform
        self._outage = outage
        self._bundle = bundle
        self._enforce = enforce
        self._fail_mode = fail_mode
        self._deadline_ms = deadline_ms
        self._new_id = new_id
        self._warn_once = warn_once
        self.asked = 0
        self.bypassed = 0

    def decide(self, run: AskingRun, question: Question) -> Decision:
        step = self._before_asking(run, question)
        if isinstance(step, Decision):
            return step
        outcome = self._platform.call("POST", step.path, step.body, step.headers)
        return self._after_asking(run, question, outcome)

    async def adecide(self, run: AskingRun, question: Question) -> Decision:
        step = self._before_asking(run, question)
        if isinstance(step, Decision):
            return step
        outcome = await self._platform.acall("POST", step.path, step.body, step.headers)
        return self._after_asking(run, question, outcome)

    def failed(self, question: Question) -> Decision:
        """This package itself failed: the fail mode applies, as for any other outage."""
        return self._answer(question, self._by_fail_mode(question, "error"))

    def _before_asking(self, run: AskingRun, question: Question) -> Decision | _Request:
        if self._enforce == "off":
            return _allowed(question)
        refusal = self._at_once(run, question)
        if refusal is not None:
            return self._answer(question, refusal)
        if not self._bundle.must_ask(question.phase):
            return _allowed(question)
        if not self._outage.may_ask():
            return self._answer(question, self._by_fail_mode(question, "unavailable"))
        self.asked += 1
        return self._request(run, question)

    def _at_once(self, run: AskingRun, question: Question) -> Decision | None:
        if run.stopped is not None and question.phase != "tool.after":
            stop = run.stopped
            return _lockdown(question, stop.message, lockdown_id=stop.cause.lockdown_id)
        ordered = run.ordered_state()
        if ordered.state != "running":
            return _ordered(question, ordered)
        reason = run.breaker_refuses(question)
        if reason is not None:
            return _lockdown(question, f"The circuit breaker of this run is open ({reason}).")
        if question.oversized and question.phase == "tool.before":
            return _blocked(question, "The arguments of this call are too large to be checked.")
        return None

    def _request(self, run: AskingRun, question: Question) -> _Request:
        body: dict[str, Any] = {
            "phase": question.phase,
            "agentId": run.agent_id,
            "callId": question.call_id,
            "deadlineMs": self._deadline_ms,
            "args": {} if question.oversized else question.args,
            "tags": dict(run.tags),
        }
        if question.tool is not None:
            body["tool"] = {"name": question.tool, "tags": list(question.tags)}
        if question.phase == "tool.after":
            body["result"] = question.result
        if run.actor is not None:
            body["actor"] = _sent(run.actor)
        if question.subjects:
            body["subjects"] = [_sent(subject) for subject in question.subjects]
        if question.metrics:
            body["metrics"] = dict(question.metrics)
        return _Request(run_path(run.id, "evaluate"), body, {"idempotency-key": self._new_id()})

    def _after_asking(self, run: AskingRun, question: Question, outcome: Outcome) -> Decision:
        # An order may have arrived in the meantime; it overrides an earlier ALLOW.
        ordered = run.ordered_state()
        if ordered.state != "running":
            return self._answer(question, _ordered(question, ordered))
        return self._answer(question, self._read(question, outcome))

    def _read(self, question: Question, outcome: Outcome) -> Decision:
        if isinstance(outcome, NoAnswer):
            self._outage.failed()
            return self._by_fail_mode(question, outcome.why)
        if outcome.key_refused:
            # Not an outage: the key was revoked or never had the scope. The fail mode does not apply.
            return key_refused(question, outcome.status)
        if outcome.status >= 500:
            self._outage.failed()
            return self._by_fail_mode(question, "unavailable")
        self._outage.answered()
        if not outcome.ok:
            return self._by_fail_mode(question, "refused")
        decision = read_decision(outcome.body)
        if decision is None:
            return self._by_fail_mode(question, "nonsense")
        passed = next((bypass for bypass in decision.bypasses if _is_undecided(bypass)), None)
        if decision.verdict == "ALLOW" and passed is not None and self._fail_mode == "closed":
            return self._by_fail_mode(question, "deadline" if passed.why == "deadline" else "unavailable")
        changed = decision.verdict == "ALLOW" and decision.modified_args is not None
        return Decision(
            **decision.model_dump(exclude={"modified_args", "cause", "evaluated_rules", "bypasses"}),
            cause=decision.cause,
            evaluated_rules=decision.evaluated_rules,
            bypasses=decision.bypasses,
            phase=question.phase,
            call_id=question.call_id,
            args=dict(decision.modified_args or {}) if changed else dict(question.given),
            source="remote",
        )

    def _by_fail_mode(self, question: Question, why: Bypass) -> Decision:
        self.bypassed += 1
        happened = BYPASSES[why][1]
        did = "refused" if self._fail_mode == "closed" else "let through"
        self._warn_once(f"a call was {did} without a decision: {happened}")
        message = f"No decision could be made: {happened}. Failing {self._fail_mode}."
        if self._fail_mode == "closed":
            return _lockdown(question, message, source="fallback", bypass=why)
        return _allowed(question).model_copy(update={"message": message, "source": "fallback", "bypass": why})

    def _answer(self, question: Question, decision: Decision) -> Decision:
        if self._enforce != "shadow":
            return decision
        unchanged = decision.verdict == "ALLOW" and decision.args == question.given
        shadowed = Shadowed(
            verdict=decision.verdict, control=decision.control, cause=decision.cause, message=decision.message
        )
        return _allowed(question).model_copy(
            update={
                "source": decision.source,
                "bypass": decision.bypass,
                "decision_id": decision.decision_id,
                "evaluated_rules": decision.evaluated_rules,
                "shadowed": None if unchanged else shadowed,
            }
        )


def _is_undecided(bypass: RuleBypass) -> bool:
    """
    Excludes data missing in this call and errors of the rule itself, because the rule's author decided about those.
    Unknown reasons come from a newer platform.
    """
    return bypass.did != "block" and (bypass.rule_id == "*" or bypass.why not in ("missing", "error"))


def _sent(model: Actor | Subject) -> dict[str, Any]:
    return model.model_dump(by_alias=True, exclude_none=True)


def _allowed(question: Question) -> Decision:
    return Decision(
        verdict="ALLOW",
        control="CONTINUE",
        cause=Cause(kind="ALLOW"),
        message="",
        phase=question.phase,
        call_id=question.call_id,
        args=dict(question.given),
    )


def _blocked(question: Question, message: str) -> Decision:
    cause = Cause(kind="RULE_VIOLATION", rule_id="agentlens.sdk")
    return _allowed(question).model_copy(update={"verdict": "BLOCK", "cause": cause, "message": message})


def _lockdown(
    question: Question,
    message: str,
    *,
    lockdown_id: str | None = None,
    source: Literal["local", "remote", "fallback"] = "local",
    bypass: Bypass | None = None,
) -> Decision:
    return _allowed(question).model_copy(
        update={
            "verdict": "BLOCK",
            "control": "TERMINATE",
            "cause": Cause(kind="LOCKDOWN", lockdown_id=lockdown_id),
            "message": message,
            "source": source,
            "bypass": bypass,
        }
    )


def _ordered(question: Question, ordered: OrderedState) -> Decision:
    what = "stopped" if ordered.state == "killed" else "paused"
    why = f": {ordered.reason}" if ordered.reason else ""
    return _lockdown(question, f"This run was {what}{why}", lockdown_id=ordered.id)


def key_refused(question: Question, status: int) -> Decision:
    what = "is not valid any more" if status == 401 else "lacks the scope `decide`"
    message = f"The key was refused: the platform answers {status}, it {what}."
    return _lockdown(question, message, source="fallback", bypass="key_refused")
