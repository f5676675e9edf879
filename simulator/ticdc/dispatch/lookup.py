"""What a dispatch rule's `columns` and `index` name in a table.

One law: a table that lacks them stops the changefeed, in TiCDC's words; the release says how names are compared.
Source: tiflow cdc/model/schema_storage.go GetIndex, OffsetsByNames.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.errors import ChangefeedError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.tidb.model.table import Index, Table


def offsets_of(table: Table, names: Sequence[str], release: Release, when: str) -> tuple[int, ...]:
    """Where a rule's `columns` stand in the table; raises ChangefeedError as TiCDC words it `when` it looks them up."""
    at = {_spelled(column.name, release): offset for offset, column in enumerate(table.columns)}
    listed = f"columns: [{' '.join(names)}]"
    if release.dispatch_refuses_virtual:
        _refuse_virtual(table, names, listed)
    elif any(_spelled(name, release) not in at for name in names):
        raise failed(f"columns not found {when}, {listed}")
    return tuple(at[_spelled(name, release)] for name in names)


def _refuse_virtual(table: Table, names: Sequence[str], listed: str) -> None:
    """Raises ChangefeedError for the first name that is no column with a value in rows (tiflow v8.5.4
    cdc/model/schema_storage.go OffsetsByNames, whose words are the same when a changefeed starts)."""
    known = {column.name.lower() for column in table.columns}
    visible = {column.name.lower() for column in table_info.visible_columns(table)}
    for name in map(str.lower, names):
        where = f"when dispatch event, table: {table.name}, {listed}"
        if name not in known:
            raise failed(f"columns not found {where}, column: {name}")
        if name not in visible:
            raise failed(f"found virtual generated columns {where} column: {name}")


def index_of(table: Table, name: str, release: Release) -> Index | None:
    """The index that a rule's `index` names."""
    wanted = _spelled(name, release)
    return next((index for index in table.indexes if _spelled(index.name, release) == wanted), None)


def _spelled(name: str, release: Release) -> str:
    """A name as the release compares it with a rule's."""
    return name.lower() if release.dispatch_ignores_case else name


def failed(text: str) -> ChangefeedError:
    """The error of a table that does not suit its rule."""
    return ChangefeedError(text, "CDC:ErrDispatcherFailed")
