from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import agentlens
from agentlens import RunStopped, ToolBlocked, guarded_tool
from agentlens.testing import TestServer, block, modify, need_approval, terminate


@pytest.fixture
def server() -> TestServer:
    server = TestServer()
    server.client()
    return server


@guarded_tool
def add(a: int, b: int = 2, **more: int) -> int:
    """Adds."""
    return a + b + sum(more.values())


def test_it_keeps_the_signature_the_doc_and_the_result(server: TestServer) -> None:
    assert add(1) == 3
    assert add.__doc__ == "Adds."
    assert list(inspect.signature(add).parameters) == ["a", "b", "more"]
    assert server.asked()[0]["args"] == {"a": 1}


def test_it_is_asked_about_by_the_names_of_its_arguments(server: TestServer) -> None:
    assert add(1, 3, c=5) == 9
    assert server.asked()[0]["args"] == {"a": 1, "b": 3, "c": 5}


def test_it_is_called_with_changed_arguments(server: TestServer) -> None:
    server.rule(modify({"a": 10, "d": 1}))
    assert add(1, c=5) == 13


def test_refused_it_answers_the_words_for_the_model(server: TestServer) -> None:
    server.rule(block("No sums."))
    assert add(1) == "No sums."


def test_refused_it_raises_where_that_is_wanted(server: TestServer) -> None:
    server.rule(block("No."), tools=["a"]).rule(terminate("Over."), tools=["b"])
    with pytest.raises(ToolBlocked, match="No"):
        guarded_tool(name="a", on_block="raise")(lambda: None)()
    with pytest.raises(RunStopped, match="Over"):
        guarded_tool(name="b", on_block="raise")(lambda: None)()


def test_without_init_it_is_the_function() -> None:
    assert add(1) == 3


def test_methods_are_asked_about_without_their_object(server: TestServer) -> None:
    class Shop:
        @guarded_tool
        def buy(self, what: str) -> str:
            return what

    assert Shop().buy("tea") == "tea"
    assert server.asked()[0]["args"] == {"what": "tea"}


def test_what_it_raises_comes_out_and_is_recorded(server: TestServer) -> None:
    @guarded_tool
    def broken() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        broken()
    (error,) = server.events_of("tool_error")
    assert error["payload"]["error"] == "KeyError: 'x'"


class Unusual(BaseException):
    pass


def test_also_what_no_handler_should_catch(server: TestServer) -> None:
    @guarded_tool
    def broken() -> None:
        raise Unusual

    with pytest.raises(Unusual):
        broken()
    assert len(server.events_of("tool_error")) == 1


async def test_coroutines_are_asked_about(server: TestServer) -> None:
    @guarded_tool
    async def twice(n: int) -> int:
        return n * 2

    assert await twice(4) == 8
    server.rule(block("No."))
    assert await twice(4) == "No."  # type: ignore[comparison-overlap]


async def test_a_cancelled_call_stays_cancelled_and_its_end_is_recorded(server: TestServer) -> None:
    begun = asyncio.Event()

    @guarded_tool
    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(forever())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(server.events_of("tool_error")) == 1


async def test_it_runs_on_trio_as_well(server: TestServer) -> None:
    trio = pytest.importorskip("trio")

    @guarded_tool
    async def twice(n: int) -> int:
        return n * 2

    assert trio.run(twice, 4) == 8


async def test_streams_are_handed_on_and_end_with_their_reader(server: TestServer) -> None:
    @guarded_tool
    def count(n: int) -> Iterator[int]:
        yield from range(n)

    @guarded_tool
    async def acount(n: int) -> AsyncIterator[int]:
        for item in range(n):
            yield item

    assert list(count(3)) == [0, 1, 2]
    assert [item async for item in acount(2)] == [0, 1]
    results = [event["payload"]["result"] for event in server.events_of("tool_response")]
    assert results == [{"items": 3}, {"items": 2}]
    server.rule(block("No."))
    assert list(count(3)) == ["No."]  # type: ignore[comparison-overlap]


def test_it_waits_for_a_human(server: TestServer) -> None:
    def approve_when_asked_again(question: object) -> bool:
        server.approve()
        return True

    server.rule(need_approval(), when=approve_when_asked_again)
    assert guarded_tool(name="pay", wait_for_approval=30)(lambda: "paid")() == "paid"
    assert len({question["callId"] for question in server.asked()}) == 1
    assert agentlens.status().bypassed == 0


def test_a_call_that_a_framework_runs_again_under_its_id_is_asked_about_as_another(server: TestServer) -> None:
    with agentlens.run() as run:
        for _ in range(2):
            decision = run.before_tool("ls", {}, call_id="c1")
            run.after_tool("ls", {}, call_id=decision.call_id)
    assert [question["callId"] for question in server.asked()] == ["c1", "c1#2"]


def test_two_seams_around_one_call_ask_once_and_a_tool_that_calls_itself_is_asked_again(server: TestServer) -> None:
    @guarded_tool
    def down(n: int) -> int:
        return n if n == 0 else down(n - 1)

    assert down(2) == 0
    assert [question["args"] for question in server.asked()] == [{"n": 2}, {"n": 1}, {"n": 0}]


def circular() -> Any:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


class Hostile:
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    "value", [circular(), Hostile(), object(), 10**30, float("nan"), "\ud800", b"\x00", {1: {2}}, [[]] * 5]
)
def test_arguments_that_are_no_json_are_asked_about_and_given_to_the_tool_unchanged(
    server: TestServer, value: Any
) -> None:
    seen = []
    guarded_tool(name="take")(lambda value: seen.append(value))(value)
    assert seen[0] is value
    assert len(server.asked()) == 1
    assert len(server.events_of("tool_call")) == 1


def test_a_fault_of_ours_goes_by_the_fail_mode(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(agentlens.Run, "before_tool", broken)
    assert add(1) == 3
    agentlens.shutdown()
    server.client(fail_mode="closed")
    assert add(1) == "No decision could be made: the guard itself failed. Failing closed."
