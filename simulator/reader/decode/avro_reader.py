"""Reads the binary encoding of Avro (Avro's specification, "Binary Encoding") for Simple.

fastavro reads records of a registry's schema. The values of Simple are branches of a union of eight types, which it takes
twice as long to read and to hold against the bytes that an encoder writes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from simulator.limits import counted

Item = TypeVar("Item")


@dataclass
class AvroReader:
    """Reads values one after the other; raises ValueError for bytes that no encoder writes."""

    content: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.content):
            raise ValueError(f"at byte {self.at} {counted(size, 'byte')} expected, {self.left} there")
        self.at += size
        return self.content[self.at - size : self.at]

    @property
    def left(self) -> int:
        """Return the number of bytes that were not read."""
        return len(self.content) - self.at

    def end(self, what: str) -> None:
        """Raise ValueError if bytes are left after a value."""
        if self.left:
            raise ValueError(f"after the {what}: {counted(self.left, 'byte')}")

    def long(self) -> int:
        found, shift = 0, 0
        while True:
            (byte,) = self.take(1)
            found |= (byte & 0x7F) << shift
            if shift > 63 or found >> 64:
                raise ValueError(f"a number of more than 64 bits ends at byte {self.at}")
            if byte < 0x80:
                break
            shift += 7
        if shift and not byte:
            raise ValueError(f"a number that ends at byte {self.at} has more bytes than it needs")
        return (found >> 1) ^ -(found & 1)

    def single(self) -> float:
        """Return the next number of 32 bits."""
        (found,) = struct.unpack("<f", self.take(4))
        return float(found)

    def double(self) -> float:
        """Return the next number of 64 bits."""
        (found,) = struct.unpack("<d", self.take(8))
        return float(found)

    def text(self) -> str:
        return self.bytes().decode("utf-8", "surrogateescape")

    def bytes(self) -> bytes:
        return self.take(self.long())

    def boolean(self) -> bool:
        (byte,) = self.take(1)
        if byte > 1:
            raise ValueError(f"byte {byte} is neither true nor false")
        return bool(byte)

    def symbol(self, symbols: Sequence[Item]) -> Item:
        """Return the next symbol of an enumeration, or branch of a union."""
        number = self.long()
        if not 0 <= number < len(symbols):
            raise ValueError(f"symbol {number} of {', '.join(map(str, symbols))}")
        return symbols[number]

    def is_present(self) -> bool:
        return self.symbol((False, True))

    def array(self, read: Callable[[AvroReader], Item]) -> list[Item]:
        """Return the items of an array, which `read` reads one by one."""
        found: list[Item] = []
        while count := self._block():
            found += [read(self) for _ in range(count)]
        return found

    def map(self, read: Callable[[AvroReader], Item]) -> dict[str, Item]:
        """Return a map, whose values `read` reads one by one."""
        pairs = self.array(lambda reader: (reader.text(), read(reader)))
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a map has a name twice")
        return found

    def _block(self) -> int:
        """Return the items of the next block of an array or a map; 0 at its end."""
        count = self.long()
        if count < 0:
            self.long()
        if abs(count) > self.left:
            raise ValueError(f"{counted(abs(count), 'item')} in {counted(self.left, 'byte')}")
        return abs(count)
