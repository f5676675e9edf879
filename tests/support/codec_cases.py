"""Cases for codecs, drawn: changes of a table under any release and protocol, with options that the release has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from simulator.errors import EncodeError
from simulator.nesting import allow_deep_nesting
from simulator.releases import Release
from simulator.ticdc.codecs import CODECS, CodecOptions, EncodedRows, RowChanges
from simulator.ticdc.codecs.codec_options import supported_options
from simulator.ticdc.table_info import handle_columns
from support.codec_expected import Case
from support.codec_refusals import refusal
from support.codec_rows import releases_of, rows
from support.random_tables import RandomTable, changes, tables

# Hypothesis fails a test that changes the limit of nested calls, as the first statement that is parsed does.
allow_deep_nesting()

SWITCHES = (
    "enable_tidb_extension",
    "only_output_updated_columns",
    "delete_only_output_handle_key_columns",
    "content_compatible",
    "output_old_value",
    "enable_old_value",
    "debezium_output_old_value",
)
CLOCK = 1_735_689_600_000


@st.composite
def cases(draw: DrawFn, protocol: str) -> Case:
    """Changes of a table under a release's protocol with options that the release has."""
    release = draw(st.sampled_from(releases_of(protocol)))
    made = draw(tables())
    switches: dict[str, Any] = {name: draw(st.booleans()) for name in SWITCHES}
    switches["enable_tidb_extension"] &= protocol == "canal-json"
    if protocol == "canal-json" or "enable-old-value" not in release.options:
        switches["enable_old_value"] = True
    options = supported_options(replace(CodecOptions(protocol, build_ts=CLOCK), **switches), release)
    if protocol == "debezium-avro":
        decimals, numbers = (draw(st.sampled_from([usual, "string"])) for usual in ("precise", "long"))
        options = replace(options, avro_decimal_handling_mode=decimals, avro_bigint_unsigned_handling_mode=numbers)
    return Case(release, made, options, tuple(draw(changes(made))), draw(selections(made, options, release)))


@st.composite
def selections(draw: DrawFn, made: RandomTable, options: CodecOptions, release: Release) -> frozenset[str] | None:
    """Columns that selectors leave: the handle key and perhaps more, None for all; without what TiCDC crashes on."""
    updates = options.only_output_updated_columns and options.protocol == "canal-json"
    if release.column_selectors == "nothing" or release.column_selectors == "rows" and updates:
        return None
    chosen = draw(st.none() | st.sets(st.sampled_from(sorted(made.values)), min_size=1))
    return None if chosen is None else handle_columns(made.table, release) | chosen


def encoded(case: Case) -> EncodedRows:
    """The case's rows as entries."""
    return CODECS[case.options.protocol].encode(arrays(case), case.options, case.release)


def arrays(case: Case) -> RowChanges:
    """The case's rows as the codecs take them."""
    made = rows(case.made.table, case.changes, case.made.binary)
    return replace(made, partition_id=case.made.partition, selected=case.selected)


def encoded_if_not_refused(case: Case) -> EncodedRows | None:
    """The rows as entries; None where the release refuses them, as it is to."""
    refused = refusal(case)
    if not refused:
        return encoded(case)
    with pytest.raises(EncodeError) as caught:
        encoded(case)
    assert caught.value.text.startswith(refused)
    return None
