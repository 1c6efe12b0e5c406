from __future__ import annotations

import pytest
from pydantic import BaseModel, TypeAdapter

import agentlens
from agentlens import self_correct, validate_output
from agentlens.output import Invalid, Valid
from agentlens.testing import TestServer

FENCE = "```"


class Answer(BaseModel):
    n: float
    s: str | None = None


def fenced(language: str, body: str) -> str:
    return f"{FENCE}{language}\n{body}\n{FENCE}"


@pytest.mark.parametrize(
    "text",
    [
        '{"n": 1}',
        fenced("json", '{"n": 1}'),
        f"Sure:\n\n{fenced('json', chr(123) + chr(34) + 'n' + chr(34) + ': 1}')}\nAnything else?",
        fenced("", '{"n": 1}'),
        f'Here: \n{FENCE}json {{"n": 1}}{FENCE}',
        f"{fenced('sh', 'ls {a,b}')}\n{fenced('json', chr(123) + chr(34) + 'n' + chr(34) + ': 1}')}",
        'I think {"n": 1} is right.',
        fenced("json", '{"n": 1, "s": "```js\\ncode```"}'),
        f'{FENCE}json\r\n{{"n": 1}}\r\n{FENCE}',
    ],
)
def test_the_json_in_an_answer_is_found(text: str) -> None:
    found = validate_output(text, Answer)
    assert isinstance(found, Valid)
    assert found.value.n == 1
    assert not found.repaired


@pytest.mark.parametrize("text", ["{'n': 1}", "{n: 1}", '{"n": 1,}', '{"n": 1', fenced("json", '{"n": 1')])
def test_broken_json_is_repaired_and_says_so(text: str) -> None:
    found = validate_output(text, Answer)
    assert isinstance(found, Valid)
    assert (found.value.n, found.repaired) == (1, True)
    assert isinstance(validate_output(text, Answer, repair=False), Invalid)


def test_prose_is_no_json() -> None:
    found = validate_output("I do not know.", TypeAdapter(object))
    assert isinstance(found, Invalid)
    assert found.error.reason == "no_json"


def test_strict_takes_the_whole_answer_and_nothing_else() -> None:
    assert validate_output('{"n": 1}', Answer, strict=True).ok
    for text in (fenced("json", '{"n": 1}'), 'x {"n": 1}', "{'n': 1}"):
        assert not validate_output(text, Answer, strict=True).ok


@pytest.mark.parametrize("piece", ["{", "[", '"', FENCE, f"{FENCE}\n", '{"a":', "\\"])
def test_hostile_text_is_no_reason_to_raise(piece: str) -> None:
    assert not validate_output(piece * 20_000, Answer, repair=False).ok


def test_what_is_wrong_is_said_in_words_for_the_model() -> None:
    found = validate_output('{"n": "one", "s": 2}', Answer)
    assert isinstance(found, Invalid)
    assert [issue.path for issue in found.error.issues] == ["n", "s"]
    assert "- n: " in found.error.to_prompt()
    assert "Answer again with the corrected JSON only" in found.error.to_prompt()


def test_a_schema_may_be_json() -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "number"}}}
    assert validate_output('{"n": 1}', schema).ok
    found = validate_output('{"n": "x"}', schema)
    assert isinstance(found, Invalid)
    assert [issue.path for issue in found.error.issues] == ["n"]


def test_a_model_is_asked_until_its_answer_matches_and_no_more_often_than_allowed() -> None:
    answers = iter(["no", '{"n": "x"}', '{"n": 2}'])
    asked: list[str | None] = []

    def ask(correction: agentlens.OutputError | None) -> str:
        asked.append(None if correction is None else correction.reason)
        return next(answers)

    corrected = self_correct(ask, Answer)
    assert corrected.result.ok
    assert (corrected.attempts, asked) == (3, [None, "no_json", "schema"])
    assert self_correct(lambda correction: "no", Answer, 2).attempts == 2


def test_the_outcome_is_recorded_and_never_what_the_model_said() -> None:
    server = TestServer()
    server.client()
    with agentlens.run():
        validate_output('{"n": "secret"}', Answer)
    (event,) = server.events_of("custom", "output.validated")
    expected = {"outcome": "invalid", "type": "LOGIC", "reason": "schema", "issues": ["n"]}
    assert event["payload"]["data"] == expected
