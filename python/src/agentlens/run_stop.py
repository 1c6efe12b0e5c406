"""What ends a run before its agent does: a decision, an operator's order, a rejected key, its TTL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentlens.decision import Decision
from agentlens.guard.decider import Question, key_refused
from agentlens.guard.operator_orders import RUNNING, OrderedState
from agentlens.platform import Answered, Outcome

if TYPE_CHECKING:
    from agentlens.instance import Instance


class RunStop:
    """Whether a run may continue, and what stopped it."""

    def __init__(self, instance: Instance, run_id: str, *, bounded: bool, ttl_ms: int | None) -> None:
        self._instance = instance
        self._run_id = run_id
        # The process run has no end: a decision to terminate only ends its call.
        self._bounded = bounded
        self._ttl_ms = ttl_ms
        self._started_s = instance.clock.elapsed_s()
        self._told = RUNNING
        self.decision: Decision | None = None
        self.model_override: str | None = None

    def ordered_state(self) -> OrderedState:
        """Killed takes precedence over paused."""
        ordered = self._instance.operator_orders.of(self._run_id)
        if self._ttl_ms is not None and (self._instance.clock.elapsed_s() - self._started_s) * 1000 > self._ttl_ms:
            return OrderedState("killed", "", "it timed out")
        return self._told if self._told.state == "killed" or ordered.state == "running" else ordered

    def stop(self, decision: Decision) -> None:
        """Stops the run; the first reason is kept."""
        if self.decision is None and (self._bounded or decision.bypass == "key_refused"):
            self.decision = decision

    def noted(self, decision: Decision) -> Decision:
        paused = self.ordered_state().state == "paused"
        if decision.terminates and not paused:
            self.stop(decision)
        return decision

    def heard_refusal(self, outcome: Outcome | None) -> None:
        """A rejected key is not an outage: it ends the run, regardless of which call reports it."""
        if isinstance(outcome, Answered) and outcome.key_refused and self._instance.settings.enforce == "enforce":
            self.stop(key_refused(Question("llm.before", self._instance.new_id(), {}), outcome.status))

    def heard_lockdown(self, answer: object) -> None:
        """The platform's answer at the start of a run and to each heartbeat."""
        lockdown = answer.get("lockdown") if isinstance(answer, Mapping) else None
        if not isinstance(lockdown, Mapping):
            return
        override = answer.get("modelOverride") if isinstance(answer, Mapping) else None
        self.model_override = override if isinstance(override, str) else None
        if lockdown.get("active") is not True:
            self._told = RUNNING
            return
        reason, lockdown_id = lockdown.get("reason"), lockdown.get("lockdownId")
        self._told = OrderedState(
            "paused" if lockdown.get("kind") == "paused" else "killed",
            lockdown_id if isinstance(lockdown_id, str) else "",
            reason if isinstance(reason, str) else "",
        )
