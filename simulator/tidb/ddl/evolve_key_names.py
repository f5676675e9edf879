"""ALTER TABLE … RENAME INDEX and ALTER INDEX … VISIBLE, INVISIBLE.

One law: the key keeps its id (TiDB: pkg/ddl/index.go, ValidateRenameIndex; pkg/ddl/executor.go, AlterIndexVisibility).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.evolve_errors import tidb
from simulator.tidb.ddl.evolve_steps import Alteration, Step, Steps, Touched, index_named
from simulator.tidb.model.table import Index, Table
from simulator.tidb.syntax.alter import IndexVisibility, RenameIndex


def rename_index(spec: RenameIndex, alteration: Alteration) -> Steps:
    """TiDB: ValidateRenameIndex; letter case alone may change too."""
    known = alteration.known
    index = index_named(known.table, spec.old) if known else None
    if known is not None and index is None:
        raise tidb("schema:1176", spec.old, known.table.name)
    if spec.old == spec.new:
        yield "the index has that name: no job"
        return
    other = index_named(known.table, spec.new) if known else None
    if other and spec.old.lower() != spec.new.lower():
        raise tidb("schema:1061", other.name)
    id = index.id if index else 0
    touched = Touched(added_keys=(spec.new.lower(),), dropped_keys=(spec.old.lower(),))
    yield Step(actions.RENAME_INDEX, lambda before: changed_index(before, id, spec.new, None), touched)


def alter_visibility(spec: IndexVisibility, alteration: Alteration) -> Steps:
    touched = Touched(altered_keys=(spec.name.lower(),))
    if alteration.known is None:
        yield Step(actions.ALTER_INDEX_VISIBILITY, touched=touched)
        return
    table = alteration.known.table
    index = index_named(table, spec.name)
    if index is None and (spec.name.lower() != "primary" or not table.primary_key):
        raise tidb("schema:1176", spec.name, table.name)
    if (index is None or index.primary) and not spec.visible:
        raise tidb("ddl:3522")
    if index is None or index.visible == spec.visible:
        yield f"index '{index.name if index else 'PRIMARY'}' is {'' if spec.visible else 'in'}visible already: no job"
        return
    id = index.id
    yield Step(actions.ALTER_INDEX_VISIBILITY, lambda before: changed_index(before, id, "", spec.visible), touched)


def changed_index(table: Table, id: int, name: str, visible: bool | None) -> Table:
    """The table with the index under a new name, or shown or hidden."""
    def changed(index: Index) -> Index:
        if index.id != id:
            return index
        new = name or index.name
        parts = tuple(
            replace(part, name=f"_V$_{new}_{place}") if part.expression else part
            for place, part in enumerate(index.columns)
        )
        return replace(index, name=new, columns=parts, visible=index.visible if visible is None else visible)

    return replace(
        table, indexes=tuple(map(changed, table.indexes)), columnar_indexes=tuple(map(changed, table.columnar_indexes)),
    )
