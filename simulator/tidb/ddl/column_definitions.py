"""Columns that get a definition: its checks with TiDB's errors, and the values that existing rows have then.

A new column of existing rows has its origin default: the default of the column, or the zero value if it is NOT NULL
(TiDB: pkg/ddl/add_column.go, pkg/parser/types, pkg/ddl/column.go generateOriginDefaultValue, pkg/table/column.go
GetZeroValue). Under another definition of the table each visible column has one source in the old one, found by its
id. A value that the later definition cannot hold becomes null; `rows_that_fit` distinguishes it from NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SchemaError
from simulator.tidb import collations, syntax
from simulator.tidb.datums import Datum, Mode
from simulator.tidb.datums.cast import cast_value, convert_text
from simulator.tidb.ddl.defaults import (
    check_default_function,
    constant_default,
    default_text,
    implicit_default,
    stored_value,
)
from simulator.tidb.ddl.grammar import check_column, check_varchar
from simulator.tidb.ddl.session import Session, TargetTable
from simulator.tidb.ddl.table_definitions import build_column, complete_type
from simulator.tidb.errors import converting_errors, error_with_text, tidb_error
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import (
    ALIASES,
    CHARSETS,
    COLLATIONS,
    TYPES,
    ColumnType,
    canonical_collation,
    family,
    is_binary,
    needs_reorganization,
)
from simulator.tidb.syntax.definitions import NOW, TODAY
from simulator.tidb.values import durations
from simulator.tidb.values.moments import as_utc, parse_stored_moment

NARROWEST_CHARSET = ("latin1", "latin1_bin")
"""The charset assumed for a column of an unknown table, since it allows the longest columns."""

MAX_COMMENT_BYTES = 1024
"""Bytes of the comment of a column, an index or a partition; a table's may have twice as many."""


def build_checked_column(
    definition: syntax.ColumnDefinition, target: TargetTable, charset: tuple[str, str], session: Session
) -> Column:
    """Check a definition and return its column; `charset` is the table's charset and collation. Raises DdlError."""
    check_definition(definition, charset, session)
    with converting_errors("types:1105"):
        return build_column(definition, charset, target.text, literal=session.release.literal_defaults)


def check_definition(
    definition: syntax.ColumnDefinition, charset: tuple[str, str], session: Session, primary: bool = False
) -> None:
    """Raise DdlError for an invalid column (TiDB: buildColumnAndConstraint, columnDefToCol).

    `primary` is whether a key of the table makes it part of the primary key.
    """
    check_column(definition)
    if definition.name.lower() == "_tidb_rowid":
        raise tidb_error("ddl:1166", definition.name.lower())
    check_charset(definition, session)
    with converting_errors("types:1105"):
        type = complete_type(definition.type, definition.text("collate"), charset, f"column {definition.name!r}")
    if type.name == "varchar":
        check_varchar(definition.name, type.length, type.charset)
    primary = primary or definition.option("primary") is not None
    default = check_options(definition, Column(definition.name, type), session)
    if default is NULL and definition.option("primary"):
        raise tidb_error("types:1067", definition.name)
    if definition.auto_increment and definition.default and definition.default.kind == "expression":
        raise tidb_error("types:1067", definition.name)
    if primary and definition.option("null"):
        raise tidb_error("ddl:1171")
    check_members(definition, type)
    if default is NULL and primary:
        raise tidb_error("ddl:1171")
    if default is NULL and (definition.null is False or definition.auto_increment):
        raise tidb_error("types:1067", definition.name)
    if TYPES[definition.type.name].family in ("time", "datetime") and definition.type.decimal > 6:
        raise tidb_error("types:1426", definition.type.decimal, definition.name, 6)


NULL = "NULL"


def check_options(definition: syntax.ColumnDefinition, column: Column, session: Session) -> str:
    """Check the options in their order; return NULL if the last default is NULL."""
    default = ""
    counting = definition.option("default")
    for option in definition.options:
        if option.default is not None:
            if option is not counting:
                continue
            column_default(option.default, column, session)
            default = NULL if option.default.kind == "null" else ""
        elif option.kind == "on update" and option.expression:
            text = option.expression.restored
            digits = int(text.partition("(")[2].rstrip(")") or 0)
            is_now = text.startswith("CURRENT_TIMESTAMP") and digits == max(column.type.decimal, 0)
            if family(column.type) != "datetime" or not is_now:
                raise tidb_error("ddl:1294", definition.name)
        elif option.kind == "comment" and session.is_strict and len(option.text.encode()) > MAX_COMMENT_BYTES:
            raise tidb_error("ddl:1629", definition.name.lower())
    return default


def check_members(definition: syntax.ColumnDefinition, type: ColumnType) -> None:
    """Raise DdlError for long or duplicate members of an ENUM or SET (TiDB: checkColumnValueConstraint)."""
    if not type.elements:
        return
    seen: set[bytes] = set()
    weights = collations.sort_keys(type.collation, pa.array(type.elements, pa.string())).to_pylist()
    for member, weight in zip(type.elements, weights):
        if len(member.encode()) > 255 or len(member.encode()) * CHARSETS[type.charset][1] > 1020:
            raise tidb_error("ddl:3505", definition.name)
        if weight in seen:
            raise tidb_error("types:1291", definition.name, member, definition.type.name.upper())
        seen.add(weight)


def check_charset_name(charset: str, session: Session) -> None:
    if charset == "gb18030" and not session.release.gb18030:
        raise tidb_error("ddl:1115", charset)


def check_collation(name: str) -> None:
    if name.partition("_")[0] not in CHARSETS:
        raise tidb_error("ddl:1273", name)
    if name not in COLLATIONS:
        raise error_with_text("ddl:1273", f"Unsupported collation when new collation is enabled: '{name}'")


def check_charset(definition: syntax.ColumnDefinition, session: Session) -> None:
    """Raise DdlError for an unknown charset or collation, and for a pair that does not match."""
    named = ALIASES.get(definition.type.charset.lower(), definition.type.charset.lower())
    if named and named not in CHARSETS:
        raise tidb_error("ddl:1115", definition.type.charset)
    check_charset_name(named, session)
    for option in definition.options:
        if option.kind != "collate":
            continue
        expected = canonical_collation(option.text)
        charset_of_collation = expected.partition("_")[0]
        check_collation(expected)
        check_charset_name(charset_of_collation, session)
        if named and charset_of_collation != named:
            raise tidb_error("ddl:1253", expected, named)
        named = charset_of_collation


WITHOUT_DEFAULT = ("text", "json", "vector")


def column_default(default: syntax.ColumnDefault, column: Column, session: Session) -> tuple[str | None, bool]:
    """Return the text of the default and whether it is an expression. Raises DdlError."""
    kind = family(column.type)
    if default.kind == "expression":
        check_default_function(column.name, column.type, default, session.release.default_functions)
        return default_text(default, column.type, "")
    if kind in WITHOUT_DEFAULT and default.kind != "null":
        if default.text == "" and default.kind == "string" and not session.is_strict:
            return default_text(default, column.type, "")
        raise tidb_error("ddl:1101", column.name)
    code = "ddl:1067" if kind in ("enum", "set", "date", "datetime") else "types:1067"
    try:
        text, is_expression = default_text(default, column.type, "", session.release.literal_defaults)
    except SchemaError as error:
        if kind == "time" and default.kind in ("string", "number"):
            raise error_with_text("types:1292", f"Truncated incorrect time value: '{default.text}'") from error
        raise tidb_error(code, column.name) from error
    value = None if is_expression else stored_value(text, column.type)
    is_zero = text is not None and kind in ("date", "datetime") and not text.strip("0-: .")
    is_lenient = kind in ("date", "datetime") and column.type.name != "timestamp" and _is_odd_date(value, session)
    if value is not None and not is_zero and not is_lenient and not is_valid_literal(value, column.type):
        raise tidb_error(code, column.name)
    if text is not None and kind in ("date", "datetime"):
        if is_zero and session.is_strict and "NO_ZERO_DATE" in session.sql_mode:
            raise tidb_error(code, column.name)
        if column.type.name == "timestamp" and not is_zero and not is_timestamp_in_range(text, session):
            raise tidb_error(code, column.name)
    return text, is_expression


def _is_odd_date(value: str | None, session: Session) -> bool:
    """Return whether the sql_mode takes a date that no calendar has."""
    if "ALLOW_INVALID_DATES" in session.sql_mode:
        return True
    return value is not None and "-00" in value[:10] and "NO_ZERO_IN_DATE" not in session.sql_mode


def is_timestamp_in_range(text: str, session: Session) -> bool:
    return as_utc(parse_stored_moment(text), session.zone) is not None


def is_valid_literal(text: str, type: ColumnType) -> bool:
    """Return whether the TiDB text of a default is within the limits of its column."""
    kind = family(type)
    if kind == "bit":
        return 0 <= int(text) < 1 << type.length
    if kind in ("date", "datetime"):
        return durations.in_calendar(text)
    return kind != "string" or len(text) <= type.length


def origin_default(column: Column, now: str, session: Session) -> str | None:
    """Return what TiDB stores of the value of a new column in existing rows; None for NULL and for generated columns.

    `now` is the time of the statement with six digits of a second. Raises DdlError for a default that differs by row.
    """
    if column.generated:
        return None
    if column.default is not None and column.default_expression:
        value = constant_default(column.default, now) if session.release.added_default_functions else None
        return current_moment(column, now) if value is None else cast_default(column, value, session)
    if column.default is None and column.not_null:
        return implicit_default(column.type)
    return column.default


def current_moment(column: Column, now: str) -> str:
    """Return the value of CURRENT_TIMESTAMP or CURRENT_DATE. Raises DdlError for other functions."""
    call = (column.default or "").partition("(")[0].strip().upper()
    kind = family(column.type)
    if "NEXTVAL" in call or call.startswith("NEXT VALUE"):
        raise tidb_error("ddl:8230", column.name)
    if kind == "datetime" and call in NOW:
        return now[:19] + (now[19 : 20 + column.type.decimal] if column.type.decimal else "")
    if kind == "date" and call in (*TODAY, *NOW):
        return now[:10]
    raise tidb_error("ddl:1674")


def cast_default(column: Column, value: Datum, session: Session) -> str | None:
    """Return the computed value of a default as the TiDB text of its column. Raises DdlError."""
    text, problem = cast_value(column.type, column.name, value, Mode(session.sql_mode))
    if problem is not None and session.is_strict:
        raise error_with_text(f"types:{problem.number}", problem.text)
    return None if text is None else text.decode()


@dataclass(frozen=True)
class FromColumn:
    """The value of a column of the earlier definition."""

    index: int
    """Its position among the visible columns of the earlier definition."""

    before: ColumnType
    after: ColumnType

    @property
    def cast(self) -> bool:
        """Whether its TiDB text may change with the type."""
        return text_changes(self.before, self.after)

    @property
    def cast_back(self) -> bool:
        """Whether a value of the later type may have another text in the earlier one, or none."""
        return text_changes(self.after, self.before)


@dataclass(frozen=True)
class FromDefault:
    text: str | None
    """TiDB text, None for NULL."""


ColumnSource = FromColumn | FromDefault


def find_column_sources(before: Table, after: Table) -> tuple[ColumnSource, ...]:
    """Return the source of each visible column of `after`, a later definition of `before`.

    A stored generated column has one, too: TiDB neither adds one to a table nor changes its expression.
    """
    target = {column.id: (index, column) for index, column in enumerate(visible_columns(before))}
    return tuple(_column_source(column, target.get(column.id)) for column in visible_columns(after))


def columns_lacked(before: Table, after: Table) -> tuple[frozenset[int], frozenset[int]]:
    """Return the ids of columns that rows of `before` lack in `after` if they lacked them before, and of those that all
    of them lack, until they are written.

    ADD COLUMN writes no row, and MODIFY COLUMN writes the columns that a row has and the changed one (tidb v6.5
    pkg/ddl/column.go, updateColumnWorker).
    """
    sources = list(zip(find_column_sources(before, after), visible_columns(after), strict=True))
    kept = frozenset(
        column.id
        for source, column in sources
        if isinstance(source, FromColumn) and not needs_reorganization(source.before, source.after)
    )
    return kept, frozenset(column.id for source, column in sources if isinstance(source, FromDefault))


def _column_source(column: Column, before: tuple[int, Column] | None) -> ColumnSource:
    return (
        FromDefault(stored_value(column.origin_default, column.type))
        if before is None
        else FromColumn(before[0], before[1].type, column.type)
    )


def text_changes(old: ColumnType, new: ColumnType) -> bool:
    """Return whether a value of one type can have another TiDB text in the other."""
    old_family, new_family = family(old), family(new)
    if old == new:
        return False
    if old_family == new_family == "integer":
        return old.unsigned != new.unsigned or TYPES[new.name].length < TYPES[old.name].length or new.zerofill
    if old_family in ("string", "text") and new_family in ("string", "text"):
        padded = new.name == "char" and is_binary(new)
        return padded or is_binary(old) != is_binary(new) or new.length < old.length
    if old_family == new_family and old_family in ("enum", "set"):
        return new.elements[: len(old.elements)] != old.elements
    return (old_family, old.name, old.length, old.decimal) != (new_family, new.name, new.length, new.decimal)


# -- rows -----------------------------------------------------------------------------------------------------------------


def convert_rows(
    after: Table, sources: Sequence[ColumnSource], texts: Sequence[pa.Array], rows: int
) -> dict[str, pa.Array]:
    """Convert the texts (string) of the visible columns before to those of the definition `after`, in its order."""
    columns = zip(visible_columns(after), sources, strict=True)
    return {column.name: convert_column(source, texts, rows) for column, source in columns}


def convert_column(source: ColumnSource, texts: Sequence[pa.Array], rows: int) -> pa.Array:
    """Return the texts of a column from those of the table before."""
    match source:
        case FromColumn(index, before, after):
            return convert_text(before, after, texts[index]) if source.cast else texts[index]
        case FromDefault(text):
            return repeat_text(text, rows)


def repeat_text(text: str | None, rows: int) -> pa.Array:
    """Return a column with the same TiDB text in every row."""
    return pa.repeat(pa.scalar(text, pa.string()), rows)


def rows_that_fit(
    after: Table, sources: Sequence[ColumnSource], texts: Sequence[pa.Array], now: Mapping[str, pa.Array]
) -> Iterator[tuple[Column, ColumnSource, pa.Array]]:
    """Yield each visible column of `after` that values may not fit, with a mask of the rows that fit (no nulls)."""
    for source, column in zip(sources, visible_columns(after), strict=True):
        text = now[column.name]
        if column.not_null and not isinstance(source, FromDefault):
            yield column, source, pc.is_valid(text)
        elif isinstance(source, FromColumn) and source.cast:
            yield column, source, pc.or_(pc.is_valid(text), pc.is_null(texts[source.index]))
