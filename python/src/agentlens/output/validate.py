"""Finds, repairs and checks the JSON in a model's answer. Never raises because of the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, overload

import json_repair
from pydantic import BaseModel, TypeAdapter, ValidationError

from agentlens.context import current_run
from agentlens.output.json_in_text import json_candidates

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
Check = Callable[[Any], Any]
MAX_ISSUES = 20


@dataclass(frozen=True)
class Issue:
    """`path` is dotted; empty for the whole."""

    path: str
    message: str


@dataclass(frozen=True)
class OutputError:
    """The model's answer is wrong, and the model can correct it. Not a failure of a tool or of the platform."""

    reason: Literal["no_json", "schema"]
    issues: tuple[Issue, ...] = ()
    type: Literal["LOGIC"] = "LOGIC"

    @property
    def message(self) -> str:
        if self.reason == "no_json":
            return "The answer holds no valid JSON."
        return "The answer does not match the schema."

    def to_prompt(self) -> str:
        """Text for the model: what is wrong, where, and what to do."""
        lines = [f"\n- {issue.path or 'the whole answer'}: {issue.message}" for issue in self.issues]
        return f"{self.message}{''.join(lines)}\nAnswer again with the corrected JSON only, without any other text."


@dataclass(frozen=True)
class Valid(Generic[T]):
    value: T
    repaired: bool = False
    ok: Literal[True] = True


@dataclass(frozen=True)
class Invalid:
    error: OutputError
    ok: Literal[False] = False


Validated = Valid[T] | Invalid


@dataclass(frozen=True)
class Corrected(Generic[T]):
    """The last result and the number of model calls."""

    result: Valid[T] | Invalid
    attempts: int


@overload
def validate_output(text: str, schema: type[M], *, strict: bool = ..., repair: bool = ...) -> Valid[M] | Invalid: ...
@overload
def validate_output(
    text: str, schema: TypeAdapter[T], *, strict: bool = ..., repair: bool = ...
) -> Valid[T] | Invalid: ...
@overload
def validate_output(
    text: str, schema: Mapping[str, Any], *, strict: bool = ..., repair: bool = ...
) -> Valid[Any] | Invalid: ...
def validate_output(text: str, schema: Any, *, strict: bool = False, repair: bool = True) -> Valid[Any] | Invalid:
    """
    `schema` is a pydantic model, a TypeAdapter or a JSON Schema (which needs the package `jsonschema`). The first
    candidate that matches wins. `strict`: only the whole answer, unchanged. `repair`: repair broken JSON if nothing
    parses. The outcome is recorded in the current run, never the answer itself.
    """
    result = _first_match(text, _check_of(schema), strict, repair and not strict)
    run = current_run()
    if run is not None:
        if isinstance(result, Valid):
            run.record("output.validated", {"outcome": "valid", "repaired": result.repaired})
        else:
            where = [issue.path for issue in result.error.issues]
            outcome = {"outcome": "invalid", "type": "LOGIC", "reason": result.error.reason, "issues": where}
            run.record("output.validated", outcome)
    return result


def self_correct(
    ask: Callable[[OutputError | None], str], schema: Any, max_attempts: int = 3, **options: Any
) -> Corrected[Any]:
    """
    Asks the model until its answer matches, up to `max_attempts` times in total. `ask` gets the previous error
    (`correction.to_prompt()` for the model), or None the first time. Its exceptions are raised unchanged.
    """
    correction: OutputError | None = None
    attempt = 0
    while True:
        attempt += 1
        result = validate_output(ask(correction), schema, **options)
        if isinstance(result, Valid) or attempt >= max_attempts:
            return Corrected(result, attempt)
        correction = result.error


class _Mismatch(Exception):
    def __init__(self, issues: list[Issue]) -> None:
        super().__init__("the value does not match the schema")
        self.issues = tuple(issues[:MAX_ISSUES])


def _first_match(text: str, check: Check, strict: bool, repair: bool) -> Valid[Any] | Invalid:
    issues: tuple[Issue, ...] | None = None
    for value, repaired in _parsed([text] if strict else json_candidates(text), repair):
        try:
            return Valid(check(value), repaired)
        except _Mismatch as mismatch:
            # The most likely candidate has the best error message.
            issues = mismatch.issues if issues is None else issues
    return Invalid(OutputError("no_json") if issues is None else OutputError("schema", issues))


def _parsed(candidates: list[str], repair: bool) -> Iterator[tuple[Any, bool]]:
    """Text that parses unchanged comes first: repair guesses, and can turn prose into a string."""
    broken: list[str] = []
    for candidate in candidates:
        try:
            yield json.loads(candidate), False
        except (ValueError, RecursionError):
            broken.append(candidate)
    for candidate in broken if repair else ():
        if candidate[:1] not in ("[", "{"):
            continue
        try:
            value = json_repair.loads(candidate, skip_json_loads=True)
        except (ValueError, RecursionError, IndexError):
            continue
        if isinstance(value, dict | list):
            yield value, True


def _check_of(schema: Any) -> Check:
    if isinstance(schema, Mapping):
        return _json_schema_check(schema)
    adapter = schema if isinstance(schema, TypeAdapter) else TypeAdapter(schema)

    def check(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            issues = [Issue(".".join(map(str, item["loc"])), item["msg"]) for item in error.errors(include_url=False)]
            raise _Mismatch(issues) from None

    return check


def _json_schema_check(schema: Mapping[str, Any]) -> Check:
    try:
        import jsonschema
    except ImportError:
        raise ImportError(
            "validate_output: a JSON Schema needs the package jsonschema (pip install jsonschema); "
            "a pydantic model or a TypeAdapter needs nothing more"
        ) from None
    validator = jsonschema.Draft202012Validator(dict(schema))

    def check(value: Any) -> Any:
        issues = [Issue(".".join(map(str, item.absolute_path)), item.message) for item in validator.iter_errors(value)]
        if issues:
            raise _Mismatch(issues)
        return value

    return check
