"""How much of something a user may ask for, and counts and sizes in words: `2 row changes`, `591 bytes`, `2.2 MiB`.

What is above a limit is refused with the limit, before time or memory is spent on it. Limits that only one
place knows stay there; `docs/mistakes.md` lists all of them.
"""

from __future__ import annotations

import re
import sys

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

NESTED_CALLS = 8_000
"""Calls inside one another of functions that read the tree of a statement, a few for each level of it; TiDB has no limit of
its own. Through C, as in `hash`, each takes up to 0.8 kB of a thread's stack, which has 8 MB (Python 3.11)."""

TOO_DEEP = "the statement is nested too deeply"

UNITS = ((10_000 << 20, 1 << 30, "GiB"), (0.05 * (1 << 20), 1 << 20, "MiB"), (1 << 10, 1 << 10, "KiB"), (0, 1, "bytes"))
"""From how many bytes on a unit is used, its bytes, and its name."""


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


def allow_deep_nesting() -> None:
    """Allow as many nested calls in all threads, or more if more are allowed already."""
    if sys.getrecursionlimit() < NESTED_CALLS:
        sys.setrecursionlimit(NESTED_CALLS)


def counted(number: int, thing: str) -> str:
    """Return a count with its noun, in the plural unless it is one."""
    return f"{number:,} {noun(number, thing)}"


def noun(number: int, thing: str) -> str:
    """Return the noun of a count; of several words the last one changes."""
    if number == 1:
        return thing
    if re.search(r"[^aeiou]y$", thing):
        return f"{thing[:-1]}ies"
    return f"{thing}es" if thing.endswith(("s", "x", "ch", "sh")) else f"{thing}s"


def sized(number: float) -> str:
    """Return a number of bytes, mostly in MiB, and in the unit that shows more than zero."""
    width, unit = unit_of(number)
    return f"{number / width:,.1f} {unit}" if width > 1 else counted(round(number), "byte")


def unit_of(number: float) -> tuple[int, str]:
    """Return the bytes and the name of the unit for so many bytes."""
    return next((width, unit) for least, width, unit in UNITS if number >= least)
