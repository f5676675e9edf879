"""The clients of a served TiDB."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.engine.sessions.session import Session


@dataclass(eq=False)
class Client:
    """A connected client."""

    number: int
    """Its connection id."""

    session: Session
    command: str = "Sleep"
    """What it does, as SHOW PROCESSLIST says it."""

    statement: str = ""
    since_ms: int = 0
