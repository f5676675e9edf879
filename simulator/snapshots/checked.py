"""Raw values of a table → its columns' TiDB text, and the error of the first row that TiDB would reject.

One law: a value is checked where it is converted; a text that is null though the value is not is what was rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulator.errors import SchemaError, SnapshotError
from simulator.failures import raising
from simulator.schema.expressions import spark_sql
from simulator.schema.keys import handle_key, visible_columns
from simulator.schema.table import Column, Table
from simulator.snapshots import records, typed
from simulator.snapshots.read import Raw
from simulator.snapshots.values import TEXTS, accepted, tidb_text

SHOWN = 80
"""Characters of a rejected value that an error shows."""


def texts(table: Table, raw: Raw) -> DataFrame:
    """The raw frame with the TiDB text of visible column i as `t<i>` beside its raw value."""
    visible = visible_columns(table)
    columns = []
    for index, column in enumerate(visible):
        value = f"c{index}"
        if raw.binary != "raw" and _is_bytes(column):
            value = f"{'unhex' if raw.binary == 'hex' else 'unbase64'}(cast({value} as string))"
        columns.append(tidb_text(column.type, value, raw.kinds[index]).alias(f"t{index}"))
    frame = raw.frame.select("*", *columns)
    return generated(table, frame) if any(column.generated for column in visible) else frame


def _is_bytes(column: Column) -> bool:
    return column.type.charset == "binary" and (column.type.name in TEXTS or column.type.name == "bit")


def generated(table: Table, frame: DataFrame) -> DataFrame:
    """The frame, which has the texts `t<i>`, with stored generated columns that are not `given` computed."""
    visible = visible_columns(table)
    names = {column.name: f"t{index}" for index, column in enumerate(visible)}
    frame = frame.withColumns({f"e{index}": F.expr(typed.cast(column, f"t{index}"))
                               for index, column in enumerate(visible) if _mentioned(table, column)})
    known = {name: text.replace("t", "e", 1) for name, text in names.items()}
    for place, column in enumerate(table.columns):
        if column.generated == "virtual" and _mentioned(table, column):
            known[column.name] = f"v{place}"
            value = _value(table, column, known, frame).try_cast(typed.spark_type(column.type))
            frame = frame.withColumn(f"v{place}", value)
        if column.generated == "stored":
            text = names[column.name]
            frame = frame.withColumn(f"g{place}", _value(table, column, known, frame))
            computed = tidb_text(column.type, f"g{place}", frame.schema[f"g{place}"].dataType)
            frame = frame.withColumn(text, F.when(F.col(records.GIVEN), F.col(text)).otherwise(computed))
            frame = frame.withColumn(known[column.name], F.expr(typed.cast(column, text)))
    return frame


def _mentioned(table: Table, column: Column) -> bool:
    """Whether an expression of a generated column may name this one."""
    word = re.compile(rf"(?<!\w){re.escape(column.name)}(?!\w)", re.IGNORECASE)
    return any(word.search(other.generated_expression) for other in table.columns if other.generated)


def _value(table: Table, column: Column, known: Mapping[str, str], frame: DataFrame) -> Expression:
    """A generated column's expression; where Spark cannot compute it, an error once a row needs it."""
    try:
        value = F.expr(spark_sql(column.generated_expression, known))
        frame.select(value)
        return value
    except (SchemaError, AnalysisException) as error:
        text = (f"table `{table.schema}`.`{table.name}`: the files leave out generated column {column.name!r} and "
                f"{column.generated_expression!r} cannot be computed here: {str(error).splitlines()[0]}")
        return raising(SnapshotError, F.lit(text.encode())).cast("string")


def accepts(table: Table) -> Expression:
    """Whether TiDB would take the row of a frame of `texts`."""
    return F.expr(" and ".join(_goods(table)))


def _goods(table: Table) -> list[str]:
    """Of each visible column, SQL that says whether TiDB would take its value."""
    return [
        f"t{index} is not null" if column.not_null else f"(t{index} is not null or c{index} is null)"
        for index, column in enumerate(visible_columns(table))]


def rejection(table: Table, files: Sequence[str]) -> Expression:
    """Raises the error of the first column that TiDB would not take; of any type.

    Arrays keep the expression short: it is compiled for every table, and hardly ever runs.
    """
    visible = visible_columns(table)
    first = F.expr(f"cast(array_position(array({', '.join(_goods(table))}), false) as int)")
    raws = ", ".join(_raw(column, index) for index, column in enumerate(visible))
    shown = F.element_at(F.expr(f"array({raws})"), first)
    name = _text_at(first, (f"{column.name!r}" for column in visible))
    wanted = _text_at(first, (f" of type {_type(column)}: accepted is {accepted(column.type)}" for column in visible))
    cause = F.when(shown.isNull(), F.lit(b": NULL in a NOT NULL column")).otherwise(
        F.concat(F.lit(b": value "), _quoted(shown), wanted))
    return raising(SnapshotError, F.concat(_where(table, files), F.lit(b", column "), name, F.lit(b", row"),
                                           _key(table), cause))


def no_partition(table: Table, files: Sequence[str]) -> Expression:
    """Raises the error of a row that no partition takes."""
    return raising(SnapshotError, F.concat(_where(table, files), F.lit(b": no partition takes"), _key(table)))


def _text_at(place: Expression, texts: Iterable[str]) -> Expression:
    """Bytes of one of the texts; they are one literal, however many they are."""
    return F.element_at(F.split(F.lit("\x1f".join(texts)), "\x1f"), place).cast("binary")


def _where(table: Table, files: Sequence[str]) -> Expression:
    return F.concat(_file(files), F.lit(f": table `{table.schema}`.`{table.name}`".encode()))


def _key(table: Table) -> Expression:
    """The columns of the handle key with their raw values, or the first few where there is none."""
    visible = list(enumerate(visible_columns(table)))
    key = handle_key(table)
    shown = [(index, column) for index, column in visible if column.name in key] or visible[:4]
    parts = ((F.lit(f" {column.name}=".encode()), _quoted(F.expr(_raw(column, index)))) for index, column in shown)
    return F.concat(*(part for pair in parts for part in pair))


def _type(column: Column) -> str:
    return column.type.name + (" unsigned" if column.type.unsigned else "")


def _raw(column: Column, index: int) -> str:
    """SQL of a raw value as bytes."""
    value = f"substring(c{index}, 2, 64)" if column.type.name == "bit" else f"c{index}"
    return f"cast(cast({value} as string) as binary)"


def _quoted(bytes: Expression) -> Expression:
    """The beginning of a value between quotes."""
    return F.concat(F.lit(b"'"), F.substring(F.coalesce(bytes, F.lit(b"NULL")), 1, SHOWN), F.lit(b"'"))


def _file(files: Sequence[str]) -> Expression:
    """Path of the file of a row."""
    if not files:
        return F.regexp_replace(F.col(records.FILE), "^file:/*", "/").cast("binary")
    paths = F.array(*(F.lit(path) for path in files))
    return F.element_at(paths, F.col(records.FILE) + 1).cast("binary")
