"""The example consumer as it is, and with a part taken out; a stream that each of them reads, and its truth."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Hashable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from simulator.consumer.records import read_records

FILE = Path(__file__).parent.parent.parent / "scenarios" / "consumer" / "consumer.py"


def _example() -> ModuleType:
    """The module, which lies outside of every package."""
    specification = importlib.util.spec_from_file_location("example_consumer", FILE)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["example_consumer"] = module
    specification.loader.exec_module(module)
    return module


Consumer: Any = _example().Consumer

if TYPE_CHECKING:

    class Whole:
        """What the example consumer has, as far as it is replaced here."""

        def is_new(self, event: Any) -> bool: ...
        def order(self, event: Any) -> tuple[int, ...]: ...
else:
    Whole = Consumer


class WithoutDedupe(Whole):
    """Applies whatever comes, as often as it comes."""

    def is_new(self, event: Any) -> bool:
        return True

    def identity(self, event: Any) -> Hashable:
        return object()


class WithoutOrder(Whole):
    """Applies what is ready whatever its commit-ts."""

    def order(self, event: Any) -> tuple[int, ...]:
        return super().order(event)[1:]


class WithoutDeleteFirst(Whole):
    """Of one commit-ts it applies rows as it has read them."""

    def order(self, event: Any) -> tuple[int, ...]:
        return super().order(event)[:2]


def consumed(kind: Any, fixtures: str | Path, partitions: int) -> Any:
    """A consumer of that kind that has read the stream, one partition after the other, as fetches from Kafka do."""
    consumer = kind(partitions)
    for record in read_records(str(fixtures)):
        consumer.handle(record.partition, record.key or b"", record.value or b"")
    return consumer
