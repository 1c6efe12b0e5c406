from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

import agentlens
from agentlens import SinkOptions
from agentlens.sink.batch import retry_after_s
from agentlens.testing import TestServer
from agentlens.transport import Reply

QUICK = {"flush_s": 0.01, "backoff_base_s": 0.0, "backoff_most_s": 0.0}


class EventServer(TestServer):
    """Answers batches as the test says; `bodies` are (idempotency key, body) of every try."""

    def __init__(self, *answers: Reply) -> None:
        super().__init__()
        self.answers = list(answers)
        self.bodies: list[tuple[str, bytes]] = []

    def send(self, method: str, path: str, body: bytes | None, headers: object, timeout_s: float) -> Reply:
        if "/api/events" in path and body is not None:
            self.bodies.append((headers["idempotency-key"], body))  # type: ignore[index]
            if self.answers:
                return self.answers.pop(0)
        return super().send(method, path, body, headers, timeout_s)  # type: ignore[arg-type]


def record(count: int, text: str = "x") -> None:
    run = agentlens._state.required().process_run
    for index in range(count):
        run.record("note", {"index": index, "text": text})


def sums() -> None:
    counts = agentlens.status().events
    assert counts.enqueued == counts.delivered + counts.dropped + counts.waiting


def test_events_arrive_once_in_the_order_of_their_ids() -> None:
    server = EventServer()
    server.client(sink=SinkOptions(**QUICK))
    record(250)
    notes = server.events_of("custom", "note")
    assert [event["payload"]["data"]["index"] for event in notes] == list(range(250))
    assert agentlens.status().events.waiting == 0
    sums()


def test_a_full_queue_drops_its_oldest_and_tells_how_many() -> None:
    server = EventServer()
    server.client(sink=SinkOptions(max_queue=10, flush_s=60, batch_size=1000))
    record(30)
    assert agentlens.status().events.dropped == 20
    assert agentlens.flush()
    record(1)
    (report,) = server.events_of("custom", "sink.dropped")
    assert report["payload"]["data"] == {"count": 20, "total": 20}
    sums()


def test_a_retry_repeats_the_same_bytes_under_the_same_key() -> None:
    server = EventServer(Reply(503, "{}"), Reply(429, "{}", {"retry-after": "0"}))
    server.client(sink=SinkOptions(**QUICK))
    record(3)
    assert agentlens.flush()
    assert len(server.bodies) == 3
    assert len(set(server.bodies)) == 1
    assert agentlens.status().events.delivered == 3


def test_a_batch_that_fails_every_time_is_counted_as_dropped() -> None:
    server = EventServer(*[Reply(503, "{}")] * 3)
    server.client(sink=SinkOptions(attempts=3, **QUICK))
    record(2)
    assert agentlens.flush()
    assert agentlens.status().events.dropped == 2
    sums()


def test_a_refusal_is_final() -> None:
    server = EventServer(Reply(400, "{}"))
    server.client(sink=SinkOptions(**QUICK))
    record(2)
    agentlens.flush()
    assert len(server.bodies) == 1
    assert agentlens.status().events.dropped == 2


def test_a_batch_that_is_too_large_is_halved() -> None:
    server = EventServer(Reply(413, "{}"))
    server.client(sink=SinkOptions(flush_s=60))
    record(5)
    agentlens.flush()
    assert [len(json.loads(body)["events"]) for _, body in server.bodies] == [5, 2, 3]
    assert len({key for key, _ in server.bodies}) == 3
    assert len(server.events_of("custom", "note")) == 5
    sums()


def test_of_a_batch_that_is_taken_in_part_the_rest_is_counted_as_dropped() -> None:
    server = EventServer(Reply(207, json.dumps({"ingested": 3, "rejected": 2})))
    server.client(sink=SinkOptions(flush_s=60))
    record(5)
    agentlens.flush()
    counts = agentlens.status().events
    assert (counts.delivered, counts.dropped) == (3, 2)


def test_a_key_without_the_scope_is_said_once_and_holds_up_no_exit(caplog: pytest.LogCaptureFixture) -> None:
    server = EventServer(*[Reply(403, "{}")] * 5)
    server.client(sink=SinkOptions(**QUICK))
    record(2)
    agentlens.shutdown(5)
    assert len([line for line in caplog.messages if "rejects events of this key" in line]) == 1


def test_a_server_that_hangs_holds_up_no_shutdown() -> None:
    server = EventServer()
    server.client()
    server.fail("hang", "/api/events")
    record(1)
    agentlens.shutdown(0.1)
    assert agentlens.status().started is False


def test_an_event_is_cut_to_what_the_platform_takes() -> None:
    server = EventServer()
    server.client()
    record(1, "x" * 300_000)
    (event,) = server.events_of("custom", "note")
    assert event["payload"]["truncated"] is True
    assert len(event["payload"]["data"]["text"]) == 4_000


def test_in_sync_mode_an_event_has_left_when_put_returns() -> None:
    server = EventServer()
    server.client(sync_mode=True)
    record(1)
    assert agentlens.status().events.delivered == 1
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"redact": True}, {"redacted": True}),
        ({"pii_patterns": [agentlens.PII_EMAIL]}, {"index": 0, "text": "mail [REDACTED]"}),
        ({"pii_filter": lambda text: text.upper()}, {"index": 0, "text": "MAIL A@B.EXAMPLE"}),
        ({"pii_filter": lambda text: 1 / 0}, {"redacted": True}),
    ],
)
def test_content_is_kept_out_as_the_options_say(options: dict[str, object], expected: object) -> None:
    server = EventServer()
    server.client(**options)
    record(1, "mail a@b.example")
    (event,) = server.events_of("custom", "note")
    assert event["payload"]["data"] == expected


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("3", 3), ("-1", None), ("soon", None), ("900", 60), ("Thu, 01 Jan 1970 00:00:20 GMT", 10)],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, 10_000) == seconds


def test_the_wire_form_of_an_event_is_that_of_the_platform() -> None:
    server = EventServer()
    server.client(agent_id="a\x00gent")
    run: Callable[..., object] = agentlens._state.required().process_run.record
    run("note", {"__proto__": 1, "nul": "\x00"})
    (event,) = server.events_of("custom", "note")
    assert event["agentId"] == "agent"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["timestamp"])
    assert event["payload"]["data"] == {"_proto_": 1, "nul": "\ufffd"}
    assert event["metadata"]["source"] == "agentlens"
