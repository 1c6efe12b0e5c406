"""JSON of any value an agent may hold, and events that fit the platform's limits."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import math
import numbers
import types
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, RootModel

MAX_DEPTH_LEVELS = 30
# An upper bound for objects that create members without end.
MAX_MEMBERS = 100_000
# docs/wire-format.md, "Limits"; one event may have 990,000 bytes.
MAX_EVENT_CHARS = 200_000
MAX_KEPT_CHARS = 4_000
MAX_KEYS = 256
MAX_KEY_CHARS = 1_024
_LARGEST_WHOLE = 2**53
# A decimal has at most this many digits; larger ones keep their exponent.
MAX_DECIMAL_DIGITS = 400


def to_json(value: object) -> str:
    """
    Valid JSON values are unchanged. A number of any kind is a number, or exact decimal text if a double cannot hold
    it; models and records become objects. Everything else is replaced by a text: `[Circular]`, `[Too deep]`,
    `[Unreadable]`, or its `str`. Names are written without escapes if possible.
    """
    return write(plain(value))


def write(value: object) -> str:
    """JSON text of the result of `plain`. Half a surrogate pair becomes U+FFFD, as on the platform."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text if text.isascii() else _whole_characters(text)


def plain(value: object) -> Any:
    """The same value as dicts, lists, strings, numbers, booleans and None."""
    return _Plain().of(value, 0)


def clip(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most]


def fit_event(payload: Mapping[str, Any]) -> dict[str, Any]:
    """
    A payload within the limits of one event. An oversized one keeps its numbers and the first 4,000 characters of
    each text, marked `truncated`; if that is still too large, only the names of its members.
    """
    value = _fit(plain(payload), None)
    if len(write(value)) <= MAX_EVENT_CHARS:
        return dict(value)
    shorter = {**_fit(value, MAX_KEPT_CHARS), "truncated": True}
    if len(write(shorter)) <= MAX_EVENT_CHARS:
        return shorter
    kept = {key: item if _is_small(item) else _emptied(item) for key, item in value.items()}
    return {**kept, "truncated": True}


def _is_small(item: Any) -> bool:
    return item is None or isinstance(item, int | float | bool) or (isinstance(item, str) and len(item) <= 256)


def _emptied(item: Any) -> Any:
    if isinstance(item, str):
        return clip(item, 256)
    return [] if isinstance(item, list) else {}


def _fit(value: Any, most_chars: int | None) -> Any:
    if isinstance(value, str):
        text = value.replace("\x00", "\ufffd") if "\x00" in value else value
        return text if most_chars is None else clip(text, most_chars)
    if isinstance(value, list):
        return [_fit(item, most_chars) for item in value]
    if isinstance(value, dict):
        kept = list(value.items())[:MAX_KEYS]
        return {_fit_key(key): _fit(item, most_chars) for key, item in kept}
    return value


def _fit_key(key: str) -> str:
    name = clip(key, MAX_KEY_CHARS).replace("\x00", "\ufffd")
    return "_proto_" if name == "__proto__" else name


def _whole_characters(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _decimal(value: decimal.Decimal) -> int | float | str:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and abs(value) <= _LARGEST_WHOLE:
        return int(value)
    nearest = float(value)
    if math.isfinite(nearest) and decimal.Decimal(repr(nearest)) == value:
        return nearest
    return format(value, "f") if abs(value.adjusted()) < MAX_DECIMAL_DIGITS else str(value)


def _number(value: Any) -> int | float | bool | str:
    """A value of a library's own type, such as numpy's."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, fractions.Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return float(value) if isinstance(value, numbers.Real) else str(value)


def _field_names(value: Any) -> list[str] | None:
    """Members of a record: pydantic 1 and 2, dataclasses, attrs, msgspec and namespaces. None for any other value."""
    kind = type(value)
    if isinstance(value, BaseModel):
        return [*kind.model_fields, *(value.model_extra or {})]
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    if hasattr(kind, "__attrs_attrs__"):
        return [attribute.name for attribute in kind.__attrs_attrs__]
    if hasattr(kind, "__struct_fields__"):
        return list(kind.__struct_fields__)
    if isinstance(value, types.SimpleNamespace):
        return list(vars(value))
    if hasattr(kind, "__fields__") and hasattr(kind, "__validators__"):
        return [*kind.__fields__, *(name for name in vars(value) if name not in kind.__fields__)]
    return None


def _is_array(value: Any) -> bool:
    """An array or scalar of numpy, or of a library with its interface, that is small enough to write out."""
    size = getattr(value, "size", None)
    return isinstance(size, int) and size <= MAX_MEMBERS and hasattr(value, "dtype") and hasattr(value, "tolist")


class _Plain:
    """One walk over a value. Ancestors are compared by identity to detect cycles."""

    def __init__(self) -> None:
        self._above: set[int] = set()
        self._members = 0

    def of(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -_LARGEST_WHOLE <= value <= _LARGEST_WHOLE else str(value)
        if kind is float:
            return value if math.isfinite(value) else str(value)
        try:
            return self._structure(value, depth)
        except Exception:  # noqa: BLE001 - a property, an iterator or a dump of the agent's own object failed
            return "[Unreadable]"

    def _structure(self, value: Any, depth: int) -> Any:
        if isinstance(value, enum.Enum):
            return self.of(value.value, depth)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, bool | int | float):
            return self.of(float(value) if isinstance(value, float) else int(value), depth)
        if isinstance(value, decimal.Decimal):
            return _decimal(value)
        if isinstance(value, numbers.Number):
            return self.of(_number(value), depth)
        if isinstance(value, datetime.date | datetime.time):
            return value.isoformat()
        if isinstance(value, uuid.UUID):
            return str(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return f"[{len(bytes(value))} bytes]"
        return self._container(value, depth)

    def _container(self, value: Any, depth: int) -> Any:
        if id(value) in self._above:
            return "[Circular]"
        if depth >= MAX_DEPTH_LEVELS:
            return "[Too deep]"
        self._above.add(id(value))
        try:
            if isinstance(value, Mapping):
                return self._object(value.items(), depth)
            if isinstance(value, list | tuple | set | frozenset):
                return [self.of(item, depth + 1) for item in self._counted(value)]
            if isinstance(value, RootModel):
                return self.of(value.root, depth + 1)
            names = _field_names(value)
            if names is not None:
                return self._object(((name, getattr(value, name)) for name in names), depth)
            if _is_array(value):
                return self.of(value.tolist(), depth + 1)
            return clip(str(value), MAX_KEPT_CHARS)
        finally:
            self._above.discard(id(value))

    def _object(self, items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        return {
            key if isinstance(key, str) else str(key): self.of(item, depth + 1) for key, item in self._counted(items)
        }

    def _counted(self, items: Iterable[Any]) -> Iterable[Any]:
        for item in items:
            self._members += 1
            if self._members > MAX_MEMBERS:
                return
            yield item
