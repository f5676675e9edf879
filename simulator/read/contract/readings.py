"""How far the values in messages of a release can be relied on.

One law: a value that may stand for another one is told, and nothing is taken for certain that a consumer cannot know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simulator.releases import Release
from simulator.ticdc.codecs.options import CodecOptions
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import family

TEXTS = frozenset(("string", "text", "json"))
ZEROS = TEXTS | {"enum", "set", "decimal", "date", "datetime", "time", "vector"}
"""Families of types whose empty or zero values early releases of the new architecture take for NULL."""


def certain(text: str | None, column: Column, changed: bool) -> bool:
    """That no value is in doubt."""
    return False


@dataclass(frozen=True)
class Reading:
    old_values: bool = True
    """Whether UPDATEs have old values, and are told from INSERTs by them."""

    hides_same: bool = False
    """Whether an UPDATE of which no column changed looks like an INSERT, since it has no old values then."""

    doubtful: Callable[[str | None, Column, bool], bool] = certain
    """Whether a value may stand for another one; `changed` is whether it is an old one that an UPDATE changed."""


def reading_of(options: CodecOptions, release: Release) -> Reading:
    """What the encoder's options and the release make of it."""
    is_open = options.protocol == "open-protocol"
    wanted = options.output_old_value or not release.open_old_optional
    kept = wanted and release.open_old_values or not is_open
    without = release.update_without_old_value and not options.enable_old_value
    nulls = frozenset(ZEROS) if (release.open_zero_is_null if is_open else release.canal_zero_null) else frozenset()
    if release.canal_text_null and not is_open:
        nulls |= TEXTS
    old_nulls = nulls | (ZEROS if is_open and release.open_old_zero_is_null else nulls)
    whole = not release.open_time_fraction if is_open else release.canal_whole_seconds

    def doubtful(text: str | None, column: Column, changed: bool) -> bool:
        if text is None:
            return family(column.type) in (old_nulls if changed else nulls)
        return whole and family(column.type) == "time" and column.type.decimal > 0
    hides_same = is_open and options.only_output_updated_columns and not release.open_old_always
    return Reading(kept and not without, hides_same, doubtful)
