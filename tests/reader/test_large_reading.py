"""Large messages are read: compressed values, rows limited to their handle key, and claim-check files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
import pyarrow as pa
import pytest
from support.codec_rows import Change, rows
from support.contract_checks import find_violations

from simulator.errors import UserError
from simulator.reader import event_lines as inspect
from simulator.reader.contract.stream_spec import stream_spec_of
from simulator.reader.decode import RowEvent, decode, fetch_claim_check
from simulator.reader.decode.batches import StreamDecoder
from simulator.reader.events import RECORD_SCHEMA
from simulator.reader.records import Record
from simulator.releases import V8_5
from simulator.sinks.external_storage import read_claim_check, write_claim_checks
from simulator.ticdc import changefeed
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent
from simulator.tidb.ddl.table_definitions import create_table

TABLE = create_table("CREATE TABLE shop.t (id INT PRIMARY KEY, v LONGTEXT)")
PROTOCOLS = ("open-protocol", "canal-json")
COMPRESSIONS = ("none", "lz4", "snappy")


def sent(options: CodecOptions, *changes: Change) -> list[Record]:
    """Messages of the changes; what claim-check stores is stored."""
    codec = CODECS[options.protocol]
    encoded = codec.encode(rows(TABLE, changes), options, V8_5)
    write_claim_checks(options.claim_check_storage_uri, encoded.files)
    framed = codec.frame(encoded, np.arange(len(changes)), options, V8_5)
    keys = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
    return [
        Record("t", 0, offset, 0, key, value)
        for offset, (key, value) in enumerate(zip(keys, framed.values.to_pylist(), strict=True))
    ]


def options(protocol: str, **more: object) -> CodecOptions:
    """With the TiDB extension where it exists."""
    return replace(CodecOptions(protocol, enable_tidb_extension=protocol == "canal-json"), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("compression", ["lz4", "snappy"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_compressed_messages_are_read_like_others(protocol: str, compression: str) -> None:
    """The compression is recognised from the bytes."""
    chosen = options(protocol, large_message_handle_compression=compression)
    changes: list[Change] = [({"id": "1", "v": "a" * n}, {"id": "1", "v": "b" * n}) for n in (0, 1, 60, 121, 5000)]
    for compressed, plain in zip(sent(chosen, *changes), sent(options(protocol), *changes), strict=True):
        assert decode(compressed.key, compressed.value) == decode(plain.key, plain.value)
    codec, event = CODECS[protocol], DdlEvent(1 << 40, "s", "t", "DROP TABLE `s`.`t`", 4)
    for entry in (codec.ddl(event, chosen, V8_5), codec.watermark(1 << 40, chosen, V8_5)):
        assert entry
        decode(*codec.message(entry, chosen, V8_5))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_broken_frame_is_reported(protocol: str) -> None:
    """The error is no traceback and no JSON error."""
    (record,) = sent(options(protocol, large_message_handle_compression="lz4"), (None, {"id": "1", "v": "a" * 100}))
    assert record.value is not None
    with pytest.raises(UserError, match="a broken LZ4 frame"):
        decode(record.key, record.value[:-1] + b"\0", protocol)
    for broken in (record.value[:-1] + b"\0", record.value[:-4]):
        (line,) = inspect.lines([replace(record, value=broken)])
        assert "UNREADABLE" in line


def test_a_claimed_length_allocates_no_memory() -> None:
    """A small frame whose header claims 2 to the power of 40 bytes allocates little memory."""
    good = lz4.frame.compress(b'{"isDdl": 1}')
    claimed, checksum = (1 << 40).to_bytes(8, "little"), b"\xb7"
    frame = good[:6] + claimed + checksum + good[15:]
    with pytest.raises(UserError, match="a broken LZ4 frame"):
        decode(None, frame, "canal-json")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_inspect_shows_that_a_row_is_limited_and_its_location(protocol: str, tmp_path: Path) -> None:
    """Only the handle key can be shown."""
    long: Change = (None, {"id": "7", "v": "x" * 3000})
    how = options(protocol, max_message_bytes=600, large_message_handle_option="handle-key-only")
    (line,) = inspect.lines(sent(how, long))
    assert line.endswith("INSERT shop.t id=7 (the handle key alone)")
    how = replace(how, large_message_handle_option="claim-check", claim_check_storage_uri=f"file://{tmp_path}")
    (line,) = inspect.lines(sent(how, long))
    (file,) = tmp_path.iterdir()
    assert line.endswith(f"INSERT shop.t id=7 (the handle key alone, all of it at file://{file})")


def claim_check_options(plain: CodecOptions, directory: Path, **more: object) -> CodecOptions:
    """With files for messages of more than 600 bytes."""
    where = {"large_message_handle_option": "claim-check", "claim_check_storage_uri": f"file://{directory}"}
    return replace(plain, max_message_bytes=600, **where, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("protocol", "compression", "raw"),
    [*((protocol, how, False) for protocol in PROTOCOLS for how in COMPRESSIONS), ("canal-json", "lz4", True)],
)
def test_a_stored_message_completes_its_row(protocol: str, compression: str, raw: bool, tmp_path: Path) -> None:
    """The row equals that of an unlimited message."""
    texts = ["".join(map(str, range(at, at + 2000))) for at in (0, 1)]
    change: Change = ({"id": "7", "v": texts[0]}, {"id": "7", "v": texts[1]})
    plain = options(protocol, large_message_handle_compression=compression)
    claim = claim_check_options(plain, tmp_path, claim_check_raw_value=raw)
    (record,), (expected,) = sent(claim, change), sent(plain, change)
    (event,) = decode(record.key, record.value)
    assert isinstance(event, RowEvent) and event.only_handle
    assert (fetch_claim_check(event, read_claim_check, protocol),) == decode(expected.key, expected.value)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_missing_or_wrong_file_is_a_violation(protocol: str, tmp_path: Path) -> None:
    uri = f"kafka://k:9092/t?protocol={protocol}&max-message-bytes=600&partition-num=1" + (
        "&enable-tidb-extension=true" if protocol == "canal-json" else ""
    )
    toml = "[sink.kafka-config.large-message-handle]\nlarge-message-handle-option = 'claim-check'\n"
    feed = changefeed.load(uri, f"{toml}claim-check-storage-uri = 'file://{tmp_path}'")
    changes: list[Change] = [(None, {"id": str(key), "v": f"{key}" * 3000}) for key in (7, 8)]
    records = sent(feed.codec, *changes)
    spec = replace(stream_spec_of(feed, [TABLE], {"t": 1}), finished=False)
    assert list(find_violations(records, spec)) == []

    first, second = tmp_path.iterdir()
    second.write_bytes(first.read_bytes())
    first.unlink()
    violations = list(find_violations(records, spec))
    assert [violation.check for violation in violations] == ["file-missing"] * 2
    assert {"cannot be read: No such", "another row"} == {
        words for words in ("cannot be read: No such", "another row") for each in violations if words in each.what
    }


@pytest.mark.parametrize(("protocol", "compression"), [("open-protocol", "snappy"), ("canal-json", "lz4")])
def test_batches_have_complete_compressed_and_stored_rows(protocol: str, compression: str, tmp_path: Path) -> None:
    """Stored rows have their location, or the reason why the file cannot be read."""
    texts = {key: "".join(map(str, range(key, 2000))) for key in (7, 8)}
    changes: list[Change] = [(None, {"id": str(key), "v": text}) for key, text in texts.items()]
    plain = options(protocol, large_message_handle_compression=compression)
    claim = claim_check_options(plain, tmp_path)
    images = [b"%d\xff%s" % (key, text.encode()) for key, text in texts.items()]
    assert images == sorted(row["after"] for row in decoded(sent(plain, *changes), protocol))
    stored = sent(claim, *changes)
    whole = decoded(stored, protocol)
    places = {f"file://{file}" for file in tmp_path.iterdir()}
    assert images == [row["after"] for row in whole]
    assert 2 == len(places) and places == {row["stored_at"] for row in whole}
    assert not any(row["only_handle"] for row in whole)
    for file in tmp_path.iterdir():
        file.unlink()
    cut = decoded(stored, protocol)
    assert all(row["only_handle"] and "No such file" in row["text"] for row in cut)
    assert [b"7", b"8"] == [row["after"] for row in cut]


def decoded(records: list[Record], protocol: str) -> list[dict[str, Any]]:
    """The rows of a batch."""
    columns = ("offset", "timestamp", "key", "value")
    batch = pa.RecordBatch.from_pylist(
        [{name: getattr(record, name) for name in columns} for record in records], RECORD_SCHEMA
    )
    found: list[dict[str, Any]] = StreamDecoder(protocol, read_claim_check).decoded(batch).to_pylist()
    return found
