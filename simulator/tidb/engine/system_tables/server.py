"""What a TiDB server says of itself: character sets, collations, engines, processes, privileges."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.result_columns import COLLATION_IDS
from simulator.tidb.engine.sessions.settings import Process, SqlSession
from simulator.tidb.engine.system_tables.definitions import Row
from simulator.tidb.model.charsets import CHARSETS, COLLATIONS, charset_of

DESCRIPTIONS = {
    "ascii": "US ASCII",
    "binary": "binary",
    "gb18030": "China National Standard GB18030",
    "gbk": "Chinese Internal Code Specification",
    "latin1": "Latin1",
    "utf8": "UTF-8 Unicode",
    "utf8mb4": "UTF-8 Unicode",
}
"""The descriptions of the character sets, in TiDB's order (tidb pkg/parser/charset/charset.go)."""

SORT_LENGTHS = {"gb18030_chinese_ci": 2, "utf8_unicode_ci": 8, "utf8mb4_unicode_ci": 8, "utf8mb4_0900_ai_ci": 0}
NOT_PADDED = ("binary", "utf8mb4_0900_ai_ci", "utf8mb4_0900_bin")

PRIVILEGES = (
    "Select,Insert,Update,Delete,Create,Drop,Process,References,Alter,Show Databases,Super,Execute,Index,Create User,"
    "Create Tablespace,Trigger,Create View,Show View,Create Role,Drop Role,Create Temporary Tables,Lock Tables,"
    "Create Routine,Alter Routine,Event,Shutdown,Reload,File,Config,Replication Client,Replication Slave"
).split(",")
"""The privileges of root (tidb pkg/parser/mysql/privs.go, AllGlobalPrivs)."""


def _charsets(context: StatementContext) -> Iterator[str]:
    yield from (name for name in DESCRIPTIONS if name != "gb18030" or context.database.release.gb18030)


def character_sets(context: StatementContext) -> Iterator[Row]:
    for name in _charsets(context):
        yield name, CHARSETS[name][0], DESCRIPTIONS[name], CHARSETS[name][1]


def collations(context: StatementContext) -> Iterator[Row]:
    known = set(_charsets(context))
    for name in sorted(COLLATIONS):
        charset = charset_of(name, "")
        if charset in known:
            default = "Yes" if CHARSETS[charset][0] == name else ""
            padded = "NO PAD" if name in NOT_PADDED else "PAD SPACE"
            length = SORT_LENGTHS.get(name, 1) if context.database.release.pad_attributes else 1
            yield name, charset, COLLATION_IDS[name], default, "Yes", length, padded


def collation_charsets(context: StatementContext) -> Iterator[Row]:
    yield from (row[:2] for row in collations(context))


def engines(context: StatementContext) -> Iterator[Row]:
    comment = "Supports transactions, row-level locking, and foreign keys"
    yield "InnoDB", "DEFAULT", comment, "YES", "YES", "YES"


def processes(context: StatementContext) -> Iterator[Row]:
    """Yield the processes of all clients."""
    session = context.session
    own = own_process(session.settings, session.transaction is not None)._replace(statement=session.text)
    for process in context.database.processes() or (own,):
        yield (*process, *("", 0, 0, "", "default", "", 0))


def own_process(session: SqlSession, in_transaction: bool) -> Process:
    """Return the process of a session that executes a statement."""
    user, _, host = session.user.partition("@")
    states = ("in transaction" * in_transaction, "autocommit" * session.autocommit)
    return Process(
        session.connection_id, user, host, session.database or None, "Query", 0, "; ".join(filter(None, states)), None
    )


def user_privileges(context: StatementContext) -> Iterator[Row]:
    user, _, host = context.session.settings.account.partition("@")
    yield from ((f"'{user}'@'{host}'", "def", privilege.upper(), "YES") for privilege in PRIVILEGES)
