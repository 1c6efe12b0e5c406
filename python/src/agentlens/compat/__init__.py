"""
The names of the package `agentlensai`, for programs written for it:

    import agentlens.compat as agentlensai

That package only observed. So does `init` here, with `enforce="shadow"`, unless set otherwise.
"""

from __future__ import annotations

import logging
from typing import Any

from agentlens import _init
from agentlens._init import current_session_id, shutdown
from agentlens._settings import environment_enforce
from agentlens._version import VERSION as __version__
from agentlens.compat import models
from agentlens.compat.async_client import AsyncAgentLensClient
from agentlens.compat.client import AgentLensClient
from agentlens.compat.models import *  # noqa: F403 - the original package has all of them here
from agentlens.errors import (
    AgentLensConnectionError,
    AgentLensError,
    AuthenticationError,
    BackpressureError,
    NotFoundError,
    QuotaExceededError,
    RateLimitError,
    ValidationError,
)
from agentlens.redact import PII_CREDIT_CARD, PII_EMAIL, PII_PHONE, PII_SSN

__all__ = [
    "PII_CREDIT_CARD",
    "PII_EMAIL",
    "PII_PHONE",
    "PII_SSN",
    "AgentLensClient",
    "AgentLensConnectionError",
    "AgentLensError",
    "AsyncAgentLensClient",
    "AuthenticationError",
    "BackpressureError",
    "NotFoundError",
    "QuotaExceededError",
    "RateLimitError",
    "ValidationError",
    "__version__",
    "current_session_id",
    "init",
    "models",
    "shutdown",
]

logger = logging.getLogger("agentlens")
_warned = False


def init(url: str | None = None, **options: Any) -> str:
    """`agentlens.init` that only observes; `enforce="enforce"` or AGENTLENS_ENFORCE makes it enforce."""
    global _warned
    if options.get("enforce") is None and environment_enforce() is None:
        options["enforce"] = "shadow"
        if not _warned:
            _warned = True
            logger.warning(
                "AgentLens: nothing is blocked because agentlens.compat starts with enforce='shadow'; "
                "refusals are only recorded. To block, call init(..., enforce='enforce')"
            )
    return _init.init(url, **options)
