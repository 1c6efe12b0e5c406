from __future__ import annotations

import pytest

import agentlens
from agentlens._settings import resolve


def settings(**options: object) -> object:
    return resolve(options, lambda: "s")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"failmode": "open"}, "failmode is no option; did you mean fail_mode?"),
        ({"nonsense": 1}, "nonsense is no option"),
    ],
)
def test_a_misspelt_option_is_said_at_once(options: dict[str, str], said: str) -> None:
    with pytest.raises(TypeError, match=said.replace("?", r"\?")):
        agentlens.init("http://127.0.0.1:1", **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": "localhost:3400"}, "url is no address"),
        ({"enforce": "maybe"}, "enforce is 'maybe'; it is one of enforce, shadow, off"),
        ({"fail_mode": "shut"}, "fail_mode"),
        ({"deadline_ms": 0}, "deadline_ms"),
        ({"cloud": True}, "cloud=True"),
    ],
)
def test_a_wrong_value_names_its_option(options: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        settings(**options)


def test_the_environment_says_what_the_program_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTLENS_SERVER_URL", "http://two.example")
    assert settings().url == "http://two.example"  # type: ignore[attr-defined]
    monkeypatch.setenv("AGENTLENS_URL", "http://one.example")
    monkeypatch.setenv("AGENTLENS_API_KEY", "k")
    monkeypatch.setenv("AGENTLENS_AGENT_ID", "bot")
    monkeypatch.setenv("AGENTLENS_ENFORCE", "shadow")
    monkeypatch.setenv("AGENTLENS_FAIL_MODE", "closed")
    monkeypatch.setenv("AGENTLENS_DEADLINE_MS", "2500")
    found = settings()
    assert found.deadline_ms == 2500  # type: ignore[attr-defined]
    assert (found.url, found.api_key, found.agent_id) == ("http://one.example", "k", "bot")  # type: ignore[attr-defined]
    assert (found.enforce, found.fail_mode) == ("shadow", "closed")  # type: ignore[attr-defined]
    assert settings(url="http://given.example").url == "http://given.example"  # type: ignore[attr-defined]


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(settings(api_key="secret"))


def test_a_run_needs_init() -> None:
    with pytest.raises(RuntimeError, match="init"):
        agentlens.run()
