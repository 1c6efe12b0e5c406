"""
The circuit breaker of a run. The rules are those of libs/guardrails/src/breaker. That code's specs write
python/vectors/breaker.json, and the tests here replay it, so that both behave the same.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from agentlens.clock import instant

BreakerReason = Literal["tokens", "iterations", "cost", "failures", "confidence", "operator"]
CallKind = Literal["llm", "tool"]
# No limit looks back further, so no more reports are kept.
MAX_REPORTS = 50


class BreakerLimits(BaseModel):
    """Reaching a limit is allowed; exceeding it trips. Tokens and iterations are counts, cost is USD."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")
    max_tokens: float = Field(default=200_000, ge=0)
    max_iterations: float = Field(default=50, ge=0)
    max_cost_usd: float = Field(default=10, ge=0)
    max_consecutive_failures: float = Field(default=10, ge=0)
    # Trips when confidence falls by more over the last `confidence_window` reports; None: not monitored.
    max_confidence_drop: float | None = 0.3
    confidence_window: int = Field(default=5, ge=2, le=MAX_REPORTS)
    # How long an open breaker waits before it lets one probe through; None: only a reset closes it.
    probe_after_seconds: float | None = None


@dataclass(frozen=True)
class Usage:
    """What a run has used since its breaker last closed."""

    tokens: float = 0
    iterations: float = 0
    cost_usd: float = 0
    consecutive_failures: int = 0
    # What failed last: only a success of the same kind ends the streak.
    failing: CallKind | None = None
    confidences: tuple[float, ...] = ()


@dataclass(frozen=True)
class CallUsage:
    """Actual or expected usage of one call. Unknown values count as zero."""

    tokens: float | None = None
    iterations: float | None = None
    cost_usd: float | None = None
    outcome: Literal["success", "failure"] | None = None
    of: CallKind | None = None
    confidence: float | None = None
    # Who makes the call: only the probe itself can close a half-open breaker.
    by: str | None = None


@dataclass(frozen=True)
class BreakerState:
    kind: Literal["closed", "open", "half_open"] = "closed"
    opened_at: str | None = None
    reason: BreakerReason | None = None
    probe: str | None = None


@dataclass(frozen=True)
class Breaker:
    """Immutable: every change creates a new value."""

    state: BreakerState = BreakerState()
    usage: Usage = Usage()


@dataclass(frozen=True)
class BreakerAnswer:
    breaker: Breaker
    allowed: bool
    probe: bool = False
    reason: BreakerReason | None = None
    # True once, when it opens.
    tripped: bool = False


CLOSED_BREAKER = Breaker()
_NO_CALL = CallUsage()


def check(breaker: Breaker, limits: BreakerLimits, now_ms: float, next_call: CallUsage = _NO_CALL) -> BreakerAnswer:
    """Whether another call may start. After an open breaker's waiting time exactly one caller, `by`, is the probe."""
    state = breaker.state
    if state.kind == "closed":
        reason = over_limit(breaker.usage, limits, next_call)
        if reason is None:
            return BreakerAnswer(breaker, True)
        return BreakerAnswer(trip(breaker, reason, now_ms), False, reason=reason, tripped=True)
    if state.kind == "half_open" and next_call.by is not None and state.probe == next_call.by:
        return BreakerAnswer(breaker, True, probe=True)
    if next_call.by is None or not _waited_enough(state.opened_at, limits, now_ms):
        return BreakerAnswer(breaker, False, reason=state.reason)
    # The waiting time restarts with the probe, so that a lost probe is followed by another.
    probing = BreakerState("half_open", instant(now_ms), state.reason, next_call.by)
    return BreakerAnswer(replace(breaker, state=probing), True, probe=True)


def record(breaker: Breaker, used: CallUsage, now_ms: float) -> Breaker:
    """Adds the usage of a call. Never opens a closed breaker; the outcome of the probe closes or reopens it."""
    state = breaker.state
    probed = state.kind == "half_open" and used.by == state.probe and used.outcome is not None
    if probed and used.outcome == "success":
        return CLOSED_BREAKER
    usage = _add(breaker.usage, used)
    if probed:
        return Breaker(BreakerState("open", instant(now_ms), state.reason), usage)
    return Breaker(state, usage)


def trip(breaker: Breaker, reason: BreakerReason, now_ms: float) -> Breaker:
    """Opens the breaker; an open one keeps its first reason."""
    if breaker.state.kind == "open":
        return breaker
    return Breaker(BreakerState("open", instant(now_ms), reason), breaker.usage)


def over_limit(usage: Usage, limits: BreakerLimits, next_call: CallUsage = _NO_CALL) -> BreakerReason | None:
    """The exceeded limit, most severe first."""
    if _exceeds(usage.cost_usd + (next_call.cost_usd or 0), limits.max_cost_usd):
        return "cost"
    if usage.tokens + (next_call.tokens or 0) > limits.max_tokens:
        return "tokens"
    if usage.iterations + (next_call.iterations or 0) > limits.max_iterations:
        return "iterations"
    if usage.consecutive_failures > limits.max_consecutive_failures:
        return "failures"
    if limits.max_confidence_drop is None:
        return None
    fall = confidence_fall(usage.confidences, limits.confidence_window)
    return "confidence" if fall is not None and _exceeds(fall, limits.max_confidence_drop) else None


def confidence_fall(reports: tuple[float, ...], window: int) -> float | None:
    """How far the last `window` reports fall along their least-squares line; None until there are that many."""
    if window < 2 or len(reports) < window:
        return None
    middle = (window - 1) / 2
    along = spread = 0.0
    for index, report in enumerate(reports[-window:]):
        distance = index - middle
        along += distance * report
        spread += distance * distance
    return -(along / spread) * (window - 1)


def read_call(sent: dict[str, Any]) -> CallUsage:
    """A call as written in the vectors."""
    names = {"costUsd": "cost_usd"}
    return CallUsage(**{names.get(key, key): value for key, value in sent.items()})


def _add(usage: Usage, used: CallUsage) -> Usage:
    failures, failing = _row_of_failures(usage, used)
    return Usage(
        tokens=usage.tokens + _amount(used.tokens),
        iterations=usage.iterations + _amount(used.iterations),
        cost_usd=usage.cost_usd + _amount(used.cost_usd),
        consecutive_failures=failures,
        failing=failing,
        confidences=_remember(usage.confidences, used.confidence),
    )


def _amount(value: float | None) -> float:
    """Invalid amounts must not corrupt a sum or reduce it."""
    return value if value is not None and math.isfinite(value) and value > 0 else 0


def _remember(reports: tuple[float, ...], report: float | None) -> tuple[float, ...]:
    if report is None or not 0 <= report <= 1:
        return reports
    return (*reports[1 - MAX_REPORTS :], report)


def _row_of_failures(usage: Usage, used: CallUsage) -> tuple[int, CallKind | None]:
    """Model calls between attempts do not reset the failures of a tool, or vice versa."""
    before, failing = usage.consecutive_failures, usage.failing
    kind = (used.of or failing) if used.outcome == "failure" else failing
    same = used.of is None or failing is None or used.of == failing
    if used.outcome == "success" and same:
        return 0, None
    return (before + 1 if used.outcome == "failure" else before), kind


def _waited_enough(opened_at: str | None, limits: BreakerLimits, now_ms: float) -> bool:
    if limits.probe_after_seconds is None or opened_at is None:
        return False
    opened = datetime.datetime.fromisoformat(opened_at.replace("Z", "+00:00")).timestamp() * 1000
    return now_ms - opened >= limits.probe_after_seconds * 1000


def _exceeds(value: float, limit: float) -> bool:
    """Compensates binary fractions: a hundred times ten cents is ten dollars."""
    return value > limit and value - limit > 1e-9 * max(1.0, limit)
