"""Removes content from events before they leave the process."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

logger = logging.getLogger("agentlens")

PII_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
PII_SSN = re.compile(r"\b\d{3}-\d{2}-\d{4}\b")
PII_CREDIT_CARD = re.compile(r"\b\d(?:[ -]?\d){12,18}\b")
PII_PHONE = re.compile(r"(?<!\w)(?:\+?\d{1,3}[ .-]?)?(?:\(\d{3}\)|\d{3})[ .-]?\d{3}[ .-]?\d{4}(?!\w)")

REDACTED = "[REDACTED]"
_CONTENT = ("arguments", "result", "error", "messages", "completion", "systemPrompt", "data", "summary", "query")
# Text that is not content: patterns are not applied, so that the platform can still read the events.
_NAMES = frozenset({"callId", "toolName", "model", "provider", "type", "agentName", "finishReason", "reason", "role"})


def apply_pii_filters(
    value: Any,
    patterns: Sequence[re.Pattern[str]] | None = None,
    pii_filter: Callable[[str], str] | None = None,
) -> Any:
    """Replaces every pattern match inside a value, then applies the filter to each text."""
    if isinstance(value, str):
        for pattern in patterns or ():
            value = pattern.sub(REDACTED, value)
        return value if pii_filter is None else pii_filter(value)
    if isinstance(value, Mapping):
        return {
            key: item if key in _NAMES and isinstance(item, str) else apply_pii_filters(item, patterns, pii_filter)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [apply_pii_filters(item, patterns, pii_filter) for item in value]
    return value


class ContentFilter:
    """`redact`: no content leaves at all. If the filter raises, the content is dropped."""

    def __init__(
        self,
        redact: bool = False,
        patterns: Sequence[re.Pattern[str]] | None = None,
        pii_filter: Callable[[str], str] | None = None,
    ) -> None:
        self._redact = redact
        self._patterns = tuple(patterns or ())
        self._pii_filter = pii_filter

    def apply(self, payload: dict[str, Any]) -> dict[str, Any]:
        """`payload` is plain JSON."""
        if self._redact:
            return without_content(payload)
        if not self._patterns and self._pii_filter is None:
            return payload
        try:
            filtered: dict[str, Any] = apply_pii_filters(payload, self._patterns, self._pii_filter)
            return filtered
        except Exception:
            logger.exception("AgentLens: the PII filter failed; the content of an event is left out")
            return without_content(payload)


def without_content(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _hidden(key, value) if key in _CONTENT else value for key, value in payload.items()}


def _hidden(key: str, value: Any) -> Any:
    if key == "messages" and isinstance(value, list):
        return [{"role": str(item.get("role", "")), "content": REDACTED} for item in value if isinstance(item, dict)]
    if key in ("arguments", "data"):
        return {"redacted": True}
    return None if value is None else REDACTED
