"""Large messages beside those of TiCDC (tests/endtoend, vectors `extra`): compression, claim-check, and its storage."""

from __future__ import annotations

import base64
import json
import os
import re
import uuid
from dataclasses import replace
from pathlib import Path

import cramjam
import lz4.frame
import pytest
from support.codec_rows import SHORTENED, Change, rows

from simulator import limits
from simulator.errors import DeliveryError, EncodeError, UserError
from simulator.releases import V8_5
from simulator.sinks.external_storage import read_claim_check, require_claim_checks_writable, write_claim_checks
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent, EncodedRows, RowChanges, StoredFile
from simulator.ticdc.codecs.large_messages import compress, decompress, storage_uri
from simulator.tidb.ddl.table_definitions import create_table

TABLE = create_table("CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(9999))")
LONG: Change = (None, {"id": "7", "v": "x" * 3000})
SHORT: Change = (None, {"id": "8", "v": "y"})
CLAIM = {"large_message_handle_option": "claim-check", "claim_check_storage_uri": "file:///large/"}
HANDLE = {"large_message_handle_option": "handle-key-only"}


def options(protocol: str, **more: object) -> CodecOptions:
    """With the TiDB extension, and a limit that LONG is above."""
    chosen = CodecOptions(protocol, enable_tidb_extension=protocol == "canal-json", max_message_bytes=600)
    return replace(chosen, **more)  # type: ignore[arg-type]


def encoded(protocol: str, given: RowChanges | list[Change], **more: object) -> EncodedRows:
    """The rows, or those changes of TABLE."""
    found = given if isinstance(given, RowChanges) else rows(TABLE, given)
    return CODECS[protocol].encode(found, options(protocol, **more), V8_5)


@pytest.mark.parametrize("compression", ["lz4", "snappy"])
@pytest.mark.parametrize("protocol", SHORTENED)
def test_every_value_is_compressed_and_no_key(protocol: str, compression: str) -> None:
    """Rows, statements, and Canal-JSON's watermarks; a resolved event of Open Protocol has no value."""
    codec, asked = CODECS[protocol], options(protocol, large_message_handle_compression=compression)
    plain = options(protocol, max_message_bytes=1 << 20)
    made, want = (codec.encode(rows(TABLE, [SHORT, LONG]), chosen, V8_5) for chosen in (asked, plain))
    assert [decompress(value, compression) for value in made.values.to_pylist()] == want.values.to_pylist()
    assert made.keys == want.keys
    event = DdlEvent(1 << 40, "shop", "t", "DROP TABLE `shop`.`t`", 4)
    for entry, expected in (
        (codec.ddl(event, asked, V8_5), codec.ddl(event, plain, V8_5)),
        (codec.watermark(1 << 40, asked, V8_5), codec.watermark(1 << 40, plain, V8_5)),
    ):
        assert entry and expected
        assert (entry[0], decompress(entry[1], compression)) == expected
        assert (entry[1] == expected[1]) is (expected[1] == b"")


@pytest.mark.parametrize("size", [1, 70_000, 5 << 20])
def test_lz4_frames_are_as_ticdcs_writer_makes_them_and_any_reader_takes_them(size: int) -> None:
    """Header of pierrec/lz4: independent blocks of up to 4 MiB, content checksum."""
    text = os.urandom(size // 2) + b"a" * (size - size // 2)
    frame = compress(text, "lz4")
    assert frame[:7].hex() == "04224d186470b9"
    assert lz4.frame.decompress(frame) == bytes(cramjam.lz4.decompress(frame)) == text
    with pytest.raises(EncodeError, match="not a lz4 value"):
        decompress(frame[:-1] + bytes([frame[-1] ^ 1]), "lz4")


@pytest.mark.parametrize("size", [1, 100, 70_000])
def test_snappy_blocks_are_raw_and_any_reader_takes_them(size: int) -> None:
    """No stream identifier, no checksum."""
    text = os.urandom(size // 2) + b"a" * (size - size // 2)
    block = compress(text, "snappy")
    assert bytes(cramjam.snappy.decompress_raw(block)) == decompress(block, "snappy") == text
    with pytest.raises(EncodeError, match="not a snappy value"):
        decompress(b"\xff" * 9, "snappy")


@pytest.mark.parametrize("protocol", SHORTENED)
def test_a_row_that_is_short_enough_once_compressed_stays_whole(protocol: str) -> None:
    made = encoded(protocol, [LONG], large_message_handle_compression="lz4")
    assert b"x" * 3000 in decompress(made.values[0].as_py(), "lz4")


def test_locations_belong_to_their_rows_whatever_the_operations() -> None:
    """Canal-JSON encodes each operation by itself."""
    images = [{"id": str(key), "v": f"{key}" * 2000} for key in (1, 2, 3)]
    changes: list[Change] = [(None, images[0]), (images[1], None), (images[2], images[2]), (None, images[1])]
    made = encoded("canal-json", changes, **CLAIM)
    for value, file in zip(made.values.to_pylist(), made.files, strict=True):
        cut, stored = json.loads(value), json.loads(base64.b64decode(json.loads(file.content)["value"]))
        assert cut["_tidb"]["claimCheckLocation"] == f"file:///large/{file.name}"
        assert (cut["type"], cut["data"][0]["id"]) == (stored["type"], stored["data"][0]["id"])


def test_the_raw_value_alone_is_stored_where_that_is_asked() -> None:
    """`claim-check-raw-value`, which TiCDC has for Canal-JSON only."""
    made = encoded("canal-json", [LONG], claim_check_raw_value=True, **CLAIM)
    assert made.files[0].content == encoded("canal-json", [LONG], max_message_bytes=9999).values[0].as_py()


@pytest.mark.parametrize("how", [HANDLE, CLAIM])
@pytest.mark.parametrize("protocol", SHORTENED)
def test_a_handle_key_that_is_still_too_large_is_ticdcs_error(protocol: str, how: dict[str, object]) -> None:
    """The size is that of the message that was cut down."""
    table = create_table("CREATE TABLE shop.t (id VARCHAR(3000) PRIMARY KEY, v TEXT)")
    given = rows(table, [(None, {"id": "k" * 2000, "v": "x" * 5000})])
    with pytest.raises(EncodeError, match=r"length:2\d{3}, maxMessageBytes:600 \(row id=k{80}…") as caught:
        encoded(protocol, given, **how)
    assert caught.value.code == "CDC:ErrMessageTooLarge"


def test_names_of_files_come_from_seed_and_content_alone() -> None:
    """UUIDs of version 4, equal in equal runs, others with another seed or commit-ts."""

    def names(seed: int, *changes: Change) -> list[str]:
        return [file.name for file in encoded("open-protocol", list(changes), claim_check_seed=seed, **CLAIM).files]

    first = names(0, SHORT, LONG, LONG)
    assert first == names(0, SHORT, LONG, LONG)
    assert len({*first, *names(1, SHORT, LONG, LONG), *names(0, LONG)}) == 5
    assert all(uuid.UUID(name.removesuffix(".json")).version == 4 and name.endswith(".json") for name in first)


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("s3://bucket/prefix/?access-key=a&secret-access-key=b", "s3://bucket/prefix"),
        ("s3://bucket", "s3://bucket"),
        ("gs://bucket/a/", "gcs://bucket/a"),
        ("azblob://c/a", "azure://c/a"),
        ("local:///tmp/a%20b/", "file:///tmp/a b"),
        ("/tmp/x", "file:///tmp/x"),
    ],
)
def test_a_location_names_the_storage_as_tidbs_library_does(uri: str, said: str) -> None:
    assert storage_uri(uri) == said


# Storage


def test_a_file_is_written_whole_and_read_back(tmp_path: Path) -> None:
    uri = f"file://{tmp_path}/new/deep"
    require_claim_checks_writable(uri)
    write_claim_checks(uri, [StoredFile("a.json", b"1"), StoredFile("a.json", b"2"), StoredFile("b.json", b"")])
    assert sorted(path.name for path in (tmp_path / "new/deep").iterdir()) == ["a.json", "b.json"]
    assert read_claim_check(f"{storage_uri(uri)}/a.json") == b"2"
    with pytest.raises(UserError, match=rf"^{re.escape(uri)}/c.json cannot be read: No such file or directory$"):
        read_claim_check(f"{uri}/c.json")


def test_what_fsspec_opens_can_be_a_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    require_claim_checks_writable("memory://bucket/prefix")
    write_claim_checks("memory://bucket/prefix", [StoredFile("a.json", b"1")])
    assert read_claim_check("memory://bucket/prefix/a.json") == b"1"
    monkeypatch.setattr(limits, "STORED_FILE_BYTES", 0)
    with pytest.raises(UserError, match="a.json cannot be read: it has 1 bytes: at most 0 bytes are accepted"):
        read_claim_check("memory://bucket/prefix/a.json")


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("file:///dev/null/x", "file:///dev/null/x cannot be written to: Not a directory"),
        ("nope://x?secret-access-key=s", "nope://x cannot be opened: Protocol not known: nope; accepted: file:///"),
        ("azure://bucket/x?account-key=secret", "azure://bucket/x cannot be opened: Install adlfs to access Azure"),
    ],
)
def test_a_storage_that_does_not_do_is_said_in_one_line_without_its_secrets(uri: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        require_claim_checks_writable(uri)
    assert str(caught.value).startswith(f"claim-check-storage-uri {words}")
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)


def test_a_storage_that_fails_later_is_a_failed_delivery_and_leaves_nothing(tmp_path: Path) -> None:
    """A directory in the file's place stands for a full disk."""
    (tmp_path / "a.json" / "x").mkdir(parents=True)
    with pytest.raises(DeliveryError, match="a.json cannot be written: "):
        write_claim_checks(f"file://{tmp_path}", [StoredFile("a.json", b"1")])
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
