"""Heartbeats and orders for long runs."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agentlens.guard.acknowledgement import Connection, read_connection, sign_acknowledgement
from agentlens.platform import Answered, run_path

if TYPE_CHECKING:
    from agentlens.instance import Instance
    from agentlens.run import Run

logger = logging.getLogger("agentlens")
# Decisions carry orders; only longer runs are worth polling for.
LONG_RUN_S = 30.0
POLL_WAIT_S = 20.0
PAUSE_S = 5.0


class RunMonitor:
    """One daemon thread, alive while a run is: sends heartbeats, polls for orders and acknowledges them."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._changed = threading.Condition(threading.Lock())
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._after = ""
        self._connection: Connection | None = None

    def wake(self) -> None:
        settings = self._instance.settings
        if settings.enforce == "off" or settings.sync_mode or settings.heartbeat_ms == 0:
            return
        with self._changed:
            if self._stopped or (self._thread is not None and self._thread.is_alive()):
                return
            thread = threading.Thread(target=self._work, name="agentlens-monitor", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return  # the interpreter is shutting down
            self._thread = thread

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _work(self) -> None:
        heartbeat_s = self._instance.settings.heartbeat_ms / 1000
        beaten: dict[str, float] = {}
        while not self._stopped:
            try:
                runs = self._instance.live_runs()
                beaten = {run.id: beaten.get(run.id, run.started_s) for run in runs}
                if not runs and self._idle(heartbeat_s):
                    return
                now = self._instance.clock.elapsed_s()
                for run in runs:
                    if now - beaten[run.id] >= heartbeat_s:
                        beaten[run.id] = now
                        self._sign_of_life(run)
                self._wait(runs, heartbeat_s)
            except Exception:
                logger.exception("AgentLens: run monitor failed")
                self._pause(PAUSE_S)

    def _wait(self, runs: list[Run], heartbeat_s: float) -> None:
        now = self._instance.clock.elapsed_s()
        if any(now - run.started_s >= LONG_RUN_S for run in runs):
            self.poll(min(POLL_WAIT_S, heartbeat_s))
        else:
            self._pause(min(PAUSE_S, heartbeat_s))

    def _idle(self, seconds: float) -> bool:
        """True: there is no run left and the thread may end; the next run starts another."""
        self._pause(min(seconds, PAUSE_S))
        with self._changed:
            if self._stopped or not self._instance.live_runs():
                self._thread = None
                return True
        return False

    def _pause(self, seconds: float) -> None:
        with self._changed:
            if not self._stopped:
                self._changed.wait(seconds)

    def _sign_of_life(self, run: Run) -> None:
        body = {
            "agentId": run.agent_id,
            "instanceId": self._instance.instance_id,
            "everyMs": self._instance.settings.heartbeat_ms,
        }
        outcome = self._instance.platform.call("POST", run_path(run.id, "heartbeat"), body)
        run.heard_heartbeat(outcome)

    def poll(self, wait_s: float) -> None:
        """Long-polls the platform for orders, applies and acknowledges them."""
        instance = self._instance
        query = f"agentId={quote(instance.agent_id, safe='')}&instanceId={quote(instance.instance_id, safe='')}"
        after = f"&after={quote(self._after, safe='')}" if self._after else ""
        path = f"/v1/control/poll?{query}{after}&waitMs={int(wait_s * 1000)}"
        outcome = instance.platform.call("GET", path, timeout_s=wait_s + 5)
        body = outcome.body if isinstance(outcome, Answered) and outcome.ok else None
        if not isinstance(body, dict):
            self._pause(PAUSE_S)
            return
        self._connection = read_connection(body.get("connection"))
        for item in body.get("items") or ():
            self._take(item)
        self._after = str(body.get("next") or self._after)

    def _take(self, item: Any) -> None:
        value = item.get("value") if isinstance(item, dict) else None
        instance = self._instance
        order_id = instance.operator_orders.take(value, instance.agent_id)
        if order_id is None or not isinstance(value, dict):
            return
        signature = sign_acknowledgement(
            self._connection, order_id, instance.agent_id, instance.instance_id, value.get("version")
        )
        body = {"agentId": instance.agent_id, "instanceId": instance.instance_id, **signature}
        instance.platform.call("POST", f"/v1/control/{quote(order_id, safe='')}/ack", body)
