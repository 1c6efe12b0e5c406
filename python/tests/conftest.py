from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

import agentlens
from support.platform import Platform, eventually, start_platform

# Suites of one framework, and the module that it is imported by.
_OF_ONE = {"test_langgraph.py": "langgraph", "test_semantic_kernel.py": "semantic_kernel"}
collect_ignore = [
    f"conformance/{suite}" for suite, module in _OF_ONE.items() if importlib.util.find_spec(module) is None
]

BLOCKED = "Removing is not allowed here."
ENDED = "This run is over."


@pytest.fixture(autouse=True)
def nothing_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [key for key in os.environ if key.startswith("AGENTLENS_") and not key.startswith("AGENTLENS_TEST_")]:
        monkeypatch.delenv(name)
    yield
    agentlens.shutdown()


@pytest.fixture(scope="session")
def platform() -> Iterator[Platform]:
    """With a rule for each of: `remove` is blocked, `explode` ends the run, `pay` asks, `price` is changed."""
    started = start_platform()
    try:
        started.rule("Nothing is removed", "remove", "block", {"message": BLOCKED})
        started.rule("Nothing explodes", "explode", "terminate_run", {"message": ENDED})
        started.rule("Payments need a human", "pay", "require_approval", {"title": "Pay this?"})
        started.rule("Prices are capped", "price", "modify_arguments", {"set": {"eur": 5}})
        expected = {"remove": "BLOCK RULE_VIOLATION", "explode": "BLOCK RULE_VIOLATION", "pay": "BLOCK HITL_PENDING"}

        def effective() -> None:
            assert {tool: started.answers(started.agent_key, tool) for tool in expected} == expected

        eventually(effective)
        yield started
    finally:
        started.stop()
