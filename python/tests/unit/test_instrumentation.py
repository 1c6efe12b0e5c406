"""Patches and detection, with frameworks made for the test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentlens
from agentlens.integrations import registry
from agentlens.integrations.patching import MissingSeam, Patches
from agentlens.integrations.registry import Integration
from agentlens.testing import TestServer


class Framework:
    def call(self, value: str) -> str:
        return value

    @staticmethod
    def fixed(value: str) -> str:
        return value

    @classmethod
    def made(cls, value: str) -> str:
        return value


class Child(Framework):
    pass


def loud(original: object) -> object:
    return lambda *args: original(*args).upper()  # type: ignore[operator]


@pytest.mark.parametrize("name", ["call", "fixed", "made"])
def test_a_patch_is_put_back_as_what_it_was(name: str) -> None:
    before = vars(Framework)[name]
    patches = Patches()
    patches.add(Framework, name, loud)  # type: ignore[arg-type]
    patches.add(Framework, name, loud)  # type: ignore[arg-type]
    assert getattr(Framework(), name)("x") == "X"
    patches.undo()
    assert vars(Framework)[name] is before


def test_an_inherited_method_is_patched_in_the_child_alone() -> None:
    patches = Patches()
    patches.add(Child, "call", loud)  # type: ignore[arg-type]
    assert (Child().call("x"), Framework().call("x")) == ("X", "x")
    patches.undo()
    assert "call" not in vars(Child)


def test_a_patch_under_somebody_elses_only_hands_on() -> None:
    original = vars(Framework)["call"]
    patches = Patches()
    patches.add(Framework, "call", loud)  # type: ignore[arg-type]
    ours = vars(Framework)["call"]
    Framework.call = lambda self, value: f"<{ours(self, value)}>"  # type: ignore[method-assign]
    patches.undo()
    assert Framework().call("x") == "<x>"
    Framework.call = original  # type: ignore[method-assign]


def test_a_seam_that_is_not_there_is_named() -> None:
    with pytest.raises(MissingSeam, match=r"Framework\.gone"):
        Patches().add(Framework, "gone", loud)  # type: ignore[arg-type]


@pytest.fixture
def framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A framework `toy_framework` whose adapter notes what is done with it."""
    (tmp_path / "toy_framework.py").write_text("done = []\n")
    monkeypatch.syspath_prepend(tmp_path)
    adapter = type(sys)("agentlens.integrations.toy")
    adapter.instrument = lambda: sys.modules["toy_framework"].done.append("on")  # type: ignore[attr-defined]
    adapter.uninstrument = lambda: sys.modules["toy_framework"].done.append("off")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "agentlens.integrations.toy", adapter)
    toy = Integration("toy_framework", "toy", "toy-framework", ((1,), (2,)))
    monkeypatch.setattr(registry, "INTEGRATIONS", {"toy": (toy,)})
    yield tmp_path
    sys.modules.pop("toy_framework", None)


def test_a_framework_is_instrumented_when_it_is_imported_and_put_back_at_shutdown(framework: Path) -> None:
    TestServer().client(integrations=None)
    assert agentlens.status().integrations == {"toy": "waits for its import"}
    import toy_framework

    assert toy_framework.done == ["on"]
    assert agentlens.status().integrations == {"toy": "enforced"}
    assert toy_framework.__spec__.loader.__class__.__name__ == "SourceFileLoader"
    agentlens.shutdown()
    assert toy_framework.done == ["on", "off"]


def test_a_framework_that_was_imported_already_is_instrumented_at_once(framework: Path) -> None:
    import toy_framework

    TestServer().client(integrations=None)
    assert toy_framework.done == ["on"]


def test_a_framework_that_cannot_be_imported_is_said_and_disturbs_nobody(
    framework: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (framework / "toy_framework.py").write_text("raise ValueError('broken')\n")
    TestServer().client(integrations=None)
    with pytest.raises(ValueError, match="broken"):
        import toy_framework  # noqa: F401
    assert agentlens.status().started


def test_an_adapter_that_fails_is_said_and_the_framework_works(
    framework: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise MissingSeam("Toy.run")

    monkeypatch.setattr(sys.modules["agentlens.integrations.toy"], "instrument", broken)
    monkeypatch.setattr(sys.modules["agentlens.integrations.toy"], "uninstrument", lambda: None)
    TestServer().client(integrations=None)
    import toy_framework

    assert toy_framework.done == []
    assert "NOT guarded" in caplog.text
    assert agentlens.status().integrations["toy"].startswith("failed: MissingSeam")


def test_a_version_that_was_not_tried_is_said(
    framework: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(registry, "version_of", lambda distribution: "9.1.0rc1")
    TestServer().client(integrations=None)
    import toy_framework

    assert toy_framework.done == ["on"]
    assert agentlens.status().integrations == {"toy": "untried version 9.1.0rc1"}
    assert "is not a tested version" in caplog.text


def test_a_name_nobody_knows_is_refused_and_a_provider_is_explained(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValueError, match="no integration 'longchain'"):
        TestServer().client(integrations=["longchain"])
    agentlens.shutdown()
    TestServer().client(integrations=["openai"])
    assert "the provider openai has no patch" in caplog.text
