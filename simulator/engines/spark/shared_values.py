"""Values for tasks: each process gets all of them once, pickled, and a task unpickles those that it asks for.

What a function of Spark refers to is unpickled whole by every task. With the pieces of 50,000 tables that took more than half of
the tasks' time, and 900 MB of each process.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Generic, TypeVar

from pyspark import Broadcast, SparkContext

Value = TypeVar("Value")


class SharedValues(Generic[Value]):
    """A list that functions of Spark may refer to."""

    def __init__(self, context: SparkContext, values: Iterable[Value]) -> None:
        self._pickled: Broadcast[list[bytes]] = context.broadcast([pickle.dumps(value) for value in values])

    def __getitem__(self, number: int) -> Value:
        value: Value = pickle.loads(self._pickled.value[number])
        return value
