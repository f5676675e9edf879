"""What a client is told about the columns of a result."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.tidb.sql_engine.storage.state import ResultSet

VAR_STRING = 0xFD
UTF8MB4, BINARY = 46, 63
"""Numbers of the collations utf8mb4_bin and binary."""

BINARY_FLAG = 128


@dataclass(frozen=True)
class ColumnMetadata:
    name: str
    type: int = VAR_STRING
    """MySQL's number of the type."""

    flags: int = 0
    charset: int = UTF8MB4
    length: int = 1024
    decimals: int = 0
    schema: str = ""
    table: str = ""
    original_table: str = ""
    original_name: str = ""


def columns_of(result: ResultSet) -> list[ColumnMetadata]:
    return [
        ColumnMetadata(name, flags=BINARY_FLAG if binary else 0, charset=BINARY if binary else UTF8MB4)
        for name, binary in zip(result.names, result.binary, strict=True)
    ]
