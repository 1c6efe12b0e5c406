"""The platform's decision, and the decision that the agent receives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel

Verdict = Literal["ALLOW", "BLOCK"]
Control = Literal["CONTINUE", "TERMINATE"]
Phase = Literal["tool.before", "tool.after", "llm.before"]
# Why no decision was made: `refused` is any other 4xx, `error` a fault of this package.
Bypass = Literal["unavailable", "deadline", "nonsense", "refused", "key_refused", "error"]
# The cause as recorded in the run, and a description.
BYPASSES: Mapping[Bypass, tuple[str, str]] = {
    "unavailable": ("away", "the platform was away"),
    "deadline": ("late", "the answer came too late"),
    "nonsense": ("nonsense", "the answer was no decision"),
    "refused": ("refused", "the platform refused the question"),
    "key_refused": ("key_refused", "the key was refused"),
    "error": ("error", "the guard itself failed"),
}

_WIRE = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", strict=True)
_CAUSE_NEEDS = {"ALLOW": None, "RULE_VIOLATION": "rule_id", "HITL_PENDING": "approval_id", "LOCKDOWN": None}


class Cause(BaseModel):
    """`HITL_PENDING`: a human has to approve. `LOCKDOWN`: killed, paused, breaker open, or failing closed."""

    model_config = _WIRE
    kind: Literal["ALLOW", "RULE_VIOLATION", "HITL_PENDING", "LOCKDOWN"]
    rule_id: str | None = None
    approval_id: str | None = None
    lockdown_id: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Cause:
        needed = _CAUSE_NEEDS[self.kind]
        if needed is not None and getattr(self, needed) is None:
            raise ValueError(f"a cause of kind {self.kind} names its {needed}")
        return self


class EvaluatedRule(BaseModel):
    model_config = _WIRE
    rule_id: str
    enabled: bool
    matched: bool
    violated: bool


class RuleBypass(BaseModel):
    """A rule that could not be evaluated, and the effect. Rule `*`: none could be."""

    model_config = _WIRE
    rule_id: str
    why: str
    did: str


class WireDecision(BaseModel):
    """Names rules, never their limits."""

    model_config = _WIRE
    verdict: Verdict
    control: Control
    cause: Cause
    message: str
    evaluated_rules: tuple[EvaluatedRule, ...] = ()
    final_rule_id: str | None = None
    modified_args: dict[str, Any] | None = None
    decision_id: str | None = None
    reservation_id: str | None = None
    bypasses: tuple[RuleBypass, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _lists_are_tuples(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        read = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
        # An older platform answers TERMINATE; a call that waits for a person does not end its run.
        if isinstance(cause := read.get("cause"), dict) and cause.get("kind") == "HITL_PENDING":
            read["control"] = "CONTINUE"
        if read.get("bypasses") is not None:
            read["bypasses"] = _bypasses(read["bypasses"])
        return read


# An unreadable bypass counts as a decision that was not made; it must not be ignored.
_UNREADABLE = RuleBypass(rule_id="*", why="error", did="allow")


def _bypasses(given: object) -> tuple[RuleBypass, ...]:
    if not isinstance(given, tuple):
        return (_UNREADABLE,)
    return tuple(_bypass(item) for item in given)


def _bypass(item: object) -> RuleBypass:
    try:
        return RuleBypass.model_validate(item)
    except ValidationError:
        return _UNREADABLE


class Shadowed(BaseModel):
    """What a decision would have been if enforced."""

    model_config = ConfigDict(frozen=True)
    verdict: Verdict
    control: Control
    cause: Cause
    message: str


class Decision(BaseModel):
    """
    A decision as the agent receives it. BLOCK + CONTINUE: skip the call and give the model `message`. BLOCK +
    TERMINATE: also end the loop. Call the tool with `args`: rules may have changed them.
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)
    verdict: Verdict
    control: Control
    cause: Cause
    message: str
    phase: Phase
    # Links question, approval and result of one call.
    call_id: str
    args: dict[str, Any] = {}
    evaluated_rules: tuple[EvaluatedRule, ...] = ()
    final_rule_id: str | None = None
    decision_id: str | None = None
    reservation_id: str | None = None
    bypasses: tuple[RuleBypass, ...] = ()
    # Who decided: this process, the platform, or the fallback.
    source: Literal["local", "remote", "fallback"] = "local"
    bypass: Bypass | None = None
    # In shadow mode the verdict is ALLOW, and this is the real decision.
    shadowed: Shadowed | None = None

    @property
    def blocked(self) -> bool:
        return self.verdict == "BLOCK"

    @property
    def pending(self) -> bool:
        """A human has to approve this call first."""
        return self.blocked and self.cause.kind == "HITL_PENDING"

    @property
    def refusal(self) -> str:
        """What the model reads instead of a result."""
        if not self.pending:
            return self.message
        approval_id = self.cause.approval_id or ""
        named = "" if approval_id in self.message else f" (approval {approval_id})"
        happened = "was made, and its result" if self.phase == "tool.after" else "has not happened. It"
        return (
            f"{self.message}{named}\nThis call {happened} waits for a person. Do not repeat it until the user says "
            "that it is approved. Tell the user, and continue with other work."
        )

    @property
    def terminates(self) -> bool:
        return self.blocked and self.control == "TERMINATE"


class Actor(BaseModel):
    """
    The user a run acts for; `run(actor=...)` also accepts a dict of these fields. Metadata values are text; rules
    read them as end-user tags.
    """

    model_config = _WIRE
    external_id: str
    name: str | None = None
    metadata: dict[str, str] | None = None


class Subject(BaseModel):
    """Something a call concerns, such as a customer or an account."""

    model_config = _WIRE
    subject_type: str
    value: str
    role: str | None = None
    id_system: str | None = None


def read_decision(body: object) -> WireDecision | None:
    """None for anything but a complete decision."""
    if not isinstance(body, Mapping):
        return None
    # Arguments that are not an object cannot be passed to a tool.
    try:
        return WireDecision.model_validate(dict(body))
    except ValidationError:
        return None
