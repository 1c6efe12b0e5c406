"""A really running platform for tests, and the people at it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[3]
MAIN = ROOT / "services/standalone/dist/main.js"
START_TIMEOUT_S = 120


class Platform:
    """`admin` may do everything, `agent_key` is an agent's, `people` decide approvals."""

    def __init__(self, url: str, admin_key: str, process: subprocess.Popen[bytes] | None, data: Path | None) -> None:
        self.url = url
        self._process = process
        self._data = data
        self._http = httpx.Client(base_url=url, timeout=20)
        self._admin_key = admin_key
        self.agent_key = self.make_key("agent", "ingest", "decide")
        self._people_key = self.make_key("people", "read", "review")

    def make_key(self, name: str, *scopes: str) -> str:
        return str(self.admin("POST", "/api/keys", {"name": name, "scopes": list(scopes)})["key"])

    def admin(self, method: str, path: str, body: Any = None) -> Any:
        return self._call(method, path, body, self._admin_key)

    def people(self, method: str, path: str, body: Any = None) -> Any:
        return self._call(method, path, body, self._people_key)

    def _call(self, method: str, path: str, body: Any, key: str) -> Any:
        answer = self._http.request(method, path, json=body, headers={"authorization": f"Bearer {key}"})
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:500]}"
        return answer.json() if answer.content else None

    # -- what people do --------------------------------------------------------------------------------------------

    def rule(self, name: str, tool: str, action: str, config: dict[str, Any]) -> str:
        body = {
            "name": name,
            "selector": {"phases": ["tool.before"], "tools": [tool]},
            "conditionType": "tool_name",
            "conditionConfig": {"value": tool},
            "actionType": action,
            "actionConfig": config,
        }
        return str(self.admin("POST", "/api/guardrails", body)["id"])

    def decide_approval(self, agent_id: str, verdict: str) -> None:
        """Waits until a call of this agent waits, then decides about it."""
        alert = eventually(lambda: self._pending(agent_id))
        self.people("POST", f"/api/alerts/{alert['id']}/{verdict}", {"reason": "a test"})

    def _pending(self, agent_id: str) -> dict[str, Any]:
        found = self.people("GET", f"/api/alerts?kind=approval&status=pending&agentId={agent_id}")["alerts"]
        assert found
        return dict(found[0])

    def kill(self, run_id: str) -> None:
        order = {"scope": "run", "id": run_id, "state": "killed", "reason": "a test", "waitMs": 0}
        self.admin("POST", "/api/control", order)

    # -- what can be read ------------------------------------------------------------------------------------------

    def runs(self, agent_id: str) -> list[dict[str, Any]]:
        return list(self.people("GET", f"/api/runs?agentId={agent_id}")["runs"])

    def timeline(self, run_id: str) -> list[dict[str, Any]]:
        return list(self.people("GET", f"/api/runs/{run_id}/timeline")["entries"])

    def answers(self, key: str, tool: str) -> str:
        """The decision that a call of this tool receives."""
        body = {"phase": "tool.before", "agentId": "warm-up", "tool": {"name": tool}, "args": {}}
        answer = self._call("POST", "/v1/runs/warm-up/evaluate", body, key)
        return f"{answer['verdict']} {answer['cause']['kind']}"

    def stop(self) -> None:
        self._http.close()
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(60)
        if self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)


def eventually(check: Any, timeout_s: float = 30) -> Any:
    """Asks again until it no longer raises AssertionError; what it answers then."""
    until = time.monotonic() + timeout_s
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def start_platform() -> Platform:
    given = os.environ.get("AGENTLENS_TEST_URL")
    if given:
        return Platform(given, os.environ["AGENTLENS_TEST_KEY"], None, None)
    if not MAIN.exists():
        raise RuntimeError(f"{MAIN} is not built: run `npm run build` in {ROOT} first")
    data = Path(tempfile.mkdtemp(prefix="agentlens-python-"))
    port = free_port()
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("AGENTLENS_", "NODE_OPTIONS"))}
    node = ROOT / "node_modules/.bin/node"  # Node 24, which the lockfile brings
    log = (data / "log").open("wb")
    process = subprocess.Popen(
        [str(node) if node.exists() else "node", str(MAIN)],
        cwd=ROOT,
        env={**clean, "AGENTLENS_HTTP_PORT": str(port), "AGENTLENS_DATA_DIR": str(data / "data")},
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    url = f"http://127.0.0.1:{port}"

    def ready() -> str:
        if process.poll() is not None:
            raise RuntimeError(f"the platform ended ({process.returncode}):\n{(data / 'log').read_text()}")
        assert "is ready" in (data / "log").read_text()
        return (data / "data/api-key").read_text().strip()

    return Platform(url, eventually(ready, START_TIMEOUT_S), process, data)
