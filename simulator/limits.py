"""How much of something a user may ask for. What is above is refused with the limit, before time or memory is spent on it.

Limits that only one place knows stay there; `docs/mistakes.md` lists all of them.
"""

from __future__ import annotations

from simulator.errors import UserError

PARTITIONS = 10_000
"""Partitions of a topic."""

ALL_PARTITIONS = 200_000
"""Partitions of a run: those of a whole Kafka cluster, as Apache's release notes of 2.0 have it."""

WATERMARKS = 10_000_000
"""Watermarks of a run, or of one wait."""

REPEATS = 10_000
"""How often a fault does something again."""

FAULT_ROWS = 1_000_000
"""Rows that a fault is about."""

FILE_BYTES = 64 << 20
"""Bytes of a file that is read as a whole: SQL, a scenario, a plan, changefeed.toml, a schema, truth.json."""

LINE_BYTES = 256 << 20
"""Bytes of a line of fixtures: of a message in base64 and its decoded events."""

STORED_FILE_BYTES = 1 << 30
"""Bytes of a file that a storage sink wrote."""

FOREIGN_FILES = 10_000
"""Files below the URI of a storage that no changefeed writes."""

ROW_BYTES = 64 << 20
"""Bytes of a row in a data file. TiDB's own limit is 6 MiB (txn-entry-size-limit), at most 120 MiB."""

LOADED_BYTES = 256 << 20
"""Bytes of a client's file for LOAD DATA."""

SQL_BYTES = 64 << 20
"""Bytes of SQL that is parsed at once: TiDB's max_allowed_packet."""

SQL_TOKENS = 3_000_000
"""Words and symbols of a statement: those of an INSERT of about 500,000 small rows."""

SQL_WORD = 1 << 16
"""Characters of a word in SQL that is no text and no hexadecimal or binary number. TiDB's names have 64."""

SQL_NESTING = 10_000
"""Parentheses inside one another in a statement or an expression."""


def size(count: int) -> str:
    """Return a number of bytes for users."""
    return f"{count >> 20:,} MiB" if count >= 1 << 20 and not count % (1 << 20) else f"{count:,} bytes"


def check_partitions(topic: str, count: int) -> None:
    """Raise UserError if a topic has more partitions than one may have."""
    if count > PARTITIONS:
        raise UserError(f"topic {topic} with {count:,} partitions: at most {PARTITIONS:,} are accepted")


def check_watermarks(count: int, interval_ms: int) -> None:
    """Raise UserError if so many watermarks are too many."""
    if count > WATERMARKS:
        raise UserError(
            f"{count:,} watermarks in {interval_ms * count:,} ms of simulated time, one every {interval_ms} ms: at most "
            f"{WATERMARKS:,} are accepted; let --resolved-interval be longer, or the simulated time (--over, wait) shorter"
        )
