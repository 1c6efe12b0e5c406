"""What the platform's own code has answered (python/vectors, written by test/python-vectors.spec.ts)."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from agentlens.guard.breaker import CLOSED_BREAKER, Breaker, BreakerLimits, check, read_call, record
from agentlens.redact import redact

VECTORS = Path(__file__).resolve().parents[2] / "vectors"
BREAKER = json.loads((VECTORS / "breaker.json").read_text())
REDACT = json.loads((VECTORS / "redact.json").read_text())


def wire(breaker: Breaker) -> dict[str, Any]:
    state, usage = asdict(breaker.state), asdict(breaker.usage)
    usage["confidences"] = list(usage["confidences"])
    return {
        "state": {to_camel(key): value for key, value in state.items() if value is not None},
        "usage": {to_camel(key): value for key, value in usage.items() if value is not None},
    }


@pytest.mark.parametrize("case", BREAKER, ids=range(len(BREAKER)))
def test_a_breaker_answers_as_the_platforms_own(case: dict[str, Any]) -> None:
    limits = BreakerLimits.model_validate(case["limits"])
    breaker = CLOSED_BREAKER
    answers = iter(case["expected"]["answers"])
    for step in case["steps"]:
        if step["do"] == "record":
            breaker = record(breaker, read_call(step["used"]), step["atMs"])
            continue
        answer, expected = check(breaker, limits, step["atMs"], read_call(step["next"])), next(answers)
        breaker = answer.breaker
        assert answer.allowed == expected["allowed"]
        assert answer.reason == expected.get("reason")
        assert answer.tripped == expected.get("tripped", False)
        assert answer.probe == expected.get("probe", False)
    found, last = wire(breaker), case["expected"]["breaker"]
    assert found["state"] == last["state"]
    assert found["usage"] == {
        key: pytest.approx(value) if isinstance(value, float) else value for key, value in last["usage"].items()
    }


@pytest.mark.parametrize("case", REDACT, ids=range(len(REDACT)))
def test_a_text_is_redacted_as_the_sdk_does(case: dict[str, Any]) -> None:
    found = redact("".join(case["text"]))
    assert found.text == "".join(case["expected"]["text"])
    assert [finding.name for finding in found.findings] == case["expected"]["names"]
