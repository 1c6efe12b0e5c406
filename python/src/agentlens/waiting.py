"""Sleeps on any event loop."""

from __future__ import annotations

import threading

import anyio


def pause(seconds: float) -> None:
    threading.Event().wait(seconds)


async def apause(seconds: float) -> None:
    await anyio.sleep(seconds)
