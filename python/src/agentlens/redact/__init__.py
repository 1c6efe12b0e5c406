"""Secrets and personal data in texts, and what `init(redact=…, pii_patterns=…, pii_filter=…)` keeps out of events."""

from agentlens.redact.content import PII_CREDIT_CARD, PII_EMAIL, PII_PHONE, PII_SSN, ContentFilter, apply_pii_filters
from agentlens.redact.detectors import DETECTORS, Detector
from agentlens.redact.redact import Finding, Redacted, redact, redact_deep

__all__ = [
    "DETECTORS",
    "PII_CREDIT_CARD",
    "PII_EMAIL",
    "PII_PHONE",
    "PII_SSN",
    "ContentFilter",
    "Detector",
    "Finding",
    "Redacted",
    "apply_pii_filters",
    "redact",
    "redact_deep",
]
