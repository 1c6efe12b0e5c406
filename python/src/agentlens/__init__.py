"""
AgentLens inside a Python agent: decides each action before it runs, stops the agent when necessary, and records it.

    import agentlens
    agentlens.init("http://127.0.0.1:3400", api_key="agk_...", agent_id="support-bot")
"""

from agentlens._init import Status, current_session_id, flush, init, run, shutdown, status
from agentlens._version import VERSION as __version__
from agentlens.context import current_run
from agentlens.decision import Actor, Cause, Decision, Subject
from agentlens.errors import (
    AgentLensConnectionError,
    AgentLensError,
    AuthenticationError,
    BackpressureError,
    NotFoundError,
    QuotaExceededError,
    RateLimitError,
    RunStopped,
    ToolBlocked,
    ValidationError,
    stopped_by,
)
from agentlens.guard.breaker import BreakerLimits
from agentlens.guarded_tool import guarded_tool
from agentlens.model_calls import Usage
from agentlens.output import OutputError, self_correct, validate_output
from agentlens.redact import PII_CREDIT_CARD, PII_EMAIL, PII_PHONE, PII_SSN, Redacted, redact, redact_deep
from agentlens.run import Run
from agentlens.sink import SinkOptions

__all__ = [
    "PII_CREDIT_CARD",
    "PII_EMAIL",
    "PII_PHONE",
    "PII_SSN",
    "Actor",
    "AgentLensConnectionError",
    "AgentLensError",
    "AuthenticationError",
    "BackpressureError",
    "BreakerLimits",
    "Cause",
    "Decision",
    "NotFoundError",
    "OutputError",
    "QuotaExceededError",
    "RateLimitError",
    "Redacted",
    "Run",
    "RunStopped",
    "SinkOptions",
    "Status",
    "Subject",
    "ToolBlocked",
    "Usage",
    "ValidationError",
    "__version__",
    "current_run",
    "current_session_id",
    "flush",
    "guarded_tool",
    "init",
    "redact",
    "redact_deep",
    "run",
    "self_correct",
    "shutdown",
    "status",
    "stopped_by",
    "validate_output",
]
