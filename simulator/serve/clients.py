"""The clients of a served TiDB: the session of each, and its open transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.serve.lock_keys import LockKeys
from simulator.tidb.ddl.catalog import Catalog, Key
from simulator.tidb.sql_engine.storage.state import SqlSession, StoredRows, Upstream


@dataclass
class ClientTransaction:
    """An open transaction of one client."""

    upstream: Upstream
    """The rows that its writing statements see: `based_on` with its own writes."""

    based_on: Mapping[Key, StoredRows]
    """The committed rows at its last writing statement."""

    snapshot: Mapping[Key, StoredRows]
    """The committed rows at BEGIN, which its queries see with its own writes."""

    catalog: Catalog
    """The tables at BEGIN."""

    tables: set[Key] = field(default_factory=set)
    """The tables that its statements named. DDL on them waits for its end."""

    selected_for_update: LockKeys = field(default_factory=dict)
    """The keys that SELECT … FOR UPDATE locks."""

    write_locks: LockKeys = field(default_factory=dict)
    """The keys of its first `locked_writes` writes."""

    locked_writes: int = 0


@dataclass(eq=False)
class Client:
    """A connected client."""

    number: int
    """Its connection id."""

    session: SqlSession
    transaction: ClientTransaction | None = None
    waits_for: Client | None = None
    """The client whose transaction must end before this client's statement goes on."""

    command: str = "Sleep"
    """What it does, as SHOW PROCESSLIST says it."""

    statement: str = ""
    since_ms: int = 0
