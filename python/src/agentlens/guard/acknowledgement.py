"""Signs acknowledgements of orders with the secret that the platform gave to this process."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Connection:
    """What the platform gave for one connection."""

    id: str
    secret: bytes


def read_connection(message: Any) -> Connection | None:
    """None if the message is not a connection; older platforms send none."""
    if not isinstance(message, dict):
        return None
    identifier, secret = message.get("id"), message.get("secret")
    if not isinstance(identifier, str) or not isinstance(secret, str):
        return None
    try:
        return Connection(identifier, bytes.fromhex(secret))
    except ValueError:
        return None


def sign_acknowledgement(
    connection: Connection | None, order_id: str, agent_id: str, instance_id: str, version: Any
) -> dict[str, Any]:
    """The member `signature` of an acknowledgement; nothing if it cannot be signed."""
    if connection is None or isinstance(version, bool) or not isinstance(version, int):
        return {}
    text = "\n".join(("agentlens/ack/v1", order_id, agent_id, instance_id, str(version), "applied"))
    mac = hmac.new(connection.secret, text.encode(), hashlib.sha256).hexdigest()
    return {"signature": {"connection": connection.id, "version": version, "mac": mac}}
