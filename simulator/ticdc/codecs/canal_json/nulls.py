"""What early releases of the new architecture take for NULL in Canal-JSON: the text `null`, and zeros.

One law: a form stays as it is in every other release.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from simulator.releases import Release
from simulator.ticdc.codecs.members import Form
from simulator.tidb.model import types
from simulator.tidb.model.types import ColumnType


@dataclass(frozen=True)
class Nullish:
    """Texts that stand for NULL: those that begin so, which is quickly seen, and then match."""

    beginnings: tuple[str, ...]
    pattern: str


_NULL = Nullish(("null",), "^null$")
_ZEROS = {
    **dict.fromkeys(("enum", "set"), Nullish(("0",), "^0$")),
    **dict.fromkeys(("date", "datetime"), Nullish(("0000-00-00",), r"^0000-00-00( 00:00:00(\.0+)?)?$")),
    "time": Nullish(("0", "-0"), "^-?0+:00:00$"),
    "decimal": Nullish(("0", "-0"), r"^-?0+(\.0+)?$"),
    "json": Nullish(("0", "-0"), r"^-?0(\.0+)?$"),
}
"""What 9.0.0-beta.1 takes for NULL beside empty texts (ticdc v9.0.0-beta.1: pkg/sink/codec/canal/helper.go)."""


def nulled(form: Form, type: ColumnType, release: Release) -> Form:
    """The form with nulls where the release has them."""
    family = types.family(type)
    if release.canal_whole_seconds and family == "time":
        form = _without_fraction(form)
    if release.canal_text_null and family in ("string", "text", "json"):
        form = _without(_NULL, form)
    if release.canal_zero_null and family in ("string", "text"):
        form = _without_empty(form)
    if release.canal_zero_null and family in _ZEROS:
        form = _without(_ZEROS[family], form)
    return form


def _without(nullish: Nullish, form: Form) -> Form:
    def nulling(cells: pa.Array, type: ColumnType) -> pa.Array:
        made = form(cells, type)
        if not any(pc.any(pc.starts_with(made, text)).as_py() for text in nullish.beginnings):
            return made
        return _nulls_where(pc.match_substring_regex(made, nullish.pattern), made)

    return nulling


def _without_empty(form: Form) -> Form:
    def nulling(cells: pa.Array, type: ColumnType) -> pa.Array:
        made = form(cells, type)
        return _nulls_where(pc.equal(pc.binary_length(made), 0), made)

    return nulling


def _nulls_where(found: pa.Array, made: pa.Array) -> pa.Array:
    return pc.if_else(found, pa.scalar(None, pa.binary()), made) if pc.any(found).as_py() else made


def _without_fraction(form: Form) -> Form:
    return lambda cells, type: pc.replace_substring_regex(form(cells, type), r"\..*$", "")
