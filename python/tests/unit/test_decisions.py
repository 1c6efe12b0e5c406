"""Deciding, with the platform in memory."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator

import pytest

import agentlens
from agentlens import AuthenticationError, BreakerLimits, RunStopped
from agentlens.decision import read_decision
from agentlens.guard.rule_bundle import sign
from agentlens.testing import TestServer, allow, block, modify, need_approval, terminate
from agentlens.transport import Reply


@pytest.fixture
def server() -> TestServer:
    return TestServer()


@pytest.fixture
def run(server: TestServer) -> Iterator[agentlens.Run]:
    server.client(agent_id="agent")
    with agentlens.run(run_id="r1") as run:
        yield run


def offer(server: TestServer, **content: object) -> None:
    bundle = {"agentId": "agent", "version": 1, "ttlSeconds": 60, "askAlways": [], "rules": [], **content}
    payload = json.dumps(bundle)
    server.bundle = Reply(200, json.dumps({"payload": payload, "signature": sign(payload, "test")}), {"etag": '"1"'})


def test_an_allowed_call_is_asked_about_with_all_that_is_known(server: TestServer) -> None:
    server.client(agent_id="agent", tags={"env": "test"})
    actor = agentlens.Actor(external_id="u1", metadata={"plan": "free"})
    with agentlens.run(run_id="r1", actor=actor, tags={"job": "7"}) as run:
        decision = run.before_tool("mail", {"to": "x"}, call_id="c1", tags=["write"])
    assert (decision.verdict, decision.source, decision.args) == ("ALLOW", "remote", {"to": "x"})
    (question,) = server.asked()
    assert question["runId"] == "r1"
    assert question["tool"] == {"name": "mail", "tags": ["write"]}
    assert question["actor"] == {"externalId": "u1", "metadata": {"plan": "free"}}
    assert question["tags"] == {"env": "test", "job": "7"}
    assert question["callId"] == "c1"
    assert server.runs["r1"]["started"]["agentId"] == "agent"
    assert server.runs["r1"]["ended"]["status"] == "success"


def test_a_blocked_call_tells_why_and_the_run_goes_on(server: TestServer, run: agentlens.Run) -> None:
    server.rule(block("Not here."), tools=["rm"])
    decision = run.before_tool("rm", {})
    assert decision.blocked
    assert not decision.terminates
    assert decision.message == "Not here."
    assert not run.before_tool("ls", {}).blocked


def test_after_a_decision_to_terminate_nothing_of_the_run_is_allowed(server: TestServer, run: agentlens.Run) -> None:
    server.rule(terminate("Over."), tools=["bomb"])
    run.before_tool("bomb", {})
    asked = len(server.questions)
    assert run.before_tool("ls", {}).message == "Over."
    with pytest.raises(RunStopped) as stopped:
        run.before_llm([])
    assert agentlens.stopped_by(stopped.value) is not None
    assert len(server.questions) == asked
    run.end()
    assert server.runs["r1"]["ended"]["status"] == "interrupted"


def test_the_run_of_the_process_survives_a_decision_to_terminate(server: TestServer) -> None:
    server.rule(terminate(), tools=["bomb"]).client()
    bomb = agentlens.guarded_tool(name="bomb")(lambda: "boom")
    ls = agentlens.guarded_tool(name="ls")(lambda: "files")
    assert bomb() != "boom"
    assert ls() == "files"


def test_changed_arguments_are_those_to_use(server: TestServer, run: agentlens.Run) -> None:
    server.rule(modify({"eur": 5}))
    assert run.before_tool("pay", {"eur": 9}).args == {"eur": 5}


def test_a_waiting_call_is_the_same_call_however_often_it_is_asked_about(
    server: TestServer, run: agentlens.Run
) -> None:
    server.rule(need_approval(), tools=["pay"])
    first = run.before_tool("pay", {"eur": 5})
    second = run.before_tool("pay", {"eur": 5})
    assert first.pending
    assert first.call_id == second.call_id
    assert run.before_tool("pay", {"eur": 6}).call_id != first.call_id
    server.approve()
    assert not run.wait_for_approval("pay", first, timeout=5).blocked
    assert run.stopped is None


def test_a_call_that_waits_for_a_person_leaves_the_run_going_and_uses_the_later_approval(
    server: TestServer, run: agentlens.Run
) -> None:
    server.rule(need_approval(), tools=["pay"])
    paid: list[int] = []
    pay = agentlens.guarded_tool(name="pay", wait_for_approval=0)(lambda eur: paid.append(eur) or f"paid {eur}")
    with run:
        told = pay(5)
        assert "approval pending" in told
        assert "waits for a person. Do not repeat it" in told
        assert run.stopped is None
        assert not run.before_tool("ls", {}).blocked
        server.approve()
        assert pay(5) == "paid 5"
        assert "waits for a person" in pay(5)
    assert paid == [5]


def test_of_two_equal_calls_one_uses_the_approval(server: TestServer, run: agentlens.Run) -> None:
    server.rule(need_approval(), tools=["pay"])
    first = run.before_tool("pay", {"eur": 5}, call_id="a")
    server.approve()
    assert not run.wait_for_approval("pay", first, timeout=5).blocked
    assert run.before_tool("pay", {"eur": 5}, call_id="a").pending


def test_the_answer_of_an_older_platform_does_not_end_the_run(server: TestServer, run: agentlens.Run) -> None:
    server.rule({**need_approval(), "control": "TERMINATE"}, tools=["pay"])
    assert not run.before_tool("pay", {}).terminates


def test_waiting_for_a_human_ends_with_its_time(server: TestServer, run: agentlens.Run) -> None:
    server.rule(need_approval(), tools=["pay"])
    assert run.wait_for_approval("pay", run.before_tool("pay", {}), timeout=0).pending


def test_a_result_can_be_withheld(server: TestServer, run: agentlens.Run) -> None:
    server.rule(block("Secret."), phases=["tool.after"])
    read = agentlens.guarded_tool(name="read")(lambda: "the secret")
    assert read() == "Secret."
    assert server.asked("tool.after")[0]["result"] == "the secret"


@pytest.mark.parametrize("how", ["down", "nonsense", 500, 404])
@pytest.mark.parametrize(("mode", "blocked"), [("open", False), ("closed", True)])
def test_what_nobody_decides_goes_by_the_fail_mode(server: TestServer, how: object, mode: str, blocked: bool) -> None:
    server.client(fail_mode=mode)
    server.fail(how, "/evaluate")  # type: ignore[arg-type]
    with agentlens.run() as run:
        decision = run.before_tool("ls", {})
        assert decision.blocked is decision.terminates is blocked
        assert decision.source == "fallback"
        assert (run.stopped is not None) is blocked
    server.fail(None)
    (told,) = server.events_of("custom", "decision.bypassed")
    data = told["payload"]["data"]
    assert data["did"] == ("block" if blocked else "allow")
    assert data["cause"] in ("away", "nonsense", "refused")
    assert data["message"] == decision.message
    assert decision.message.endswith(f"Failing {mode}.")
    assert agentlens.status().bypassed == 1


def test_a_server_that_hangs_is_waited_for_no_longer_than_the_deadline(server: TestServer) -> None:
    server.client(deadline_ms=50)
    server.fail("hang", "/evaluate")
    with agentlens.run() as run:
        assert run.before_tool("ls", {}).bypass == "deadline"
        assert asyncio.run(run.abefore_tool("ls", {})).bypass == "deadline"


def test_after_three_failures_a_call_no_longer_waits(server: TestServer) -> None:
    server.client()
    server.fail("down", "/evaluate")
    with agentlens.run() as run:
        for _ in range(3):
            run.before_tool("ls", {})
        calls = len(server.calls)
        assert run.before_tool("ls", {}).bypass == "unavailable"
        assert len(server.calls) == calls


def test_a_call_that_broke_is_made_once_more(server: TestServer, run: agentlens.Run) -> None:
    server.fail(503, "/evaluate")
    run.before_tool("ls", {})
    assert len([path for _, path in server.calls if path.endswith("/evaluate")]) == 2


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("mode", ["open", "closed"])
def test_a_key_that_is_refused_ends_the_run_whatever_the_fail_mode(server: TestServer, status: int, mode: str) -> None:
    server.client(fail_mode=mode)
    server.fail(status, "/evaluate")
    with agentlens.run() as run:
        decision = run.before_tool("ls", {})
        assert decision.terminates
        assert "key was refused" in decision.message
        with pytest.raises(RunStopped):
            run.before_llm([])


def test_a_key_that_is_refused_at_the_start_ends_the_run(server: TestServer, run: agentlens.Run) -> None:
    server.fail(401, "/start")
    with agentlens.run() as late:
        assert late.before_tool("ls", {}).terminates
        assert late.stopped is not None


def test_failing_closed_an_allow_with_bypasses_that_cannot_be_read_is_none(server: TestServer) -> None:
    server.rule({**allow(), "bypasses": [{"why": "news"}]}).client(fail_mode="closed")
    with agentlens.run() as run:
        assert run.before_tool("ls", {}).terminates


@pytest.mark.parametrize("status", [401, 403])
def test_init_raises_for_a_key_that_is_refused(server: TestServer, status: int) -> None:
    server.fail(status, "/v1/agents")
    with pytest.raises(AuthenticationError) as refused:
        server.client()
    assert refused.value.status == status
    assert agentlens.current_session_id() is None


def test_init_says_that_no_platform_is_there_and_goes_on(server: TestServer, caplog: pytest.LogCaptureFixture) -> None:
    server.fail("down")
    with caplog.at_level(logging.WARNING):
        server.client()
    assert "no platform at" in caplog.text
    assert agentlens.status().started


def test_shadow_refuses_nothing_and_tells_what_would_have_been(server: TestServer) -> None:
    server.rule(terminate("Over.")).client(enforce="shadow")
    with agentlens.run() as run:
        decision = run.before_tool("bomb", {"a": 1})
        assert not decision.blocked
        assert decision.shadowed is not None
        assert decision.shadowed.message == "Over."
        assert run.stopped is None
    assert len(server.events_of("custom", "decision_shadowed")) == 1


def test_off_asks_nobody(server: TestServer) -> None:
    server.rule(block()).client(enforce="off")
    with agentlens.run() as run:
        assert not run.before_tool("rm", {}).blocked
    assert server.questions == []


def test_arguments_too_large_to_be_checked_are_not_done(server: TestServer, run: agentlens.Run) -> None:
    decision = run.before_tool("write", {"text": "x" * 200_001})
    assert decision.blocked
    assert not decision.terminates
    assert server.asked() == []


def test_the_breaker_of_a_run_opens_by_itself_and_says_so(server: TestServer) -> None:
    server.client(breaker=BreakerLimits(max_iterations=2))
    with agentlens.run() as run:
        for _ in range(2):
            run.after_llm(run.before_llm([]), text="hm")
        with pytest.raises(RunStopped, match="iterations"):
            run.before_llm([])
        assert run.before_tool("ls", {}).cause.kind == "LOCKDOWN"
    (tripped,) = server.events_of("custom", "breaker.tripped")
    assert tripped["payload"]["data"]["reason"] == "iterations"


def test_limits_that_the_platform_sets_for_the_agent_win(server: TestServer) -> None:
    limits = BreakerLimits(max_iterations=1).model_dump(by_alias=True)
    offer(server, breakerLimits=limits)
    server.client(agent_id="agent", breaker=BreakerLimits(max_iterations=5))
    with agentlens.run() as run:
        run.after_llm(run.before_llm([]))
        with pytest.raises(RunStopped):
            run.before_llm([])


def test_a_tenant_can_turn_the_default_breaker_off(server: TestServer, caplog: pytest.LogCaptureFixture) -> None:
    offer(server, defaultBreaker="off")
    with caplog.at_level(logging.WARNING):
        server.client(agent_id="agent")
    with agentlens.run() as run:
        for _ in range(12):
            run.after_llm(run.before_llm([]))
    assert "a run is stopped after" not in caplog.text


def test_a_breaker_of_ones_own_is_not_the_default_one(server: TestServer) -> None:
    offer(server, defaultBreaker="off")
    server.client(agent_id="agent", breaker=BreakerLimits(max_iterations=1))
    with agentlens.run() as run:
        run.after_llm(run.before_llm([]))
        with pytest.raises(RunStopped):
            run.before_llm([])


def test_init_says_once_by_which_limits_a_run_is_stopped(server: TestServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        server.client(agent_id="agent")
    said = [record.getMessage() for record in caplog.records if "a run is stopped after" in record.getMessage()]
    assert len(said) == 1
    assert "50 model calls, 200,000 tokens, 10 USD or 10 failures in a row" in said[0]


def test_model_calls_and_results_that_nobody_decides_about_are_told_too(server: TestServer) -> None:
    server.client()
    server.fail("down", "/evaluate")
    with agentlens.run() as run:
        run.after_llm(run.before_llm([]))
        run.after_tool("ls", {}, "files", call_id="c1")
    server.fail(None)
    told = [event["payload"]["data"] for event in server.events_of("custom", "decision.bypassed")]
    assert [(data["phase"], data["cause"]) for data in told] == [("llm.before", "away"), ("tool.after", "away")]


def test_phases_that_no_rule_is_about_are_not_asked(server: TestServer) -> None:
    offer(server, rules=[{"id": "1", "phases": ["tool.before"]}])
    server.client(agent_id="agent")
    with agentlens.run() as run:
        run.after_llm(run.before_llm([]))
        decision = run.before_tool("ls", {})
        run.after_tool("ls", {}, "files", call_id=decision.call_id)
    assert [question["phase"] for question in server.questions] == ["tool.before"]


def test_a_bundle_that_somebody_else_signed_is_not_used(server: TestServer) -> None:
    offer(server)
    assert server.bundle is not None
    server.bundle = Reply(200, server.bundle.text.replace('"signature": "', '"signature": "00'))
    server.client(agent_id="agent")
    with agentlens.run() as run:
        run.before_llm([])
    assert len(server.asked("llm.before")) == 1


def test_a_run_that_is_stopped_at_its_start_does_nothing(server: TestServer) -> None:
    server.lockdown = {"active": True, "kind": "killed", "reason": "enough", "lockdownId": "o1"}
    server.client()
    with agentlens.run() as run:
        decision = run.before_tool("ls", {})
        assert decision.message == "This run was stopped: enough"
        assert decision.cause.lockdown_id == "o1"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"verdict": "ALLOW"},
        {"verdict": "MAYBE", "control": "CONTINUE", "cause": {"kind": "ALLOW"}, "message": ""},
        {"verdict": "BLOCK", "control": "CONTINUE", "cause": {"kind": "RULE_VIOLATION"}, "message": ""},
        {"verdict": "ALLOW", "control": "CONTINUE", "cause": {"kind": "ALLOW"}, "message": "", "modifiedArgs": "x"},
    ],
)
def test_half_an_answer_is_no_decision(answer: object) -> None:
    assert read_decision(answer) is None
