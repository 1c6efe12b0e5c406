"""Options of `init`, validated before use."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from agentlens.guard.breaker import BreakerLimits
from agentlens.sink import SinkOptions

Enforce = Literal["enforce", "shadow", "off"]
FailMode = Literal["open", "closed"]
DEFAULT_URL = "http://127.0.0.1:3400"
DEFAULT_AGENT = "default"
# The platform's own maximum for an answer.
MAX_DEADLINE_MS = 10_000


@dataclass(frozen=True)
class Settings:
    """`agent_id` is `None` if it was not set: the names of the framework's own agents are used then."""

    url: str
    api_key: str = field(repr=False)
    agent_id: str | None
    session_id: str
    integrations: tuple[str, ...] | None = None
    enforce: Enforce = "enforce"
    fail_mode: FailMode = "open"
    deadline_ms: int = 1000
    redact: bool = False
    pii_patterns: tuple[re.Pattern[str], ...] = ()
    pii_filter: Callable[[str], str] | None = None
    breaker: BreakerLimits | None = field(default_factory=BreakerLimits)
    # The limits are the platform's defaults, which a tenant can disable.
    is_default_breaker: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    heartbeat_ms: int = 30_000
    drain_ms: int = 5000
    sink: SinkOptions = field(default_factory=SinkOptions)
    sync_mode: bool = False
    # Seconds a call waits for a person; None: 15 minutes, except where the framework can be interrupted.
    wait_for_approval: float | None = None
    approval_poll_s: float = 1.0


def resolve(options: Mapping[str, Any], new_session_id: Callable[[], str]) -> Settings:
    """Resolves options from arguments, environment and defaults. Raises TypeError or ValueError naming the option."""
    known = dict(options)
    if known.pop("cloud", False):
        raise ValueError("init: cloud=True is of another service; give url= (or AGENTLENS_URL) of your own platform")
    url = known.pop("url", None) or known.pop("server_url", None) or _environment("URL", "SERVER_URL") or DEFAULT_URL
    known.pop("server_url", None)
    if not re.match(r"https?://[^/]", url):
        raise ValueError(f"init: url is no address of a platform: {url!r}; it looks like https://agentlens.example.com")
    breaker = known.pop("breaker", None)
    return Settings(
        url=url,
        api_key=known.pop("api_key", None) or _environment("API_KEY") or "",
        agent_id=known.pop("agent_id", None) or _environment("AGENT_ID"),
        session_id=known.pop("session_id", None) or new_session_id(),
        integrations=_integrations(known.pop("integrations", None)),
        enforce=_one_of(known.pop("enforce", None) or _environment("ENFORCE") or "enforce", Enforce, "enforce"),
        fail_mode=_one_of(known.pop("fail_mode", None) or _environment("FAIL_MODE") or "open", FailMode, "fail_mode"),
        deadline_ms=_between(_deadline(known.pop("deadline_ms", None)), 1, MAX_DEADLINE_MS, "deadline_ms"),
        pii_patterns=tuple(known.pop("pii_patterns", None) or ()),
        breaker=None if breaker is False else (breaker or BreakerLimits()),
        is_default_breaker=breaker is None,
        tags=_tags(known.pop("tags", None)),
        heartbeat_ms=_between(known.pop("heartbeat_ms", 30_000), 0, 86_400_000, "heartbeat_ms"),
        drain_ms=_between(known.pop("drain_ms", 5000), 0, 600_000, "drain_ms"),
        sink=known.pop("sink", None) or SinkOptions(),
        **known,
    )


def environment_enforce() -> str | None:
    return _environment("ENFORCE")


def refuse_unknown(given: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name.replace("_", ""), [item.replace("_", "") for item in known], n=1)
            meant = next((item for item in known if near and item.replace("_", "") == near[0]), None)
            raise TypeError(f"init: {name} is no option" + (f"; did you mean {meant}?" if meant else ""))


def _environment(*names: str) -> str | None:
    for name in names:
        value = os.environ.get(f"AGENTLENS_{name}")
        if value:
            return value
    return None


def _deadline(given: int | None) -> Any:
    configured = _environment("DEADLINE_MS") or "1000"
    return given if given is not None else (int(configured) if configured.isdigit() else configured)


def _integrations(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None or given == "auto":
        return None
    return (given,) if isinstance(given, str) else tuple(given)


def _one_of(given: Any, literal: Any, name: str) -> Any:
    allowed = get_args(literal)
    if given not in allowed:
        raise ValueError(f"init: {name} is {given!r}; it is one of {', '.join(allowed)}")
    return given


def _between(given: Any, least: int, most: int, name: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise ValueError(f"init: {name} is {given!r}; it is a whole number of milliseconds from {least} to {most}")
    return given


def _tags(given: Mapping[str, str] | None) -> dict[str, str]:
    tags = dict(given or {})
    for key, value in tags.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"init: tags holds {key!r}: {value!r}; both are texts")
    return tags
