"""The keys of a plan file, and how each value is parsed. Keys of `[table.columns]` are in `generate`.

Each parser raises UserError for an invalid value, independently of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from simulator.errors import DdlError, SqlError, UserError, did_you_mean
from simulator.generate.model import Mix
from simulator.generate.values.reading import parse_skew
from simulator.load import rates
from simulator.load.load_plan import STATEMENT_KINDS
from simulator.settings import SETTINGS, Key, to_bool, to_count, to_duration_ms, to_text
from simulator.tidb.parser.ddl.statements import parse_ddl
from simulator.tidb.parser.script import split_script

MOST_ROWS = 1_000_000_000
"""Rows of a table."""

MOST_OF_TRANSACTION = 100_000
MOST_WEIGHT = 1_000_000
MOST_SIZE = 16 << 20
INITIAL = ("inserted", "present")

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(B|KiB|MiB)")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def to_name(value: object) -> str:
    """Parse a plan's name, which must be a valid file name."""
    if not _NAME.fullmatch(to_text(value)):
        raise UserError(f"expected letters, digits and _ . - (the checkpoint's directory is called so), got {value!r}")
    return to_text(value)


def to_row_range(value: object) -> tuple[int, int]:
    """Parse a number of rows, or {min, max}."""
    return _range(value, to_count(1, MOST_OF_TRANSACTION), "a whole number or {min = 1, max = 20}")


def _range(value: object, read: Callable[[object], int], expected: str) -> tuple[int, int]:
    if not isinstance(value, dict):
        return read(value), read(value)
    if value.keys() != {"min", "max"}:
        raise UserError(f"expected {expected}, got {value!r}")
    least, most = read(value["min"]), read(value["max"])
    if least > most:
        raise UserError(f"min is {value['min']}, which is above max, {value['max']}")
    return least, most


def to_present(value: object) -> bool:
    """Return whether rows exist before the stream."""
    if value not in INITIAL:
        raise UserError(
            "expected 'inserted' (the stream begins with the rows) or 'present' (they were there before), got "
            f"{value!r}"
        )
    return value == "present"


def to_mix(value: object) -> Mix:
    known = ("inserts", "updates", "deletes")
    if not isinstance(value, dict) or not value:
        raise UserError(f"expected {{inserts = 20, updates = 70, deletes = 10}}, got {value!r}")
    for name in value:
        if name not in known:
            raise UserError(f"unknown key {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}")
    count = to_count(0, MOST_WEIGHT)
    mix = Mix(*(count(value.get(name, 0)) for name in known))
    if not mix.inserts + mix.updates + mix.deletes:
        raise UserError("all are 0: at least one of inserts, updates, deletes is expected above 0")
    return mix


def to_update_columns(value: object) -> int | tuple[str, ...]:
    """Parse how many columns an UPDATE changes, or their names."""
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        return tuple(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 4096:
        return value
    raise UserError(f"expected how many columns an UPDATE touches, or a list of columns, got {value!r}")


def to_size(value: object) -> int:
    """Parse `2KiB`, in bytes."""
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    size = round(float(match[1]) * _UNITS[match[2]]) if match else value
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MOST_SIZE:
        raise UserError(
            f"expected a size up to {MOST_SIZE >> 20}MiB, such as '2KiB', or a number of bytes; got {value!r}"
        )
    return size


def to_interval(value: object) -> tuple[int, int]:
    """Parse `5m`, or {min, max}, in milliseconds."""
    return _range(value, to_duration_ms, "a duration such as '5m', or {min = '2m', max = '10m'}")


def to_statements(value: object) -> tuple[str, ...]:
    """Split a text into DDL statements."""
    try:
        texts = tuple(each.text for each in split_script(to_text(value)))
        for text in texts:
            parse_ddl(text)
    except (DdlError, SqlError) as error:
        raise UserError(str(error)) from None
    if not texts:
        raise UserError("expected a DDL statement, got none")
    return texts


def to_kinds(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise UserError(f"expected a list out of {', '.join(STATEMENT_KINDS)}; got {value!r}")
    for kind in value:
        if kind not in STATEMENT_KINDS:
            meant = did_you_mean(str(kind), STATEMENT_KINDS)
            raise UserError(f"unknown statement {kind!r}.{meant} Known: {', '.join(STATEMENT_KINDS)}")
    return tuple(value)


def to_rate(value: object) -> str:
    """Check a rate as `--rate` has it."""
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else to_text(value)
    rates.parse_rate(text)
    return text


_OF_CHANGEFEED = ("sink-uri", "config", "tz", "release", "architecture", "start-ts", "resolved-interval", "seed")

TOP: Mapping[str, Key] = {
    "name": Key("name", to_name),
    **{name: SETTINGS[name] for name in _OF_CHANGEFEED},
    "rate": Key("rate", to_rate),
    "duration": Key("duration_ms", to_duration_ms),
    "rows-per-second": Key("rows_per_second", to_count(1, rates.MOST_ROWS_PER_SECOND)),
    "rows-per-transaction": Key("rows_per_transaction", to_row_range),
    "tables-per-transaction": Key("tables_per_transaction", to_count(1, 1000)),
    "initial": Key("present", to_present),
}
"""Top-level keys."""

TABLE: Mapping[str, Key] = {
    "definition": Key("definition", to_text),
    "rows": Key("rows", to_count(0, MOST_ROWS)),
    "weight": Key("weight", to_count(0, MOST_WEIGHT)),
    "mix": Key("mix", to_mix),
    "skew": Key("skew", parse_skew),
    "update-columns": Key("update_columns", to_update_columns),
    "row-size": Key("row_size", to_size),
    "columns": Key("columns", dict),
}
"""Keys of `[[table]]`."""

DDL: Mapping[str, Key] = {
    "every": Key("every_ms", to_interval),
    "table": Key("table", to_text),
    "kinds": Key("kinds", to_kinds),
    "random": Key("random", to_bool),
    "at": Key("at_ms", to_duration_ms),
    "sql": Key("sql", to_statements),
}
"""Keys of `[[ddl]]`."""
