"""What the statements of a truth tell of tables: which schema version and id each has from then on, as rows and messages
with a table's schema name them.

A statement that was not sent may give a table another version and id, too, which no message tells.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.reader.decode.message_bytes import parse
from simulator.reader.truth_metadata import ExpectedStatement
from simulator.ticdc.codecs import CODECS
from simulator.tso import BEFORE_COMMIT

ANY_TABLE = ""
"""Stands for the name of the table that a statement is about where it may be about others, too."""

MOVING = re.compile(r"\b(RENAME|EXCHANGE|FLASHBACK|RECOVER)\b", re.IGNORECASE)
"""Found in statements that may give tables other names or the ids of others. In the new architecture such a table may have a
new version, too."""


@dataclass(frozen=True)
class ToldTable:
    since: int
    """The commit-ts of the statement."""

    version: int | None
    """None if there is no such table from then on."""

    id: int | None
    """None if nothing tells it."""


@dataclass(frozen=True)
class ToldTables:
    times: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """When statements were, ascending, by `db.table` and `ANY_TABLE`."""

    by_name: Mapping[str, tuple[ToldTable, ...]] = field(default_factory=dict)
    """What messages tell, by `db.table`, in order; nothing in protocols without table schemas."""

    unsent: tuple[int, ...] = ()
    """When statements were that were not sent, ascending."""

    moved: frozenset[tuple[str, int | None]] = frozenset()
    """Tables with their ids that may have had another name, or were exchanged, None for any id; `ANY_TABLE` stands for
    those of statements that were not sent."""

    def epochs(self, name: str) -> list[int]:
        """Return after which commit-ts a table may have another version or other ids than before."""
        return sorted({*self.times.get(name, ()), *self.times.get(ANY_TABLE, ())})

    def of_rows(self, name: str, epoch: int) -> tuple[frozenset[int], int | None] | None:
        """Return the versions that rows of a table may have after so many of `epochs`, and its id, as far as it is told;
        None if nothing tells them."""
        until = self.epochs(name)[epoch - 1] if epoch else 0
        last = next((each for each in reversed(self.by_name.get(name, ())) if each.since <= until), None)
        if last is None or last.version is None:
            return None
        others = self.unsent[bisect_left(self.unsent, last.since) : bisect_left(self.unsent, until + 1)]
        return frozenset((last.version, *(ts - BEFORE_COMMIT for ts in others))), None if others else last.id

    def may_have_moved(self, name: str, id: int | None) -> bool:
        """Return whether a table with that id, or None for any, had another name or was exchanged."""
        same = {own for each, own in self.moved if each == name}
        return any(each == ANY_TABLE for each, _ in self.moved) or bool(same if id is None else same & {id, None})

    def since(self, name: str, version: int) -> list[int]:
        """Return the commit-ts of the statements that tell a version of a table."""
        return [each.since for each in self.by_name.get(name, ()) if each.version == version]

    def told_at(self, name: str) -> frozenset[int]:
        """Return the commit-ts of the statements that tell versions of a table."""
        return frozenset(each.since for each in self.by_name.get(name, ()))


def told_tables(statements: Iterable[ExpectedStatement], protocol: str) -> ToldTables:
    """Return what statements tell, in order of their commit-ts."""
    times, found = defaultdict[str, list[int]](list), defaultdict[str, list[ToldTable]](list)
    unsent, moved = list[int](), set[tuple[str, int | None]]()
    tells = CODECS[protocol].bootstrap is not None
    for each in statements:
        alone = each.is_sent and each.table and "EXCHANGE" not in each.query.upper()
        times[f"{each.schema}.{each.table}" if alone else ANY_TABLE].append(each.commit_ts)
        if not each.is_sent:
            unsent.append(each.commit_ts)
            moved.update([(ANY_TABLE, None)] if MOVING.search(each.query) else [])
        elif tells:
            for name, told in _told(each):
                found[name].append(told)
                if MOVING.search(each.query):
                    moved.add((name, told.id))
    return ToldTables(
        {name: tuple(every) for name, every in times.items()},
        {name: tuple(every) for name, every in found.items()},
        tuple(unsent),
        frozenset(moved),
    )


def _told(statement: ExpectedStatement) -> Iterator[tuple[str, ToldTable]]:
    message = parse(statement.value.encode("utf-8", "surrogateescape"), "surrogateescape")
    schema, before = message.get("tableSchema"), message.get("preTableSchema")
    if schema is None:
        return
    name, ts = table_name(schema), statement.commit_ts
    yield name, ToldTable(ts, int(schema["version"]) if statement.after else None, _id(schema))
    if before is not None and (other := table_name(before)) != name:
        renamed = statement.query.upper().startswith("RENAME") or message["type"] == "RENAME"
        yield other, ToldTable(ts, None if renamed else int(before["version"]), None)


def _id(schema: Mapping[str, Any]) -> int | None:
    return int(schema["tableID"]) if "tableID" in schema else None


def table_name(schema: Mapping[str, Any]) -> str:
    """Return `db.table` of a table schema in a message."""
    return f"{schema['schema']}.{schema['table']}"
