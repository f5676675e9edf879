"""The timed statements of a load plan: SQL of one's own, after which its rows must still be possible.

What a statement must not do is refused before the load begins: remove rows or tables that the load fills, or ask more
of rows than generated ones keep.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from simulator.errors import SimulatorError, UserError
from simulator.generate.values.distinct import distinct_columns, tells
from simulator.generate.values.generators import Reference, Template
from simulator.load.epochs.statements import truncate_refusals
from simulator.load.epochs.states import (
    PlanState,
    first_line,
    following_layouts,
    following_state,
    settled,
    tables_named,
)
from simulator.load.load_plan import LoadPlan, TimedStatement
from simulator.run import plan as plans
from simulator.run.plan.snapshot_pairs import emptied_partitions
from simulator.run.plan.statements import EmittedJob, renamed_tables
from simulator.run.plan.step import RunPosition
from simulator.run.plan.versions import EVERYTHING
from simulator.ticdc import dispatch
from simulator.ticdc.rules import ChangefeedRules, check_tables
from simulator.tidb.ddl.catalog import Catalog, object_key
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.model.table import Column, ForeignKey, Name, Table, UniqueKey, columns_by_name, unique_keys


def play_timed(
    load: LoadPlan,
    state: PlanState,
    statement: TimedStatement,
    now_ms: int,
    begun: int,
    topics: Collection[str] | None = None,
) -> PlanState:
    """Return the state after a statement at a millisecond since 1970, before which `begun` transactions began.

    Raise UserError for a statement that TiDB refuses, that stops the changefeed, or with which no rows can be generated.
    `topics` are those of the run, if they are to be checked.
    """
    named = first_line(statement.text)
    prefix = f"{statement.where}{named}: "
    try:
        return replace(_played(load, state, statement, now_ms, begun, topics), timed=prefix)
    except SimulatorError as error:
        messages = (str(each).removeprefix(f"{named}: ") for each in error.args or (error,))
        raise UserError(*(f"{prefix}{each}" for each in messages)) from None


def _played(
    load: LoadPlan, state: PlanState, statement: TimedStatement, now_ms: int, begun: int, topics: Collection[str] | None
) -> PlanState:
    database = state.position.session.database if state.position.session else ""
    alone = {schema for schema, _ in state.names}
    inside = replace(state, position=_using(state.position, alone.pop() if len(alone) == 1 else ""))
    behind, position, context = following_state(inside, statement.text, now_ms)
    position = _using(position, database)
    names = _follow(state.names, behind.jobs)
    _require_tables(state, names, behind.jobs, position.catalog)
    tables = tables_named(names, position.catalog)
    since, values, own = list(state.since), list(state.values), list(state.own)
    for number, (before, table) in enumerate(zip(state.tables, tables, strict=True)):
        if EVERYTHING in _emptied(behind.jobs, state.names[number]):
            _require_truncatable(load, number, begun)
            since[number] = begun
        if table is before:
            continue
        _require_replication(state.position, position, before, table)
        _require_unique(load, number, before, table)
        _require_parents(load, number, before, table)
        values[number] = state.values[number].altered(table, begun, load.model.seed)
        own[number] = state.own[number].after(before, table)
    _require_changefeed([table for table in tables if (table.schema, table.name) in position.versions], context.rules)
    if topics is not None:
        _require_topics(behind.jobs, position, context.rules, topics)
    layouts = following_layouts(state, values, since, begun)
    changed = replace(behind, names=names, since=tuple(since), values=tuple(values), own=tuple(own), layouts=layouts)
    return settled(changed, position, context)


def _using(position: RunPosition, database: str) -> RunPosition:
    """Return the position with a current database."""
    upstream = position.state
    assert isinstance(upstream, Upstream), "the tables were created"
    settings = replace(upstream.settings, database=database)
    return replace(position, state=upstream.with_settings(settings), session=settings)


def _follow(names: Sequence[Name], jobs: Sequence[EmittedJob]) -> tuple[Name, ...]:
    """Return the names of tables after the jobs."""
    for each in jobs:
        moved = {object_key(*old): new for old, new in renamed_tables(each.job).items()} if each.job.renames else {}
        names = [moved.get(object_key(*name), name) for name in names]
    return tuple(names)


def _emptied(jobs: Sequence[EmittedJob], name: Name) -> frozenset[str]:
    """Return the partitions of a table whose rows the jobs remove; `*` for all."""
    of_table = (each for each in jobs if object_key(each.job.schema, each.job.table) == object_key(*name))
    return frozenset[str]().union(*(emptied_partitions(each.applied.statement) for each in of_table))


def _require_tables(state: PlanState, names: Sequence[Name], jobs: Sequence[EmittedJob], catalog: Catalog) -> None:
    """Raise UserError unless the tables, and their rows, are still there."""
    for old, new in zip(state.names, names, strict=True):
        name = ".".join(old)
        if catalog.table(*new) is None:
            raise UserError(f"it drops {name}, which the load fills; accepted: another statement, or another table")
        if _emptied(jobs, old) - {EVERYTHING}:
            raise UserError(f"it removes partitions of {name} with rows of the load; accepted: TRUNCATE TABLE {name}")
        for each in jobs:
            exchanged = each.job.exchanged_table
            pair = [(each.job.schema, each.job.table), *([tuple(exchanged)] if exchanged else [])]
            if exchanged and any(object_key(*one) == object_key(*old) for one in pair):
                raise UserError(f"it exchanges rows of {name}, which the load fills; accepted: another statement")


def _require_truncatable(load: LoadPlan, number: int, begun: int) -> None:
    """Raise UserError for a table that cannot begin again with its first rows."""
    if why := truncate_refusals(load.created, load.tables)[number]:
        raise UserError(f"{why}; accepted: another table")
    if load.model.present and not begun:
        raise UserError("rows that were there before change only later; accepted: a time after the first change")


def _require_replication(before: RunPosition, after: RunPosition, table: Table, later: Table) -> None:
    """Raise UserError for a table that the changefeed replicates on one side of the statement only."""
    was, now = ((each.schema, each.name) in at.versions for each, at in ((table, before), (later, after)))
    if was != now:
        which = "no longer replicates" if was else "would replicate, with rows that it never saw,"
        raise UserError(
            f"the changefeed {which} {later.schema}.{later.name}; accepted: a name that its filter treats alike"
        )


def _require_unique(load: LoadPlan, number: int, before: Table, table: Table) -> None:
    """Raise UserError for a new unique key that does not tell generated rows apart."""
    first, wanted = load.created[number], load.tables[number].columns
    distinct = distinct_columns(first, wanted)
    known = {**distinct.telling, **distinct.counted}
    by_id = {column.id: column.name for column in first.columns}

    def is_distinct(column: Column, length: int) -> bool:
        name = by_id.get(column.id, "")
        if name in known:
            return length < 0 or 0 <= known[name] <= length
        template = name in wanted and isinstance(wanted[name].values, Template)
        return bool(name) and length < 0 and not template and tells(first, name, wanted, distinct.counted)

    old = {_parts(before, key) for key in unique_keys(before)}
    for key in unique_keys(table):
        columns = [(columns_by_name(table).get(part.name.lower()), part.length) for part in key.columns]
        if _parts(table, key) in old or any(column and is_distinct(column, length) for column, length in columns):
            continue
        names = ", ".join(part.name or part.expression for part in key.columns)
        raise UserError(
            f"unique key {key.name}: generated rows may be equal in {names}; accepted: a key that is not unique"
        )


def _parts(table: Table, key: UniqueKey) -> frozenset[tuple[object, int]]:
    known = columns_by_name(table)
    return frozenset(
        (known[part.name.lower()].id if part.name.lower() in known else part.expression, part.length)
        for part in key.columns
    )


def _require_parents(load: LoadPlan, number: int, before: Table, table: Table) -> None:
    """Raise UserError for a new foreign key whose columns do not refer to the parent's rows already."""
    ids = {foreign.id for foreign in before.foreign_keys}
    for foreign in (foreign for foreign in table.foreign_keys if foreign.id not in ids):
        for name, other in zip(foreign.columns, foreign.references, strict=True):
            if not _refers(load, number, table, foreign, name, other):
                raise UserError(
                    f"foreign key {foreign.name}: generated rows do not refer to {foreign.schema}.{foreign.table}; "
                    f"accepted: {name} with {{reference = '{foreign.schema}.{foreign.table}.{other}'}} in the plan"
                )


def _refers(load: LoadPlan, number: int, table: Table, foreign: ForeignKey, name: str, other: str) -> bool:
    first = load.created[number]
    column = columns_by_name(table)[name.lower()]
    was = next((each.name for each in first.columns if each.id == column.id), "")
    wanted = load.tables[number].columns.get(was)
    values = wanted.values if wanted else None
    expected = [each.lower() for each in (foreign.schema, foreign.table, other)]
    return isinstance(values, Reference) and expected == [
        each.lower() for each in (values.schema, values.table, values.column)
    ]


def _require_changefeed(tables: Sequence[Table], rules: ChangefeedRules) -> None:
    """Run the checks of TiCDC on tables."""
    plans.require_valid_index(tables, rules.changefeed.force_replicate)
    dispatch.verify_tables(rules.router, tables)
    check_tables(rules, tables)


def _require_topics(
    jobs: Sequence[EmittedJob], position: RunPosition, rules: ChangefeedRules, topics: Collection[str]
) -> None:
    """Raise UserError for a topic that the load does not begin with."""
    of_tables = (dispatch.topic_of(rules.router, *name) for name in position.versions)
    for topic in (*of_tables, *(topic for each in jobs for topic in each.topics)):
        if topic not in topics:
            raise UserError(f"it needs the topic {topic}, and a load has those of its tables: {', '.join(topics)}")
