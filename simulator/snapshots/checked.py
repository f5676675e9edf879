"""Raw values of a table → its columns' TiDB text, and the error of the first row that TiDB would reject.

One law: a value is checked where it is converted; a text that is null though the value is not is what was rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
        value = F.col(f"c{index}")
        if raw.binary != "raw" and _is_bytes(column):
            value = F.unhex(value.cast("string")) if raw.binary == "hex" else F.unbase64(value.cast("string"))
        columns.append(tidb_text(column.type, value, raw.kinds[index]).alias(f"t{index}"))
    frame = raw.frame.select("*", *columns)
    return _generated(table, frame) if any(column.generated for column in visible) else frame


def _is_bytes(column: Column) -> bool:
    return column.type.charset == "binary" and (column.type.name in TEXTS or column.type.name == "bit")


def _generated(table: Table, frame: DataFrame) -> DataFrame:
    """Stored generated columns that the files leave out, from their expressions."""
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
            value = _value(table, column, known, frame)
            kind = frame.select(value.alias("value")).schema["value"].dataType
            computed = tidb_text(column.type, value, kind)
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
    conditions = [_good(column, index) for index, column in enumerate(visible_columns(table))]
    return _all(conditions)


def _good(column: Column, index: int) -> Expression:
    text = F.col(f"t{index}").isNotNull()
    if column.not_null:
        return text
    return text | F.col(f"c{index}").isNull()


def _all(conditions: Sequence[Expression]) -> Expression:
    result = conditions[0]
    for condition in conditions[1:]:
        result = result & condition
    return result


def rejection(table: Table, files: Sequence[str]) -> Expression:
    """Raises the error of the first column that TiDB would not take; of any type."""
    visible = visible_columns(table)
    key = handle_key(table)
    shown = [(column.name, index) for index, column in enumerate(visible) if column.name in key] or [
        (column.name, index) for index, column in enumerate(visible[:4])]
    row = F.concat(*(part for name, index in shown for part in (F.lit(f" {name}=".encode()), _shown(visible, index))))
    cause = F.lit(b"")
    for index, column in reversed(list(enumerate(visible))):
        head = F.lit(f", column {column.name!r}, row".encode())
        wanted = F.lit(f" of type {_type(column)}: accepted is {accepted(column.type)}".encode())
        tail = F.when(F.col(f"c{index}").isNull(), F.lit(b": NULL in a NOT NULL column")).otherwise(
            F.concat(F.lit(b": value "), _shown(visible, index), wanted))
        cause = F.when(~_good(column, index), F.concat(head, row, tail)).otherwise(cause)
    text = F.concat(_file(files), F.lit(f": table `{table.schema}`.`{table.name}`".encode()), cause)
    return raising(SnapshotError, text)


def no_partition(table: Table, files: Sequence[str]) -> Expression:
    """Raises the error of a row that no partition takes."""
    visible = visible_columns(table)
    row = F.concat(*(part for index, column in enumerate(visible[:4])
                     for part in (F.lit(f" {column.name}=".encode()), _shown(visible, index))))
    text = F.concat(_file(files), F.lit(f": table `{table.schema}`.`{table.name}`: no partition takes".encode()), row)
    return raising(SnapshotError, text)


def _type(column: Column) -> str:
    return column.type.name + (" unsigned" if column.type.unsigned else "")


def _shown(columns: Sequence[Column], index: int) -> Expression:
    """A raw value between quotes, as bytes."""
    value = F.col(f"c{index}")
    if columns[index].type.name == "bit":
        value = F.substring(value, 2, 64)
    value = F.coalesce(value.cast("string").cast("binary"), F.lit(b"NULL"))
    return F.concat(F.lit(b"'"), F.substring(value, 1, SHOWN), F.lit(b"'"))


def _file(files: Sequence[str]) -> Expression:
    """Path of the file of a row."""
    if not files:
        return F.regexp_replace(F.col(records.FILE), "^file:/*", "/").cast("binary")
    paths = F.array(*(F.lit(path) for path in files))
    return F.element_at(paths, F.col(records.FILE) + 1).cast("binary")
