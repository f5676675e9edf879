"""The foreign keys between the tables of a catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simulator.tidb.ddl.catalog import Catalog, Key, object_key
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.model.table import ForeignKey, Table

_KNOWN: list[tuple[Catalog, Mapping[Key, Sequence[tuple[Table, ForeignKey]]]]] = []
"""The last catalogs that were asked, the newest first."""

KEPT = 4


def referring_keys(catalog: Catalog, table: Table) -> Sequence[tuple[Table, ForeignKey]]:
    """Return the foreign keys that refer to a table, each with its own table."""
    known = next((keys for each, keys in _KNOWN if each is catalog), None)
    if known is None:
        known = _by_parent(catalog)
        _KNOWN.insert(0, (catalog, known))
        del _KNOWN[KEPT:]
    return known.get(object_key(table.schema, table.name), ())


def _by_parent(catalog: Catalog) -> Mapping[Key, Sequence[tuple[Table, ForeignKey]]]:
    found: dict[Key, list[tuple[Table, ForeignKey]]] = {}
    for table in catalog.tables.values():
        for foreign in table.foreign_keys:
            found.setdefault(object_key(foreign.schema, foreign.table), []).append((table, foreign))
    return found


def are_enforced(context: StatementContext) -> bool:
    """Return whether foreign keys are checked."""
    return context.session.settings.foreign_key_checks and context.database.release.foreign_key_checks


def is_related(context: StatementContext, table: Table) -> bool:
    """Return whether foreign keys look at the changes of a table."""
    return are_enforced(context) and bool(table.foreign_keys or referring_keys(context.database.catalog, table))
