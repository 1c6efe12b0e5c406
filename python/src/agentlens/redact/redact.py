"""Removes secrets and personal data from texts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agentlens.redact.detectors import DETECTORS, Detector

T = TypeVar("T")


@dataclass(frozen=True)
class Finding:
    """Positions refer to the input text."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Redacted:
    text: str
    findings: tuple[Finding, ...]


def _bracketed(name: str, _found: str) -> str:
    return f"[{name}]"


def redact(
    text: str,
    *,
    detect: Sequence[str] | None = None,
    also: Sequence[Detector] = (),
    replacement: Callable[[str, str], str] = _bracketed,
) -> Redacted:
    """`detect` names the built-in detectors to use (default all); additional ones, `also`, are applied first."""
    findings = _find_all(text, [*also, *(item for item in DETECTORS if detect is None or item.name in detect)])
    pieces: list[str] = []
    at = 0
    for finding in findings:
        pieces += [text[at : finding.start], replacement(finding.name, text[finding.start : finding.end])]
        at = finding.end
    return Redacted("".join([*pieces, text[at:]]), tuple(findings))


def redact_deep(value: T, **options: Any) -> T:
    """Redacts every text inside a value except member names; the value itself is not changed."""
    result: T = _deep(value, options, {})
    return result


def _deep(value: Any, options: dict[str, Any], copies: dict[int, Any]) -> Any:
    if isinstance(value, str):
        return redact(value, **options).text
    if id(value) in copies:
        return copies[id(value)]
    if type(value) is dict:
        copy: dict[Any, Any] = {}
        copies[id(value)] = copy
        copy.update((key, _deep(item, options, copies)) for key, item in value.items())
        return copy
    if type(value) is list:
        items: list[Any] = []
        copies[id(value)] = items
        items.extend(_deep(item, options, copies) for item in value)
        return items
    if type(value) is tuple:
        return tuple(_deep(item, options, copies) for item in value)
    return value


def _find_all(text: str, detectors: Sequence[Detector]) -> list[Finding]:
    """Findings in order of position; if two overlap, the earlier detector wins."""
    kept: list[Finding] = []
    starts: list[int] = []
    for detector in detectors:
        for match in detector.pattern.finditer(text):
            start, end = match.span()
            if start == end or (detector.confirm is not None and not detector.confirm(match.group())):
                continue
            at = bisect_left(starts, start)
            if (at > 0 and kept[at - 1].end > start) or (at < len(kept) and kept[at].start < end):
                continue
            kept.insert(at, Finding(detector.name, start, end))
            starts.insert(at, start)
    return kept
