"""Circuit breaker of one run in this process, fed with the data that the run's events report."""

from __future__ import annotations

from collections.abc import Callable

from agentlens.forks import ForkLock
from agentlens.guard.breaker import CLOSED_BREAKER, Breaker, BreakerLimits, BreakerReason, CallUsage, check, record

# Larger values are invalid: the platform ignores such a number, and so does this process.
MAX_TOKENS = 1e12
MAX_USD = 100_000


class RunBreaker:
    """`limits` returns None without a breaker; `tripped` is called once each time it opens."""

    def __init__(
        self,
        limits: Callable[[], BreakerLimits | None],
        now_ms: Callable[[], float],
        tripped: Callable[[BreakerReason], None],
    ) -> None:
        self._limits = limits
        self._now_ms = now_ms
        self._tripped = tripped
        self._lock = ForkLock()
        self._breaker: Breaker = CLOSED_BREAKER

    @property
    def breaker(self) -> Breaker:
        return self._breaker

    def refuses(self, next_call: CallUsage) -> BreakerReason | None:
        limits = self._limits()
        if limits is None:
            return None
        with self._lock:
            answer = check(self._breaker, limits, self._now_ms(), next_call)
            self._breaker = answer.breaker
        if answer.tripped and answer.reason is not None:
            self._tripped(answer.reason)
        return None if answer.allowed else answer.reason

    def model_answered(
        self,
        call_id: str,
        *,
        failed: bool,
        input_tokens: float = 0,
        output_tokens: float = 0,
        cost_usd: float = 0,
        confidence: float | None = None,
    ) -> None:
        self._record(
            CallUsage(
                of="llm",
                by=call_id,
                outcome="failure" if failed else "success",
                iterations=1,
                tokens=_within(MAX_TOKENS, input_tokens) + _within(MAX_TOKENS, output_tokens),
                cost_usd=_within(MAX_USD, cost_usd),
                confidence=confidence,
            )
        )

    def tool_ended(self, call_id: str, failed: bool) -> None:
        self._record(CallUsage(of="tool", by=call_id, outcome="failure" if failed else "success"))

    def reset(self) -> None:
        with self._lock:
            self._breaker = CLOSED_BREAKER

    def _record(self, used: CallUsage) -> None:
        with self._lock:
            self._breaker = record(self._breaker, used, self._now_ms())


def _within(most: float, amount: float) -> float:
    return amount if 0 <= amount <= most else 0
