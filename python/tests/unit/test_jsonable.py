"""Values of every type reach the platform as what they are: numbers as numbers, or as exact decimal text."""

from __future__ import annotations

import dataclasses
import decimal
import enum
import fractions
import threading
import types
from typing import Any

import attrs
import msgspec
import pydantic
import pytest
from pydantic import v1

import agentlens
from agentlens.jsonable import plain, to_json
from agentlens.testing import TestServer, block

D = decimal.Decimal


class Level(enum.IntEnum):
    HIGH = 5000


class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    amount: D


class OldOrder(v1.BaseModel):
    amount: int

    class Config:
        extra = "allow"


class Amount(pydantic.RootModel[int]):
    pass


@dataclasses.dataclass
class Line:
    amount: float


@attrs.define
class AttrsLine:
    amount: int


class Struct(msgspec.Struct):
    amount: D


class Scalar:
    """A scalar with numpy's interface; numpy itself is in no environment of these tests."""

    size = 1
    dtype = "int64"

    def tolist(self) -> int:
        return 5000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (D("5000.00"), 5000),
        (D("5E+3"), 5000),
        (D("0.1"), 0.1),
        (D("-12.50"), -12.5),
        (D("1e-30"), 1e-30),
        (D("9007199254740993"), "9007199254740993"),
        (D("0.1000000000000000055"), "0.1000000000000000055"),
        (D("1E+20") + 1, "100000000000000000001"),
        (D("1E+999999"), "1E+999999"),
        (D("NaN"), "NaN"),
        (2**53 + 1, str(2**53 + 1)),
        (fractions.Fraction(5000), 5000),
        (fractions.Fraction(1, 4), 0.25),
        (Level.HIGH, 5000),
        (Scalar(), 5000),
        (Amount(5000), 5000),
        (Order(amount=D("5000.00")), {"amount": 5000}),
        (Order.model_validate({"amount": 1, "more": D(2)}), {"amount": 1, "more": 2}),
        (OldOrder(amount=5000), {"amount": 5000}),
        (OldOrder(amount=1, more=2), {"amount": 1, "more": 2}),
        (Line(5000.0), {"amount": 5000.0}),
        (AttrsLine(5000), {"amount": 5000}),
        (Struct(D("5000.0")), {"amount": 5000}),
        (types.SimpleNamespace(amount=5000), {"amount": 5000}),
        ({"order": [Line(1.5)]}, {"order": [{"amount": 1.5}]}),
    ],
)
def test_a_value_becomes_what_it_is(value: Any, expected: Any) -> None:
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)
    assert to_json(value)


def test_numpy_values_become_numbers_and_lists() -> None:
    numpy = pytest.importorskip("numpy")
    given = {"a": numpy.int64(5000), "b": numpy.float32(0.5), "c": numpy.arange(3), "d": numpy.bool_(True)}
    assert plain(given) == {"a": 5000, "b": 0.5, "c": [0, 1, 2], "d": True}


def above(question: Any) -> bool:
    amount = question["args"].get("amount")
    amount = amount["amount"] if isinstance(amount, dict) else amount
    return isinstance(amount, int | float) and amount > 1000


@pytest.mark.parametrize(
    "amount", [5000, D("5000.00"), fractions.Fraction(5000), Scalar(), Order(amount=D(5000)), OldOrder(amount=5000)]
)
def test_a_rule_sees_the_number_whatever_carries_it(amount: Any) -> None:
    server = TestServer().rule(block("too much"), tools=["pay"], when=above)
    server.client()
    paid = []
    agentlens.guarded_tool(name="pay")(lambda amount: paid.append(amount))(amount)
    assert paid == []


class NoText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


class _Hidden(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name for you")


class NoName(Exception, metaclass=_Hidden):
    pass


@pytest.mark.parametrize("kind", [NoText, NoName], ids=["text", "name"])
def test_an_exception_that_cannot_be_written_comes_out_as_it_is(kind: type[Exception]) -> None:
    server = TestServer()
    server.client()

    @agentlens.guarded_tool(name="broken")
    def broken() -> None:
        error = kind()
        error.cause = threading.Lock()  # type: ignore[attr-defined]
        raise error from ValueError("root")

    with pytest.raises(kind), agentlens.run():
        broken()
    (failed,) = server.events_of("tool_error")
    assert failed["payload"]["error"] in ("NoText", "NoName")


def test_an_actor_may_be_a_dict() -> None:
    server = TestServer()
    server.client()
    with agentlens.run(run_id="r", actor={"external_id": "ada", "metadata": {"plan": "free"}}):
        pass
    with agentlens.run(run_id="s", actor={"externalId": "ada"}):
        pass
    assert server.runs["r"]["started"]["actor"] == {"externalId": "ada", "metadata": {"plan": "free"}}
    assert server.runs["s"]["started"]["actor"] == {"externalId": "ada"}
    with pytest.raises(ValueError, match=r"actor is not usable \(externalId: Field required\)"):
        agentlens.run(actor={"id": "ada"})
