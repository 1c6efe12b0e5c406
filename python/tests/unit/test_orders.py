"""Orders of operators, heard beside decisions."""

from __future__ import annotations

from typing import Any

import pytest

import agentlens
from agentlens import _state
from agentlens.guard.acknowledgement import read_connection, sign_acknowledgement
from agentlens.guard.operator_orders import OperatorOrders
from agentlens.testing import TestServer


def order(**changed: Any) -> dict[str, Any]:
    return {"id": "o1", "scope": "run", "scopeId": "r1", "state": "killed", "reason": "enough", "version": 3, **changed}


def test_an_order_that_a_poll_brings_stops_the_run_and_is_acknowledged() -> None:
    server = TestServer(orders=[order()])
    server.client(agent_id="agent")
    with agentlens.run(run_id="r1") as run:
        _state.required().monitor.poll(0)
        asked = len(server.questions)
        assert run.before_tool("ls", {}).message == "This run was stopped: enough"
        assert len(server.questions) == asked
    assert ("POST", "/v1/control/o1/ack") in server.calls


def test_an_acknowledgement_is_signed_as_the_other_sdks_do() -> None:
    connection = read_connection({"id": "c", "secret": "5e" * 32})
    mac = "018a690f46202f36162d8d0669871c8ae1064a24f4c2e34dfd4fb7c3448b9cc9"
    signed = {"signature": {"connection": "c", "version": 3, "mac": mac}}
    assert sign_acknowledgement(connection, "o1", "agent", "one", 3) == signed
    assert sign_acknowledgement(None, "o1", "agent", "one", 3) == {}
    assert sign_acknowledgement(connection, "o1", "agent", "one", None) == {}


@pytest.mark.parametrize("message", [None, {}, {"id": "c"}, {"id": "c", "secret": "no hex"}])
def test_what_is_no_connection_signs_nothing(message: Any) -> None:
    assert read_connection(message) is None


def test_a_run_that_is_paused_goes_on_when_it_is_resumed() -> None:
    server = TestServer(orders=[order(state="paused")])
    server.client(agent_id="agent")
    with agentlens.run(run_id="r1") as run:
        _state.required().monitor.poll(0)
        assert run.before_tool("ls", {}).terminates
        server.orders = [order(state="running", version=4)]
        _state.required().monitor.poll(0)
        assert not run.before_tool("ls", {}).blocked


@pytest.mark.parametrize(
    ("late", "state"), [(order(version=2, state="running"), "killed"), (order(version=4, state="running"), "running")]
)
def test_of_two_orders_the_newer_version_stands_whichever_comes_last(late: dict[str, Any], state: str) -> None:
    orders = OperatorOrders()
    assert orders.take(order(), "agent") == "o1"
    orders.take(late, "agent")
    assert orders.of("r1").state == state


def test_a_directive_of_the_agent_pauses_it_and_names_another_model() -> None:
    orders = OperatorOrders()
    directive = {
        "id": "d1",
        "version": 1,
        "agentId": "agent",
        "paused": {"reason": "x"},
        "modelOverride": {"model": "m"},
    }
    assert orders.take(directive, "another") is None
    assert orders.take(directive, "agent") == "d1"
    assert (orders.of("any").state, orders.model_override) == ("paused", "m")


@pytest.mark.parametrize("message", [None, 3, {}, {"id": "x"}, order(scope="planet"), order(state="asleep")])
def test_what_is_no_order_is_left_alone(message: object) -> None:
    assert OperatorOrders().take(message, "agent") is None
