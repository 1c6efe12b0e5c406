"""
The detectors of libs/sdk/src/redact, and the secrets of libs/guardrails/src/detectors; python/vectors/redact.json
keeps them in step. `re.ASCII` gives `\\w`, `\\d` and `\\b` their JavaScript meaning. Every repetition is bounded,
cannot match what follows it, or starts only where nothing like it precedes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Detector:
    """`confirm` rejects false positives."""

    name: str
    pattern: re.Pattern[str]
    confirm: Callable[[str], bool] | None = None


def luhn(text: str) -> bool:
    """Luhn check of card numbers, over the digits of a text."""
    digits = [int(char) for char in reversed(text) if char in "0123456789"]
    total = 0
    for index, digit in enumerate(digits):
        doubled = digit * 2 if index % 2 == 1 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return 13 <= len(digits) <= 19 and total % 10 == 0


def iban(text: str) -> bool:
    """ISO 13616: with the head moved to the end and letters written as 10 to 35, the number modulo 97 is 1."""
    compact = text.replace(" ", "").upper()
    if not 15 <= len(compact) <= 34:
        return False
    return int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1


def _phone(text: str) -> bool:
    return 7 <= sum(char in "0123456789" for char in text) <= 15


_API_KEYS = "|".join(
    (
        r"sk-[\w-]{20,}",
        r"gh[pousr]_[A-Za-z0-9]{36,}",
        r"github_pat_\w{22,}",
        r"glpat-[\w-]{20,}",
        r"xox[abeoprs]-[\w-]{10,}",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}",
        r"AIza[\w-]{35}",
        r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",
        r"npm_[A-Za-z0-9]{36}",
        r"hf_[A-Za-z0-9]{30,}",
        r"SG\.[\w-]{16,}\.[\w-]{16,}",
        r"whsec_[A-Za-z0-9+/=_-]{16,}",
        r"agk_[a-z]{1,10}_[0-9A-Za-z]{8}_[0-9A-Za-z]{16,}",
        r"al_[a-z0-9]{2,20}_[\w-]{16,}",
        r"als_[0-9a-f]{16,}",
    )
)

# Secrets before personal data: a token may contain something that looks like a number.
DETECTORS: tuple[Detector, ...] = (
    Detector(
        "private_key",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^\"]*?"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|(?=\")|\Z)"
        ),
    ),
    Detector("jwt", re.compile(r"(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*", re.ASCII)),
    Detector("api_key", re.compile(rf"\b(?:{_API_KEYS})", re.ASCII)),
    Detector(
        "email",
        re.compile(
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b", re.ASCII
        ),
    ),
    Detector("iban", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b", re.ASCII), iban),
    Detector("credit_card", re.compile(r"(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d-])", re.ASCII), luhn),
    Detector(
        "phone",
        re.compile(
            r"(?<![\w.+])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){5,12}"
            r"|\(\d{2,4}\)[ .-]?\d{3,4}[ .-]\d{3,4}|\d{3}[.-]\d{3}[.-]\d{4})(?!\w)",
            re.ASCII,
        ),
        _phone,
    ),
)
