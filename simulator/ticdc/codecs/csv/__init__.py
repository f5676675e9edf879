r"""CSV, the format of TiCDC's storage sink: one line per row, no key.

`"I","table","schema",commit-ts,is-update,handle,column,column…`

* The operation is I, U or D. commit-ts, is-update and handle are there only if `[sink.csv]` asks for them.
* With `output-old-value` an UPDATE is two lines, D and I, and is-update tells them from others.
* Numbers are bare: integers, BIT, YEAR, FLOAT and DOUBLE as Go's `%v` writes them. Everything else is a string: ENUM and
  SET by name, bytes in base64 or hex.
* A string is in quotes, with quotes doubled; without a quote character it has backslashes before CR, LF, `\` and the
  delimiter. NULL is the bare `null` text.
* `output-field-header` begins each file with the names of all columns, as they are.
* DDL statements and watermarks are files of their own (`simulator.ticdc.storage`).

Sources: tiflow v8.0.0: pkg/sink/codec/csv; ticdc: pkg/sink/codec/csv; docs: ticdc-csv.
"""

from __future__ import annotations

from simulator.releases import Release, option_names
from simulator.ticdc.codecs.codec import Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.csv.encoder import encode, header
from simulator.ticdc.codecs.row_changes import DdlEvent


def _ddl(event: DdlEvent, options: CodecOptions, release: Release) -> KeyValue:
    return None, event.query.encode("utf-8", "surrogateescape")


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    return SizeRules(options.max_message_bytes, 1, 0, large_rows=True)


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    updates_are_inserts = not options.enable_old_value and release.update_without_old_value
    return Fidelity(
        old_values=options.csv.output_old_value, names_operations=not updates_are_inserts, member_names=True
    )


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    quote = len(options.csv.quote)
    return entry[0], entry[1][:quote] + b"?" + entry[1][quote + 1 :]


CSV = Codec(
    protocol=Protocol(
        name="csv",
        title="CSV",
        settings=frozenset({"sink.csv", "sink.terminator"}),
        refusals=dict.fromkeys(
            option_names.DELETE_ONLY,
            "CSV protocol always output all columns for the delete event, "
            "do not set `delete-only-output-handle-key-columns` to true",
        ),
        sinks=frozenset({"storage"}),
        old_values=lambda release: "disabled" if release.csv_disables_old_value else "optional",
    ),
    file_extension=".csv",
    file_header=header,
    encode=encode,
    ddl=_ddl,
    sends_ddl=lambda options, release: False,
    sizes=_sizes,
    fidelity=_fidelity,
    with_unknown_type=_unknown_type,
)
