"""DataFrames whose columns are those of Arrow schemas, and values that each process of Spark gets once.

What a function of Spark refers to is unpickled whole by every task. With the pieces of 50,000 tables that took more
than half of the tasks' time, and 900 MB of each process. Shared values are pickled one by one, and a task unpickles
those that it asks for.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

import pyarrow as pa
from pyspark import AccumulatorParam, Broadcast, SparkContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

SPARK_TYPES: dict[pa.DataType, T.DataType] = {
    pa.bool_(): T.BooleanType(),
    pa.int8(): T.ByteType(),
    pa.int32(): T.IntegerType(),
    pa.int64(): T.LongType(),
    pa.string(): T.StringType(),
    pa.binary(): T.BinaryType(),
}

Batches = Iterator[pa.RecordBatch]


def map_in_arrow(
    frame: DataFrame, function: Callable[[Batches], Batches], schema: pa.Schema, barrier: bool = False
) -> DataFrame:
    """Call DataFrame.mapInArrow with an Arrow schema, without its warning about pandas, which is not used."""
    with warnings.catch_warnings():  # pyspark 4.3 warns of pandas 3 wherever it makes a Python function
        warnings.simplefilter("ignore", FutureWarning)
        columns = [T.StructField(field.name, SPARK_TYPES[field.type]) for field in schema]
        return frame.mapInArrow(function, T.StructType(columns), barrier)


def value_by_number(values: Sequence[int] | Sequence[bool], number: Column | str) -> Column:
    """Return a column that looks up a value by number, as a long or boolean; a literal if all values are equal."""
    kind = "boolean" if isinstance(values[0], bool) else "bigint"
    if len(set(values)) == 1:
        return F.lit(values[0]).cast(kind)
    # Spark folds one text into a constant array; with ten thousand literals it takes half a minute.
    texts = F.split(F.lit(",".join(str(value) for value in values)), ",")
    return F.get(texts.cast(f"array<{kind}>"), number)


Value = TypeVar("Value")


class ListAccumulator(AccumulatorParam[list[Value]]):
    """Extends a list in tasks, and the given one in the driver."""

    def zero(self, value: list[Value]) -> list[Value]:
        return []

    def addInPlace(self, value1: list[Value], value2: list[Value]) -> list[Value]:
        value1.extend(value2)
        return value1


class SharedValues(Generic[Value]):
    """A list that functions of Spark may refer to."""

    def __init__(self, context: SparkContext, values: Iterable[Value]) -> None:
        self._pickled: Broadcast[list[bytes]] = context.broadcast([pickle.dumps(value) for value in values])

    def __getitem__(self, number: int) -> Value:
        value: Value = pickle.loads(self._pickled.value[number])
        return value
