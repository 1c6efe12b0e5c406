"""Exits, forks and servers that drip, with real processes and sockets."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentlens

SRC = Path(__file__).resolve().parents[2] / "src"


class Recorder(http.server.ThreadingHTTPServer):
    """A platform that takes everything. `drip`: it sends its answers a byte at a time and never ends one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: list[dict[str, Any]] = []
        self.drip = False
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away in the middle is what some of these tests are about."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Recorder
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.server.drip and not self.path.startswith("/v1/agents"):
            return self._drip()
        if self.path.startswith("/api/events"):
            self.server.events.extend(body["events"])
            return self._answer(201, {"ingested": len(body["events"])})
        allow = {"verdict": "ALLOW", "control": "CONTINUE", "cause": {"kind": "ALLOW"}, "message": ""}
        return self._answer(200, {**allow, "lockdown": {"active": False}})

    def do_GET(self) -> None:
        self._answer(404, {"error": "none", "status": 404})

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "100000")
        self.end_headers()
        while not self.server.released.wait(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()

    def _answer(self, status: int, body: Any) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    server = Recorder()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()


def program(code: str, recorder: Recorder) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("AGENTLENS_")}
    env = {**clean, "PYTHONPATH": str(SRC), "AGENTLENS_SERVER_URL": recorder.url, "AGENTLENS_API_KEY": "k"}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)


def notes(recorder: Recorder) -> list[Any]:
    return [event["payload"]["data"].get("n") for event in recorder.events if event["payload"].get("type") == "note"]


RECORD = "agentlens._state.required().process_run.record('note', {'n': %s})\n"


def test_what_waits_at_the_exit_is_sent(recorder: Recorder) -> None:
    code = "import agentlens\nagentlens.init(integrations=[])\nfor n in range(300): " + RECORD % "n"
    done = program(code, recorder)
    assert done.returncode == 0, done.stderr
    assert sorted(notes(recorder)) == list(range(300))


def test_what_waits_is_sent_when_the_program_exits_in_the_middle(recorder: Recorder) -> None:
    code = "import agentlens, sys\nagentlens.init(integrations=[])\n" + RECORD % "1" + "sys.exit(3)"
    assert program(code, recorder).returncode == 3
    assert notes(recorder) == [1]


def test_a_server_that_drips_holds_up_no_exit(recorder: Recorder) -> None:
    recorder.drip = True
    code = "import agentlens\nagentlens.init(integrations=[], drain_ms=300, deadline_ms=200)\n" + RECORD % "1"
    assert program(code, recorder).returncode == 0


def test_a_forked_child_and_its_parent_send_each_their_own_once(recorder: Recorder) -> None:
    code = (
        "import agentlens, os\nagentlens.init(integrations=[])\n"
        + RECORD % "'before'"
        + "pid = os.fork()\n"
        + RECORD % "'child' if pid == 0 else 'parent'"
        + "assert not agentlens.guarded_tool(name='t')(lambda: None)()\n"
        + "assert agentlens.flush(40)\nos._exit(0) if pid == 0 else os.waitpid(pid, 0)"
    )
    done = program(code, recorder)
    assert done.returncode == 0, done.stderr
    assert sorted(notes(recorder)) == ["before", "child", "parent"]


def test_a_decision_is_had_within_the_deadline_from_a_server_that_drips(recorder: Recorder) -> None:
    recorder.drip = True
    agentlens.init(recorder.url, api_key="k", integrations=[], deadline_ms=200, drain_ms=0, heartbeat_ms=0)
    # Not a measurement: without a deadline of our own this would take as long as the server drips, which is for ever.
    with agentlens.run() as run:
        assert run.before_tool("ls", {}).bypass == "deadline"


def test_importing_the_package_imports_no_framework() -> None:
    code = (
        "import sys, agentlens\n"
        "names = ['langchain_core', 'crewai', 'semantic_kernel', 'agents', 'pydantic_ai', 'ag2', 'autogen']\n"
        "assert not set(names) & set(sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=60)


def test_ids_rise_also_within_a_millisecond() -> None:
    from agentlens.ids import MonotonicIds

    ids = MonotonicIds(now_ms=lambda: 1_700_000_000_000)
    made = [ids.new() for _ in range(1_000)]
    assert made == sorted(made)
    assert len(set(made)) == 1_000
    assert all(item[14] == "7" and item[19] in "89ab" for item in made)
