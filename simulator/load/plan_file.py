"""A plan file: TOML with settings, then tables by CREATE TABLE, then DDL statements at intervals or at a time.

    rows-per-transaction = 10

    [[table]]
      definition = "CREATE TABLE shop.customer (id BIGINT PRIMARY KEY, name VARCHAR(40), city VARCHAR(40))"
      rows = 10000
      mix = {inserts = 20, updates = 70, deletes = 10}
      [table.columns]
      name = "name"

    [[ddl]]
      every = "5m"
      kinds = ["add-column", "drop-column"]

All mistakes in a file are reported at once, each with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from simulator import releases
from simulator.errors import DdlError, ScenarioError, UserError, did_you_mean
from simulator.files import parse_toml, read_text
from simulator.generate.model import Mix, Model, TableModel
from simulator.generate.stream import check
from simulator.generate.values.generators import TableGenerators
from simulator.generate.values.reading import parse_columns
from simulator.generate.values.table_values import table_values
from simulator.load.load_plan import (
    DDL,
    STATEMENT_KINDS,
    TABLE,
    TOP,
    TRUNCATE,
    DdlSchedule,
    LoadPlan,
    TableDefinition,
    TimedStatement,
    create_tables,
    duplicate_definitions,
    parse_definition,
    referenced_tables,
    sort_by_reference,
)
from simulator.releases import Release
from simulator.run.steps.kind import line_of, read_keys
from simulator.settings import Settings, TableLines, key_lines, merged
from simulator.tidb.ddl.catalog import Catalog, Key, object_key

DEFAULT_ROWS = 10_000
COLUMN = re.compile(r": columns?:? '?([^':]+)'?:")
"""Finds the column that a message is about."""

OF_MODEL = ("rows", "weight", "mix", "skew")


def load_plan(file: Path, options: Settings = Settings()) -> LoadPlan:
    """Read the plan of a file; the options win. Raise ScenarioError with all its mistakes, a line each."""
    return replace(read_plan(read_text(file), f"plan {file}", file.stem, file.parent, options), file=file)


def read_plan(text: str, called: str, name: str, directory: Path, options: Settings) -> LoadPlan:
    """Parse a plan as `load_plan` does. `called` is the file's name in errors, `name` the plan's default name; paths
    are relative to the directory.
    """
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise ScenarioError(f"{called} is not TOML: {error}") from None
    mistakes: list[str] = []
    plan = _read(document, text, name, directory, options, mistakes)
    if plan is None or mistakes:
        raise ScenarioError(*(f"{called}: {mistake}" for mistake in mistakes))
    return replace(plan, timed=tuple(replace(each, where=f"{called}: {each.where}") for each in plan.timed))


@dataclass
class _Tables:
    """What has been read of each `[[table]]`, by number from 1."""

    lines: Sequence[TableLines | None]
    values: dict[int, dict[str, Any]] = field(default_factory=dict)
    definitions: dict[int, TableDefinition] = field(default_factory=dict)

    def where(self, number: int, key: str = "", column: str = "") -> str:
        """Return the prefix of a message about a table, a key of it, or a column."""
        lines = self.lines[number - 1]
        inside = lines.inside.get(key) if lines else None
        place = line_of(inside, column) if inside and column in inside.keys else line_of(lines, key)
        named = f" ({self.definitions[number].name})" if number in self.definitions else ""
        return f"{place}table {number}{named}: "


def _read(
    document: dict[str, Any], text: str, name: str, directory: Path, options: Settings, mistakes: list[str]
) -> LoadPlan | None:
    top, lines = key_lines(text, "table")
    lists = {kind: _read_list(document.pop(kind, []), kind, mistakes) for kind in ("table", "ddl")}
    values = read_keys(document, TOP, lambda key: line_of(top, key), mistakes)
    if "config" in values:
        values["config"] = directory / values["config"]
    settings = merged(options, Settings(**_fields_of(Settings, values)))
    tables = _Tables(lines if len(lines) == len(lists["table"]) else [None] * len(lists["table"]))
    if not lists["table"] and not mistakes:
        mistakes.append("no tables: at least one [[table]] with a definition is expected")
    for number, table in enumerate(lists["table"], 1):
        _read_table(number, table, tables, mistakes)
    release = _release(settings, options.release is not None, lambda key: line_of(top, key), mistakes)
    if mistakes:
        read_ddl(lists["ddl"], text, None, mistakes)
        return None
    ordered, catalog = _create_all(tables, release, mistakes)
    statements, timed = read_ddl(lists["ddl"], text, ordered, mistakes)
    if mistakes:
        return None
    modelled = tuple(_table_model(each, ordered, tables, mistakes) for each in ordered)
    model = Model(**{**_fields_of(Model, values), "seed": settings.seed or 0, "tables": modelled})
    generators = tuple(TableGenerators(**_fields_of(TableGenerators, tables.values[each.number])) for each in ordered)
    plan = LoadPlan(
        **{
            "name": name,
            **_fields_of(LoadPlan, values),
            "model": model,
            "definitions": tuple(each.text for each in ordered),
            "tables": generators,
            "catalog": catalog,
            "statements": statements,
            "timed": timed,
            "settings": settings,
            "text": text,
        }
    )
    _check(plan, ordered, tables, mistakes)
    return plan


def _fields_of(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    known = {each.name for each in fields(kind)}
    return {name: value for name, value in values.items() if name in known}


def _read_list(value: object, kind: str, mistakes: list[str]) -> list[dict[str, Any]]:
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return value
    mistakes.append(f"{kind} must be a list of tables: write each under [[{kind}]]")
    return []


def _release(settings: Settings, option: bool, where: Callable[[str], str], mistakes: list[str]) -> Release:
    """Return the release; raise UserError if an option names an unknown one."""
    try:
        return releases.find(settings.release or releases.DEFAULT, settings.architecture)
    except UserError as error:
        if option:
            raise
        mistakes += (f"{where('release')}release: {each}" for each in error.args)
        return releases.find(releases.DEFAULT)


def _read_table(number: int, members: dict[str, Any], tables: _Tables, mistakes: list[str]) -> None:
    """Read the values and the definition of a table, as far as they are valid."""
    before = len(mistakes)
    columns = members.get("columns", {})
    if not isinstance(columns, dict):
        mistakes.append(f"{tables.where(number, 'columns')}columns: expected a table of columns, got {columns!r}")
        columns = {}
    also = [place for column in columns.values() if (place := _referenced_table(column))]
    try:
        if "definition" in members and isinstance(members["definition"], str):
            tables.definitions[number] = parse_definition(number, members["definition"], also)
        elif "definition" not in members:
            mistakes.append(f"{tables.where(number)}a definition is expected, a CREATE TABLE")
    except (DdlError, UserError) as error:
        mistakes += (f"{tables.where(number, 'definition')}definition: {each}" for each in _messages(error))
    plain = {name: value for name, value in members.items() if name != "columns"}
    values = read_keys(plain, TABLE, lambda key: tables.where(number, key), mistakes)
    values["columns"] = {}
    for column, generator in columns.items():
        try:
            values["columns"] |= parse_columns({column: generator})
        except UserError as error:
            mistakes += (f"{tables.where(number, 'columns', column)}columns: {each}" for each in error.args)
    if len(mistakes) == before:
        tables.values[number] = values


def _messages(error: UserError) -> Iterator[str]:
    yield from [str(error)] if isinstance(error, DdlError) else map(str, error.args)


def _referenced_table(column: object) -> Key | None:
    """Return the table that {reference = "shop.customer.id"} names."""
    text = column.get("reference") if isinstance(column, dict) else None
    parts = text.split(".") if isinstance(text, str) else []
    return object_key(parts[0], parts[1]) if len(parts) == 3 else None


def _create_all(tables: _Tables, release: Release, mistakes: list[str]) -> tuple[tuple[TableDefinition, ...], Catalog]:
    """Return the definitions in order of reference, and the catalog after them."""
    definitions = list(tables.definitions.values())
    for number, mistake in duplicate_definitions(definitions).items():
        mistakes.append(f"{tables.where(number, 'definition')}{mistake}")
    if mistakes:
        return (), Catalog()
    try:
        ordered = sort_by_reference(definitions)
    except UserError as error:
        mistakes += map(str, error.args)
        return (), Catalog()
    catalog, refused = create_tables(ordered, release)
    for number, refusal in sorted(refused.items()):
        mistakes.append(f"{tables.where(number, 'definition')}definition: {refusal}")
    return ordered, catalog


def _table_model(
    each: TableDefinition, ordered: Sequence[TableDefinition], tables: _Tables, mistakes: list[str]
) -> TableModel:
    """Return how the rows of a table change. Rows that others refer to are never deleted."""
    values = {name: value for name, value in tables.values[each.number].items() if name in OF_MODEL}
    deletes = values.get("mix", Mix(20, 70, 10)).deletes > 0
    kept = deletes and each.place in referenced_tables(ordered)
    model = TableModel(each.schema, each.statement.name, values.pop("rows", DEFAULT_ROWS), kept=kept, **values)
    try:
        check(Model(0, (model,)))
    except UserError as error:
        mistakes += (_with_line(message, tables, ordered) for message in error.args)
    return model


def _check(plan: LoadPlan, ordered: Sequence[TableDefinition], tables: _Tables, mistakes: list[str]) -> None:
    """Run the checks that need a plan without other mistakes."""
    for part in (check, lambda model: table_values(plan.created, plan.tables, model)):
        if mistakes:
            return
        try:
            part(plan.model)
        except UserError as error:
            mistakes += (_with_line(message, tables, ordered) for message in error.args)


def _with_line(message: str, tables: _Tables, ordered: Sequence[TableDefinition]) -> str:
    """Add the line to a message that begins with `table shop.customer`, and possibly `column 'name'`."""
    for each in ordered:
        rest = message.removeprefix(f"table {each.name}")
        if rest == message or rest[:1] not in ": ":
            continue
        column, word = COLUMN.match(rest), rest.removeprefix(": ").partition(":")[0]
        known = ("columns", column[1]) if column else (word,) if word in TABLE else ()
        return tables.where(each.number, *known) + rest.removeprefix(":").lstrip()
    return message


Entries = tuple[tuple[DdlSchedule, ...], tuple[TimedStatement, ...]]

TIMED = ("at", "sql")


def read_ddl(
    members: Sequence[dict[str, Any]], text: str, ordered: Sequence[TableDefinition] | None, mistakes: list[str]
) -> Entries:
    """Read each `[[ddl]]`. With `ordered` None, whether their tables exist is not checked."""
    known = key_lines(text, "ddl")[1]
    lines = known if len(known) == len(members) else [None] * len(members)
    schedules: list[DdlSchedule] = []
    timed: list[TimedStatement] = []
    for number, (entry, its_lines) in enumerate(zip(members, lines, strict=True), 1):

        def where(key: str = "", its_lines: TableLines | None = its_lines, number: int = number) -> str:
            return f"{line_of(its_lines, key)}ddl {number}: "

        before = len(mistakes)
        values = read_keys(entry, DDL, where, mistakes)
        if any(key in entry for key in TIMED):
            mistakes += (f"{where(key)}{key}: a statement at a time has at and sql alone" for key in _others(entry))
            mistakes += (f"{where()}{key} is expected beside {_given(entry)}" for key in TIMED if key not in entry)
            if len(mistakes) == before:
                timed += (TimedStatement(values["at_ms"], text, where("sql")) for text in values["sql"])
            continue
        if "every" not in entry:
            mistakes.append(f"{where()}every is expected, such as every = '5m', or at = '7s' with sql")
        if "table" in values and ordered is not None:
            mistake = _find_table(values, ordered)
            if mistake:
                mistakes.append(f"{where('table')}{mistake}")
        if len(mistakes) == before and ordered is not None:
            schedules.append(DdlSchedule(**{"kinds": STATEMENT_KINDS, **values}))
    return tuple(schedules), tuple(sorted(timed, key=lambda each: each.at_ms))


def _others(entry: Mapping[str, Any]) -> list[str]:
    return [key for key in entry if key in DDL and key not in TIMED]


def _given(entry: Mapping[str, Any]) -> str:
    return next(f"{key} = {entry[key]!r}" if key == "at" else key for key in TIMED if key in entry)


def _find_table(values: dict[str, Any], ordered: Sequence[TableDefinition]) -> str:
    """Replace the table's name by its index; return the mistake, which begins with its key."""
    named = {definition.name.lower(): place for place, definition in enumerate(ordered)}
    if values["table"].lower() not in named:
        meant = did_you_mean(values["table"], named)
        return f"table: the plan has no table {values['table']!r}.{meant}"
    place = values["table"] = named[values["table"].lower()]
    child = referenced_tables(ordered).get(ordered[place].place)
    if child is not None and TRUNCATE in values.get("kinds", STATEMENT_KINDS):
        return f"kinds: {ordered[place].name} cannot be truncated, as rows of {child.name} refer to its rows"
    return ""
