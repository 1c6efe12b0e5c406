"""An event reaches the platform within two flush intervals, without a flush, under every load of the process."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Mapping

import pytest

import agentlens
from agentlens import SinkOptions
from agentlens.testing import TestServer
from agentlens.transport import Reply

QUICK = SinkOptions(flush_s=0.01)
# Bounds a failing test only; a passing one waits for its event.
MAX_WAIT_S = 20.0
# The sink's thread is at another point of its loop each time.
NOTES = 12


class ArrivalServer(TestServer):
    """Reports each note when it arrives. `events` would flush and hide an event that is held back."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._arrived: set[int] = set()
        self._changed = threading.Condition()

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float) -> Reply:
        reply = super().send(method, path, body, headers, timeout_s)
        with self._changed:
            for event in self._events.values():
                if event["payload"].get("type") == "note":
                    self._arrived.add(event["payload"]["data"]["index"])
            self._changed.notify_all()
        return reply

    def sees(self, index: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: index in self._arrived, MAX_WAIT_S)


def note(index: int) -> None:
    agentlens._state.required().active_run().record("note", {"index": index})


def test_each_event_arrives_after_the_one_before_has() -> None:
    server = ArrivalServer()
    server.client(sink=QUICK)
    for index in range(NOTES):
        note(index)
        assert server.sees(index)


def test_events_of_other_threads_arrive() -> None:
    server = ArrivalServer()
    server.client(sink=QUICK)
    for index in range(NOTES):
        thread = threading.Thread(target=note, args=(index,))
        thread.start()
        thread.join()
        assert server.sees(index)


def test_events_of_an_event_loop_arrive_while_it_runs() -> None:
    server = ArrivalServer()
    server.client(sink=QUICK)

    async def agent() -> list[bool]:
        seen = []
        async with agentlens.run():
            for index in range(NOTES):
                note(index)
                seen.append(await asyncio.to_thread(server.sees, index))
        return seen

    assert asyncio.run(agent()) == [True] * NOTES


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_events_of_a_forked_child_arrive() -> None:
    server = ArrivalServer()
    server.client(sink=QUICK)
    note(0)
    assert server.sees(0)

    def child() -> None:
        server._changed = threading.Condition()
        for index in range(1, NOTES):
            note(index)
            if not server.sees(index):
                os._exit(1)
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(2 * MAX_WAIT_S)
    assert process.exitcode == 0
