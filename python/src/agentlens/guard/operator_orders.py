"""Operator orders received by this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentlens.forks import ForkLock

# A process receives the orders for all runs of its agent, including those in other processes.
MAX_RUN_ORDERS = 1_000


@dataclass(frozen=True)
class OrderedState:
    """State that an operator wants a run to be in."""

    state: Literal["running", "paused", "killed"] = "running"
    id: str = ""
    reason: str = ""


RUNNING = OrderedState()


class OperatorOrders:
    """
    Each order is the complete desired state of one scope with a version, so duplicates and reordering have no
    effect.
    """

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._orders: dict[tuple[str, str], tuple[float, OrderedState]] = {}
        self._directive_version: float = 0
        self._paused = RUNNING
        self.model_override: str | None = None

    def of(self, run_id: str) -> OrderedState:
        """Killed takes precedence over paused."""
        found = self._paused
        for key in (("tenant", ""), ("agent", ""), ("run", run_id)):
            ordered = self._orders.get(key, (0, RUNNING))[1]
            if ordered.state == "killed":
                return ordered
            if ordered.state == "paused":
                found = ordered
        return found

    def take(self, message: object, agent_id: str) -> str | None:
        """Returns the id to acknowledge; None if it is not an order or directive for this agent."""
        if not isinstance(message, Mapping):
            return None
        order_id, version = message.get("id"), message.get("version")
        if not isinstance(order_id, str) or not isinstance(version, int | float):
            return None
        if isinstance(message.get("scope"), str):
            return self._take_order(message, order_id, version, agent_id)
        if "paused" in message or "modelOverride" in message:
            return self._take_directive(message, order_id, version, agent_id)
        return None

    def _take_order(self, order: Mapping[str, Any], order_id: str, version: float, agent_id: str) -> str | None:
        scope, scope_id, state = order["scope"], order.get("scopeId"), order.get("state")
        if scope not in ("agent", "tenant", "run") or state not in ("running", "paused", "killed"):
            return None
        if scope == "agent" and scope_id != agent_id:
            return None
        key = (scope, str(scope_id) if scope == "run" else "")
        ordered = RUNNING if state == "running" else OrderedState(state, order_id, _text(order.get("reason")))
        with self._lock:
            if self._orders.get(key, (-1, RUNNING))[0] < version:
                self._orders[key] = (version, ordered)
                self._forget_old_runs()
        return order_id

    def _forget_old_runs(self) -> None:
        """The platform still enforces an order that is evicted here."""
        runs = [key for key in self._orders if key[0] == "run"]
        for key in runs[: max(0, len(runs) - MAX_RUN_ORDERS)]:
            del self._orders[key]

    def _take_directive(self, directive: Mapping[str, Any], order_id: str, version: float, agent: str) -> str | None:
        if directive.get("agentId") != agent:
            return None
        with self._lock:
            if version > self._directive_version:
                self._directive_version = version
                paused, override = directive.get("paused"), directive.get("modelOverride")
                self._paused = RUNNING
                if isinstance(paused, Mapping):
                    self._paused = OrderedState("paused", order_id, _text(paused.get("reason")))
                model = override.get("model") if isinstance(override, Mapping) else None
                self.model_override = model if isinstance(model, str) else None
        return order_id


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
