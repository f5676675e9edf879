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
        "The version of the checksum that TiDB of the same release stores with a row ((0 of the columns; 1 of the bytes "
        "and the key: %s 8.3; 2 with the handle: 8.4+)); the checksum in messages is that of the columns in any case",
        "cdc/entry/mounter.go verifyChecksum",
        first=0,
    )
    checksum_sorts_columns: bool = CHECKSUMS(
        "Whether checksums go through the columns by their ids ((classic: %s)); elsewhere in table order",
        "cdc/entry/mounter.go calculateColumnChecksum",
        first=True,
    )
