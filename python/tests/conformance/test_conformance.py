"""One list of scenarios for every framework and every mode, against a really running platform."""

from __future__ import annotations

import contextvars
import socket
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import agentlens
from conformance.drivers import installed
from conformance.world import DONE, Driver, ModelBroke, Script, Turn, Use, World
from conftest import BLOCKED, ENDED
from support.platform import Platform, eventually, free_port

CASES = [(driver, mode) for driver in installed() for mode in driver.modes]
pytestmark = pytest.mark.parametrize(("driver", "mode"), CASES, ids=[f"{d.name}-{m}" for d, m in CASES])
LOOK = Turn("I look.", [Use("look", {"topic": "tea"})])
REMOVE = Turn("I remove.", [Use("remove", {"path": "/tea"})])
END = Turn(DONE)


class Play:
    """Plays scripts as one agent of the platform."""

    def __init__(self, platform: Platform, driver: Driver, mode: str, integrations: list[str] | None = None) -> None:
        self.platform = platform
        self.integrations = [driver.integration] if integrations is None else integrations
        self.driver = driver
        self.mode = mode
        self.agent_id = f"{driver.name}-{mode}-{uuid.uuid4().hex[:8]}"

    def __call__(self, *script: Turn, on_look: Any = None, **options: Any) -> World:
        agentlens.init(
            **{
                "url": self.platform.url,
                "api_key": self.platform.agent_key,
                "agent_id": self.agent_id,
                "integrations": self.integrations,
                # The machine of a test may be busy; what is tested here is not its speed.
                "deadline_ms": 10_000,
                "fail_mode": "closed",
                **options,
            }
        )
        return self.bare(script, on_look)

    def bare(self, script: Script, on_look: Any = None) -> World:
        world = World(script, on_look or (lambda: None))
        self.driver.play(world, self.mode)
        return world

    def story(self, *verdicts: str) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
        """The run, its events and its decisions, when it has ended and what was decided about its tools is stored."""
        agentlens.shutdown()

        def ended() -> dict[str, Any]:
            runs = self.platform.runs(self.agent_id)
            assert len(runs) == 1, [run["id"] for run in runs]
            assert runs[0]["endedAt"] is not None
            return runs[0]

        def stored() -> list[dict[str, Any]]:
            entries = self.platform.timeline(run["id"])
            decisions = [entry["decision"] for entry in entries if entry["type"] == "decision"]
            found = sorted(decision["verdict"] for decision in decisions if decision["phase"] == "tool.before")
            assert found == sorted(verdicts)
            return entries

        run = eventually(ended)
        entries = eventually(stored) if verdicts else self.platform.timeline(run["id"])
        events = [entry["event"] for entry in entries if entry["type"] == "event"]
        return run, events, [entry["decision"] for entry in entries if entry["type"] == "decision"]


@pytest.fixture
def play(platform: Platform, driver: Driver, mode: str) -> Play:
    return Play(platform, driver, mode)


def told(world: World, message: str) -> bool:
    """Whether the model was shown this after its first answer."""
    return any(message in shown for shown in world.shown[1:])


def of_type(events: list[dict[str, Any]], event_type: str) -> list[dict[str, Any]]:
    return [event for event in events if event["eventType"] == event_type]


def test_an_allowed_call_runs_and_its_story_stands_on_the_timeline(play: Play) -> None:
    world = play(LOOK, END)
    assert world.error is None
    assert world.done == [("look", "tea")]
    assert told(world, "tea is fine")
    run, events, _ = play.story("ALLOW")
    assert run["status"] == "succeeded"
    calls, responses = of_type(events, "tool_call"), of_type(events, "tool_response")
    assert [call["payload"]["toolName"] for call in calls] == ["look"]
    assert [call["payload"]["callId"] for call in calls] == [answer["payload"]["callId"] for answer in responses]
    assert calls[0]["payload"]["arguments"] == {"topic": "tea"}
    assert calls[0]["metadata"]["source"] == play.driver.source
    asked, answered = of_type(events, "llm_call"), of_type(events, "llm_response")
    assert len(asked) == len(answered) == 2
    assert {event["payload"]["callId"] for event in asked} == {event["payload"]["callId"] for event in answered}
    assert DONE in answered[-1]["payload"]["completion"]
    tokens = answered[0]["payload"]["usage"]["totalTokens"]
    assert tokens == 15 or (tokens > 0 and play.mode in play.driver.estimating)
    kinds = [event.get("kind") for event in events]
    assert kinds.count("run.started") == kinds.count("run.ended") == 1


def test_a_blocked_call_does_not_happen_and_the_model_is_told_why(play: Play) -> None:
    world = play(REMOVE, END)
    assert world.error is None
    assert world.done == []
    assert told(world, BLOCKED)
    run, events, _ = play.story("BLOCK")
    assert run["status"] == "succeeded"
    assert of_type(events, "tool_call") == of_type(events, "tool_response") == []


def test_of_two_calls_at_once_the_blocked_one_alone_does_not_happen(play: Play) -> None:
    both = Turn("Both.", [*LOOK.uses, *REMOVE.uses])
    world = play(*((LOOK, REMOVE) if play.mode in play.driver.one_at_a_time else (both,)), END)
    assert world.error is None
    assert world.done == [("look", "tea")]
    assert told(world, "tea is fine")
    assert told(world, BLOCKED)
    play.story("ALLOW", "BLOCK")


def test_a_decision_to_terminate_ends_the_run_before_the_next_model_call(play: Play) -> None:
    world = play(Turn("Boom.", [Use("explode", {"what": "tea"})]), LOOK, END)
    assert world.done == []
    assert len(world.shown) == 1
    stopped = agentlens.stopped_by(world.error)
    assert world.error is None or (stopped is not None and stopped.message == ENDED), repr(world.error)
    run, _, _ = play.story()
    assert run["status"] == "interrupted"


def test_a_tool_is_called_with_the_arguments_that_a_rule_has_changed(play: Play) -> None:
    world = play(Turn("A price.", [Use("price", {"eur": 900})]), END)
    assert world.error is None
    assert world.done == [("price", 5)]
    assert told(world, "the price is 5")


def test_a_call_waits_for_a_human_and_goes_on_when_it_is_approved(play: Play) -> None:
    approving = threading.Thread(target=play.platform.decide_approval, args=(play.agent_id, "approve"))
    approving.start()
    world = play(Turn("I pay.", [Use("pay", {"eur": 7})]), END, wait_for_approval=60.0)
    approving.join()
    assert world.error is None
    assert world.done == [("pay", 7)]
    assert told(world, "paid 7")


def test_a_call_that_a_human_denies_does_not_happen(play: Play) -> None:
    denying = threading.Thread(target=play.platform.decide_approval, args=(play.agent_id, "deny"))
    denying.start()
    world = play(Turn("I pay.", [Use("pay", {"eur": 7})]), END, wait_for_approval=60.0)
    denying.join()
    assert world.done == []


def test_a_call_that_waits_for_a_person_is_told_to_the_model_and_the_run_goes_on(play: Play) -> None:
    world = play(Turn("I pay.", [Use("pay", {"eur": 7})]), LOOK, END, wait_for_approval=0.0)
    assert world.error is None
    assert world.done == [("look", "tea")]
    assert told(world, "waits for a person. Do not repeat it")
    run, _, _ = play.story()
    assert run["status"] == "succeeded"


def test_what_a_tool_raises_does_what_it_does_without_us_and_is_recorded(play: Play) -> None:
    script = (Turn("I try.", [Use("broken", {"topic": "tea"})]), END)
    bare = play.bare(script)
    # A framework may try a failing tool more often than the breaker allows failures in a row.
    world = play(*script, breaker=False)
    assert type(world.error) is type(bare.error)
    assert world.did("broken") == bare.did("broken")
    assert len(world.shown) == len(bare.shown)
    _, events, _ = play.story()
    errors = of_type(events, "tool_error")
    assert len(errors) == len(world.did("broken"))
    assert "the tool is broken" in errors[0]["payload"]["error"]
    assert errors[0]["severity"] == "error"


def test_what_a_model_raises_comes_out_as_without_us_and_is_recorded(play: Play) -> None:
    script = (Turn(error=True),)
    bare = play.bare(script)
    world = play(*script)
    assert type(world.error) is type(bare.error)
    assert isinstance(world.error, ModelBroke) or "the model is away" in str(world.error)
    _, events, _ = play.story()
    # Some frameworks cancel who reads a stream before its error gets there.
    expected = ("the model is away", "CancelledError")
    assert all(any(text in event["payload"]["error"] for text in expected) for event in of_type(events, "llm_response"))
    assert len(of_type(events, "llm_response")) == len(of_type(events, "llm_call")) >= 1


def test_in_shadow_everything_happens_and_what_would_have_been_is_recorded(play: Play) -> None:
    world = play(REMOVE, END, enforce="shadow")
    assert world.error is None
    assert world.done == [("remove", "/tea")]
    _, events, _ = play.story()
    shadowed = [event for event in of_type(events, "custom") if event["payload"]["type"] == "decision_shadowed"]
    assert [event["payload"]["data"]["would"]["verdict"] for event in shadowed] == ["BLOCK"]


def test_switched_off_nobody_is_asked_and_events_are_kept(play: Play) -> None:
    world = play(REMOVE, END, enforce="off")
    assert world.done == [("remove", "/tea")]
    assert agentlens.status().asked == 0
    _, events, decisions = play.story()
    assert decisions == []
    assert len(of_type(events, "tool_call")) == 1


def test_failing_open_a_call_runs_while_the_platform_is_away(play: Play) -> None:
    away = {"url": f"http://127.0.0.1:{free_port()}", "deadline_ms": 300}
    world = play(LOOK, END, fail_mode="open", drain_ms=0, **away)
    assert world.error is None
    assert world.done == [("look", "tea")]
    assert agentlens.status().bypassed >= 1


def test_failing_closed_nothing_happens_while_the_platform_is_away(play: Play) -> None:
    away = {"url": f"http://127.0.0.1:{free_port()}", "deadline_ms": 300}
    world = play(LOOK, LOOK, END, fail_mode="closed", drain_ms=0, **away)
    assert world.done == []
    assert len(world.shown) <= 1
    assert world.error is None or agentlens.stopped_by(world.error) is not None


@pytest.fixture
def hanging() -> Iterator[str]:
    """Takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(64)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_an_agent_goes_on_where_the_platform_hangs(play: Play, hanging: str) -> None:
    again = Turn("Again.", [Use("look", {"topic": "coffee"})])
    world = play(LOOK, again, END, url=hanging, fail_mode="open", deadline_ms=200, drain_ms=0)
    assert world.error is None
    assert world.did("look") == ["tea", "coffee"]


def test_an_operator_who_kills_a_run_stops_it_in_the_middle(play: Play) -> None:
    def kill() -> None:
        (run,) = eventually(lambda: _one(play.platform.runs(play.agent_id)))
        play.platform.kill(run["id"])

    world = play(LOOK, Turn("Again.", [Use("look", {"topic": "coffee"})]), END, on_look=kill)
    assert world.did("look") == ["tea"]
    assert len(world.shown) <= 2
    run, _, _ = play.story()
    assert run["status"] != "succeeded"


@pytest.mark.parametrize("scope", ["ingest", "read"])
def test_a_key_without_the_scope_is_refused_at_once_and_the_framework_stays_as_it_was(play: Play, scope: str) -> None:
    before = play.driver.originals()
    key = play.platform.make_key(play.agent_id, scope)
    with pytest.raises(agentlens.AuthenticationError, match=r"403.*scopes `ingest` and `decide`"):
        play(REMOVE, END, api_key=key, fail_mode="open")
    assert play.driver.originals() == before
    assert play.bare((REMOVE, END)).done == [("remove", "/tea")]


def test_after_shutdown_the_framework_is_as_it_was(play: Play) -> None:
    before = play.driver.originals()
    play(LOOK, END)
    during = play.driver.originals()
    agentlens.shutdown()
    assert during != before or not before
    assert play.driver.originals() == before
    assert play.bare((REMOVE, END)).done == [("remove", "/tea")]


def _one(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    assert len(found) == 1
    return found


def test_a_sub_agent_counts_every_model_call_and_token_once(play: Play) -> None:
    inner = World([LOOK, END])
    # Pydantic AI refuses synchronous runs inside tools.
    mode = "async" if play.mode == "sync" and "async" in play.driver.modes else play.mode

    def delegate() -> None:
        # In a thread of its own, because frameworks run synchronous tools inside their event loop.
        context = contextvars.copy_context()
        worker = threading.Thread(target=context.run, args=(play.driver.play, inner, mode))
        worker.start()
        worker.join()

    world = play(LOOK, END, on_look=delegate)
    assert (world.error, inner.error) == (None, None)
    assert (world.did("look"), inner.did("look")) == (["tea"], ["tea"])
    agentlens.shutdown()
    calls = len(world.shown) + len(inner.shown)
    assert calls == 4

    def answered() -> list[dict[str, Any]]:
        entries = [entry for run in play.platform.runs(play.agent_id) for entry in play.platform.timeline(run["id"])]
        events = of_type([entry["event"] for entry in entries if entry["type"] == "event"], "llm_response")
        assert len(events) == calls
        return events

    tokens = [event["payload"]["usage"]["totalTokens"] for event in eventually(answered)]
    if not {play.mode, mode} & set(play.driver.estimating):
        assert tokens == [15] * calls
