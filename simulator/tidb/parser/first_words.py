"""Which statement begins with which words: those of DDL with their readers, and everything else that TiDB has.

One law: the longest phrase that fits decides (TiDB: pkg/parser/parser.y, Statement).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import product
from types import MappingProxyType

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_alter import alter_table
from simulator.tidb.parser.ddl_cluster import placement_policy, resource_group
from simulator.tidb.parser.ddl_databases import alter_database, create_database, drop_database
from simulator.tidb.parser.ddl_flashback import flashback, recover_table
from simulator.tidb.parser.ddl_indexes import create_index, drop_index
from simulator.tidb.parser.ddl_locks import cleanup_locks, lock_tables, unlock_tables
from simulator.tidb.parser.ddl_sequences import alter_sequence, create_sequence, drop_sequence
from simulator.tidb.parser.ddl_tables import drop_table, rename_table, repair_table, truncate_table
from simulator.tidb.parser.ddl_views import create_view, drop_view
from simulator.tidb.parser.tables import read_create_table
from simulator.tidb.syntax.statements import Statement

Reader = Callable[[Cursor], Statement]
Phrase = tuple[str, ...]


def phrases(text: str) -> tuple[Phrase, ...]:
    """`CREATE DATABASE|SCHEMA` is two phrases."""
    return tuple(product(*(word.split("|") for word in text.split())))


BEHIND: Mapping[str, Reader] = {
    "CREATE DATABASE|SCHEMA": create_database,
    "ALTER DATABASE|SCHEMA": alter_database,
    "DROP DATABASE|SCHEMA": drop_database,
    "DROP TABLE|TABLES": drop_table,
    "DROP TEMPORARY TABLE|TABLES": partial(drop_table, temporary="local"),
    "DROP GLOBAL TEMPORARY TABLE|TABLES": partial(drop_table, temporary="global"),
    "TRUNCATE": truncate_table,
    "RENAME TABLE": rename_table,
    "RECOVER TABLE": recover_table,
    "FLASHBACK": flashback,
    "ADMIN REPAIR TABLE": repair_table,
    "ADMIN CLEANUP TABLE LOCK": cleanup_locks,
    "LOCK TABLE|TABLES": lock_tables,
    "UNLOCK TABLE|TABLES": unlock_tables,
    "CREATE INDEX": partial(create_index, kind="key"),
    **{f"CREATE {kind} INDEX": partial(create_index, kind=kind.lower())
       for kind in ("UNIQUE", "SPATIAL", "FULLTEXT", "VECTOR", "COLUMNAR")},
    "DROP INDEX": drop_index,
    "DROP HYPO INDEX": partial(drop_index, hypothetical=True),
    "DROP VIEW": drop_view,
    "CREATE SEQUENCE": create_sequence,
    "ALTER SEQUENCE": alter_sequence,
    "DROP SEQUENCE": drop_sequence,
    "CREATE OR REPLACE PLACEMENT POLICY": partial(placement_policy, verb="CREATE", or_replace=True),
    **{f"{verb} PLACEMENT POLICY": partial(placement_policy, verb=verb) for verb in ("CREATE", "ALTER", "DROP")},
    **{f"{verb} RESOURCE GROUP": partial(resource_group, verb=verb) for verb in ("CREATE", "ALTER", "DROP")},
    "ALTER TABLE": alter_table,
    "ALTER IGNORE TABLE": partial(alter_table, ignore=True),
}
"""Readers that begin behind the phrase."""

WHOLE: Mapping[str, Reader] = {
    "CREATE TABLE": read_create_table,
    "CREATE TEMPORARY TABLE": read_create_table,
    "CREATE GLOBAL TEMPORARY TABLE": read_create_table,
    "CREATE VIEW|ALGORITHM|DEFINER|SQL": create_view,
    "CREATE OR REPLACE VIEW|ALGORITHM|DEFINER|SQL": create_view,
}
"""Readers that begin with the phrase itself."""

READERS: Mapping[Phrase, tuple[bool, Reader]] = MappingProxyType({
    phrase: (behind, reader)
    for behind, table in ((True, BEHIND), (False, WHOLE))
    for text, reader in table.items() for phrase in phrases(text)
})
"""By phrase: whether the reader begins behind it, and the reader."""

NOT_DDL = frozenset(phrase for text in (
    "SELECT|INSERT|REPLACE|UPDATE|DELETE|WITH|TABLE|VALUES|(|SET|SHOW|USE|GRANT|REVOKE|ANALYZE|EXPLAIN|DESC|DESCRIBE",
    "BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PREPARE|EXECUTE|DEALLOCATE|CALL|DO|KILL|FLUSH|HELP|SHUTDOWN|RESTART",
    "LOAD|IMPORT|BACKUP|RESTORE|PURGE|PAUSE|RESUME|STOP|CANCEL|BATCH|SPLIT|DISTRIBUTE|OPTIMIZE|TRACE|BINLOG|CHANGE",
    "ADMIN|PLAN|QUERY|CALIBRATE|RECOMMEND|TRAFFIC|REFRESH",
    "CREATE USER|ROLE|STATISTICS|PROCEDURE|BINDING|IMPORT", "CREATE GLOBAL|SESSION BINDING",
    "ALTER USER|INSTANCE|RANGE|IMPORT",
    "DROP USER|ROLE|STATS|STATISTICS|PROCEDURE|PREPARE|BINDING|IMPORT", "DROP GLOBAL|SESSION BINDING",
    "SET BINDING", "RENAME USER", "LOCK STATS", "UNLOCK STATS",
) for phrase in phrases(text))
"""How the statements begin that change no schema."""


def words_after(known: Iterable[Phrase]) -> Mapping[Phrase, tuple[str, ...]]:
    """By the beginning of a phrase: the words that can follow."""
    found: dict[Phrase, dict[str, None]] = {}
    for phrase in known:
        for length, word in enumerate(phrase):
            found.setdefault(phrase[:length], {})[word] = None
    return MappingProxyType({start: tuple(words) for start, words in found.items()})


WORDS_AFTER = words_after((*READERS, *sorted(NOT_DDL)))
DDL_WORDS_AFTER = words_after(READERS)
