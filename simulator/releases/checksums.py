"""Behaviours of row checksums, which Simple and Avro have."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import section

CHECKSUMS = section(
    "Row checksums", "of rows in Simple and Avro", "simple", "avro", settings=("integrity-check-level",)
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ChecksumBehaviours:
    """Row checksums."""

    checksum_version: int = CHECKSUMS(
        "The version of the checksum that TiDB of the same release stores with a row; the checksum in messages "
        "is that of the columns in any case",
        "cdc/entry/mounter.go verifyChecksum",
        values={0: "4.0–8.2", 1: "8.3", 2: "8.4+; new"},
    )
    checksum_sorts_columns: bool = CHECKSUMS(
        "Whether checksums go through the columns by their ids; elsewhere in table order",
        "cdc/entry/mounter.go calculateColumnChecksum",
        when="classic",
    )
