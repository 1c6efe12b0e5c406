"""Events as they are enqueued and as they are sent (docs/wire-format.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agentlens.clock import instant
from agentlens.errors import kind_of, text_of
from agentlens.jsonable import clip, fit_event, plain, write
from agentlens.redact.content import ContentFilter

Severity = Literal["debug", "info", "warn", "error", "critical"]
MAX_ID_CHARS = 256


@dataclass(frozen=True)
class Event:
    """`payload` is serialised when the event is sent, including changes made until then."""

    id: str
    type: str
    run_id: str
    agent_id: str
    at_ms: float
    payload: Mapping[str, Any]
    severity: Severity = "info"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()


@dataclass(frozen=True)
class Source:
    """The framework that an event comes from."""

    framework: str = "agentlens"
    version: str | None = None
    component: str | None = None
    agent: str | None = None

    def metadata(self) -> dict[str, Any]:
        """The original package's metadata names."""
        found = {
            "source": self.framework,
            "framework": self.framework,
            "framework_version": self.version,
            "framework_component": self.component,
            "framework_agent": self.agent,
        }
        return {key: value for key, value in found.items() if value is not None}


def wire_event(event: Event, content: ContentFilter) -> str:
    """JSON of one event, within the limits of the platform."""
    body = {
        "id": event.id,
        "sessionId": name_of(event.run_id),
        "agentId": name_of(event.agent_id),
        "eventType": event.type,
        "severity": event.severity,
        "timestamp": instant(event.at_ms),
        "payload": content.apply(fit_event(event.payload)),
        "metadata": plain(event.metadata),
    }
    return write({**body, "tags": list(event.tags)} if event.tags else body)


def name_of(text: str, otherwise: str = "unknown") -> str:
    """An id or name that the platform accepts: 1 to 256 characters without control characters."""
    cleaned = "".join(char for char in clip(text, 1_024) if char.isprintable() or char == " ")
    return clip(cleaned.strip(), MAX_ID_CHARS) or otherwise


def error_text(error: BaseException) -> str:
    text = text_of(error)
    return f"{kind_of(error)}: {text}" if text else kind_of(error)
