"""An explained table as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.explain.ddl_schema import described
from simulator.explain.table import TableExplained
from simulator.ticdc.dispatch import TS


def table_lines(found: TableExplained) -> Iterator[str]:
    """Columns, keys, then what the changefeed does with its rows."""
    table = found.table
    yield f"{table.schema}.{table.table} under TiCDC {found.release} ({found.architecture})"
    yield ""
    for column in table.columns:
        yield f"column       {column.name} {described(column)}"
    for key in table.keys:
        yield f"key          {key.name} {described(key)}"
    if table.partitions:
        yield f"partitions   {', '.join(table.partitions)}"
    yield ""
    yield f"filter       {'replicated' if found.replicated else 'not replicated'}: {found.filter_rule}"
    yield f"eligible     {_eligible(found)}"
    yield f"handle key   {_handle(found)}"
    yield f"dispatcher   {found.dispatcher}, by rule {found.dispatcher_rule}{_hashed(found)}"
    yield f"topic        {found.topic}{f', of expression {found.topic_rule}' if found.topic_rule else ''}"
    if found.sent_as:
        yield f"sent as      {found.sent_as}"


def _eligible(found: TableExplained) -> str:
    if found.handle:
        return "yes, it has a valid index"
    return "yes, with force-replicate alone" if found.eligible else "no, it has no valid index: a primary key, or a " \
        "unique key whose columns are all NOT NULL and not virtual (force-replicate = true replicates it)"


def _handle(found: TableExplained) -> str:
    return f"{', '.join(found.table.handle_key)}, of the {found.handle}" if found.handle else "none"


def _hashed(found: TableExplained) -> str:
    if found.dispatcher == TS:
        return ": the commit-ts"
    values = " and the values of " + ", ".join(found.hashed) if found.hashed else ""
    return f": schema, table{values}"
