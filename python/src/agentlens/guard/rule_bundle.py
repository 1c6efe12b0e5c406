"""
Phases that the platform wants to see, and the agent's breaker limits, both from the signed rule bundle. Rules are
not evaluated here: an answer of the platform takes a millisecond.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from agentlens.clock import Clock
from agentlens.decision import Phase
from agentlens.forks import ForkLock
from agentlens.guard.breaker import BreakerLimits
from agentlens.platform import Answered, PlatformCalls

_KEY_LABEL = b"agentlens.rule-bundle.v1"
_PHASES = frozenset({"tool.before", "tool.after", "llm.before"})
# A new rule is noticed within this time; the request usually costs a 304.
RENEW_AFTER_S = 10.0


@dataclass(frozen=True)
class RuleBundle:
    version: float
    phases: frozenset[str]
    breaker_limits: BreakerLimits | None
    # The tenant disables the breaker unless limits are configured.
    default_breaker_off: bool
    ttl_s: float


class RuleBundleReader:
    """The current bundle. Without one, every call is sent to the platform, which is always correct."""

    def __init__(self, platform: PlatformCalls, api_key: str, agent_id: str, clock: Clock) -> None:
        self._platform = platform
        self._api_key = api_key
        self._agent_id = agent_id
        self._clock = clock
        self._lock = ForkLock(self._nothing_under_way)
        self._bundle: RuleBundle | None = None
        self._tag: str | None = None
        self._asked_at: float | None = None
        self._good_until = 0.0
        self._under_way = False

    def must_ask(self, phase: Phase) -> bool:
        """Always true for a tool call: the platform counts, orders and records by its request."""
        bundle = self._current()
        return phase == "tool.before" or bundle is None or phase in bundle.phases

    def breaker_limits(self) -> BreakerLimits | None:
        """The platform's latest value; an outage changes no limit."""
        self._current()
        return None if self._bundle is None else self._bundle.breaker_limits

    @property
    def default_breaker_off(self) -> bool:
        return self._bundle is not None and self._bundle.default_breaker_off

    def read(self) -> None:
        """Requests the bundle and waits as long as any call may take."""
        headers = {} if self._tag is None else {"if-none-match": self._tag}
        outcome = self._platform.call(
            "GET", f"/v1/rules/bundle?agentId={quote(self._agent_id, safe='')}", None, headers
        )
        with self._lock:
            self._asked_at = self._clock.elapsed_s()
            self._under_way = False
            if isinstance(outcome, Answered):
                self._take(outcome)

    def _take(self, answer: Answered) -> None:
        now = self._clock.elapsed_s()
        if answer.status == 304 and self._bundle is not None:
            self._good_until = now + self._bundle.ttl_s
        elif answer.status == 404:
            self._bundle, self._tag = None, None
        elif answer.ok:
            bundle = open_bundle(answer.body, self._api_key, self._agent_id)
            if bundle is not None and (self._bundle is None or bundle.version >= self._bundle.version):
                self._bundle, self._tag = bundle, answer.headers.get("etag")
                self._good_until = now + bundle.ttl_s

    def _current(self) -> RuleBundle | None:
        now = self._clock.elapsed_s()
        with self._lock:
            due = self._asked_at is not None and now - self._asked_at >= RENEW_AFTER_S and not self._under_way
            if due:
                self._under_way = True
        if due:
            self._platform.in_background(self.read)
        return self._bundle if now < self._good_until else None

    def _nothing_under_way(self) -> None:
        self._under_way = False


def open_bundle(answer: object, api_key: str, agent_id: str) -> RuleBundle | None:
    """A bundle that the platform signed for this agent; None for anything else."""
    payload = answer.get("payload") if isinstance(answer, dict) else None
    signature = answer.get("signature") if isinstance(answer, dict) else None
    if not isinstance(payload, str) or not isinstance(signature, str):
        return None
    if not hmac.compare_digest(sign(payload, api_key).encode(), signature.lower().encode("utf-8", "replace")):
        return None
    try:
        content = json.loads(payload)
    except ValueError:
        return None
    return _bundle_of(content, agent_id)


def sign(payload: str, api_key: str) -> str:
    key = hmac.new(api_key.encode(), _KEY_LABEL, hashlib.sha256).digest()
    return hmac.new(key, payload.encode(), hashlib.sha256).hexdigest()


def _bundle_of(content: Any, agent_id: str) -> RuleBundle | None:
    if not isinstance(content, dict) or content.get("agentId") != agent_id:
        return None
    version, ttl = content.get("version"), content.get("ttlSeconds")
    asked, rules = content.get("askAlways"), content.get("rules")
    if not isinstance(version, int | float) or not isinstance(ttl, int | float):
        return None
    if not isinstance(asked, list) or not isinstance(rules, list):
        return None
    phases = {*asked, *(phase for rule in rules if isinstance(rule, dict) for phase in rule.get("phases", []))}
    if not phases <= _PHASES:
        return None
    limits = _limits_of(content.get("breakerLimits"))
    return RuleBundle(version, frozenset(phases), limits, content.get("defaultBreaker") == "off", ttl)


def _limits_of(limits: object) -> BreakerLimits | None:
    try:
        return None if limits is None else BreakerLimits.model_validate(limits)
    except ValidationError:
        return None
