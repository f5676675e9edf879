"""Claim-check of 7.3.0: files that are called by day and row, and the messages that name them (tiflow v7.3.0:
pkg/sink/codec/common/message.go, cdc/sink/dmlsink/mq/claim_check.go)."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import cramjam
import pytest
from support.codec_rows import SHORTENED, Change, rows
from support.playing import assert_contract, output_of, play

from simulator.errors import ChangefeedError, DeliveryError, UserError
from simulator.reader.records import read_records
from simulator.releases import find
from simulator.sinks.external_storage import read_claim_check, write_claim_checks
from simulator.ticdc.changefeed import load
from simulator.ticdc.codecs import CODECS, CodecOptions, EncodedRows, StoredFile
from simulator.tidb.ddl.table_definitions import create_table

RELEASE = find("v7.3.0")
OF_RELEASE = [name for name in SHORTENED if CODECS[name].protocol.exists(RELEASE)]
TABLE = create_table("CREATE TABLE shop.t (v LONGTEXT, id INT, day DATE, PRIMARY KEY (day, id))")
ROW = {"v": "x" * 3000, "id": "7", "day": "2020-02-20"}
COMMIT_TS = 1 << 40
"""That of the first row in `codec_rows.rows`: 1970-01-01 01:09:54 UTC."""

NAME = f"1970-01-01/shop-t-{COMMIT_TS}-{COMMIT_TS - 1}-7-2020-02-20.json"
LARGE = "[sink.kafka-config.large-message-handle]\nlarge-message-handle-option = 'claim-check'\n"


def encoded(protocol: str, changes: list[Change], table: Any = TABLE, **more: object) -> EncodedRows:
    options = CodecOptions(
        protocol,
        enable_tidb_extension=protocol == "canal-json",
        max_message_bytes=1200,
        large_message_handle_option="claim-check",
        claim_check_storage_uri="file:///large/",
    )
    return CODECS[protocol].encode(rows(table, changes), replace(options, **more), RELEASE)  # type: ignore[arg-type]


def location(made: EncodedRows) -> str:
    """Where the message says its file is."""
    found = json.loads(made.values[0].as_py()).get("_tidb") if made.keys is None else json.loads(made.keys[0].as_py())
    return str(found["claimCheckLocation"] if made.keys is None else found["ccl"])


@pytest.mark.parametrize("protocol", OF_RELEASE)
def test_a_file_is_called_by_day_table_times_and_key(protocol: str) -> None:
    """The key's columns as the table has them; the message names the file without the storage, and has no ohk."""
    made = encoded(protocol, [(None, ROW)])
    (file,) = made.files
    assert (file.name, location(made)) == (NAME, NAME)
    assert made.keys is None or b"ohk" not in made.keys[0].as_py()
    assert b"xxx" not in made.values[0].as_py()
    whole = encoded(protocol, [(None, ROW)], max_message_bytes=1 << 20)
    assert base64.b64decode(json.loads(file.content)["value"])[-20:] == whole.values[0].as_py()[-20:]


def test_the_new_values_name_the_file_and_those_of_a_delete_the_old() -> None:
    names = [file.name for file in encoded("open-protocol", [(ROW, None), (ROW, {**ROW, "id": "8"})]).files]
    assert ["-".join(name.split("-")[-4:]) for name in names] == ["7-2020-02-20.json", "8-2020-02-20.json"]


@pytest.mark.parametrize(
    ("key", "name"),
    [(b"\xffk", f"S/x-t t-{COMMIT_TS}-{COMMIT_TS - 1}-2-1000000000000000000000-\udcffk"), (b"k/..//z", "S/z")],
)
def test_values_are_spelled_as_dispatchers_hash_them(key: bytes, name: str) -> None:
    """ENUM by its number, floats without an exponent, bytes as they are, which a message says as U+FFFD; and the whole
    is cleaned as a path."""
    columns = "e ENUM('a','b'), f DOUBLE, b VARBINARY(9), v TEXT, PRIMARY KEY (e, f, b)"
    table = create_table(f"CREATE TABLE `S/x`.`t t` ({columns})")
    changes = rows(table, [(None, {"e": "b", "f": "1e21", "b": key, "v": "x" * 3000})], frozenset("b"))
    options = CodecOptions("open-protocol", max_message_bytes=1200, large_message_handle_option="claim-check")
    made = CODECS["open-protocol"].encode(changes, options, RELEASE)
    assert made.files[0].name == f"1970-01-01/{name}.json"
    assert location(made) == f"1970-01-01/{name}.json".replace("\udcff", "\ufffd")


@pytest.mark.parametrize("protocol", OF_RELEASE)
def test_a_name_above_1024_bytes_is_a_uuid_and_canal_json_makes_another_for_the_message(protocol: str) -> None:
    """So that a consumer of Canal-JSON finds no file: a mistake of that release."""
    table = create_table("CREATE TABLE shop.t (id VARCHAR(2000) PRIMARY KEY, v LONGTEXT)")

    def of(length: int) -> EncodedRows:
        return encoded(protocol, [(None, {"id": "i" * length, "v": "x" * 9000})], table, max_message_bytes=8000)

    others = len(f"1970-01-01/shop-t-{COMMIT_TS}-{COMMIT_TS - 1}-.json")
    longest, too_long, again = of(1024 - others), of(1025 - others), of(1025 - others)
    assert len(longest.files[0].name) == 1024 and location(longest) == longest.files[0].name
    said, name = location(too_long), too_long.files[0].name
    assert re.fullmatch(r"1970-01-01/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json", name)
    assert re.fullmatch(r"1970-01-01/[0-9a-f-]{36}\.json", said)
    assert (said == name) is (protocol == "open-protocol")
    assert (location(again), again.files) == (said, too_long.files)


@pytest.mark.parametrize("protocol", OF_RELEASE)
def test_files_may_be_compressed_whole_and_messages_are_not(protocol: str) -> None:
    plain = encoded(protocol, [(None, ROW)])
    for compression, opened in (("lz4", cramjam.lz4.decompress), ("snappy", cramjam.snappy.decompress_raw)):
        made = encoded(protocol, [(None, ROW)], claim_check_compression=compression)
        assert bytes(opened(made.files[0].content)) == plain.files[0].content
        assert made.values == plain.values
    assert encoded(protocol, [(None, ROW)], claim_check_compression="LZ4").files == plain.files


def test_a_name_that_leads_out_of_the_storage_is_not_written(tmp_path: Path) -> None:
    """TiCDC would write it: a key may hold `/../`."""
    inner = tmp_path / "store"
    with pytest.raises(DeliveryError, match="its name leads out of the storage"):
        write_claim_checks(f"file://{inner}", [StoredFile("../outside.json", b"1")])
    assert not list(tmp_path.rglob("*.json"))
    write_claim_checks(f"file://{inner}", [StoredFile("2020-02-20/a/b.json", b"1")])
    assert [path.read_bytes() for path in inner.rglob("*.json")] == [b"1"]
    assert read_claim_check("2020-02-20/a/b.json", f"file://{inner}?x=y") == b"1"
    with pytest.raises(UserError, match="b.json cannot be read: it is the name of a file in a storage"):
        read_claim_check("b.json")


def test_a_compression_that_7_3_does_not_know_is_refused_or_has_no_effect() -> None:
    """Also `none`, which is what leaving it out means (tiflow v7.3.0 pkg/config/sink.go Validate)."""
    uri, store = "kafka://h:1/t?protocol=open-protocol", "claim-check-storage-uri = 'file:///c'\n"
    for unknown in ("none", "gzip"):
        with pytest.raises(ChangefeedError) as caught:
            load(uri, f"{LARGE}{store}claim-check-compression = '{unknown}'", RELEASE)
        text = f"claim-check compression support snappy, lz4, got {unknown}"
        assert (caught.value.code, caught.value.text) == ("CDC:ErrInvalidReplicaConfig", text)
    upper = load(uri, f"{LARGE}{store}claim-check-compression = 'LZ4'", RELEASE)
    assert upper.warnings == ("claim-check-compression 'LZ4' has no effect: TiCDC v7.3.0 wants it in lower case",)
    other = load(uri, LARGE.replace("claim-check", "handle-key-only") + "claim-check-compression = 'lz4'", RELEASE)
    assert other.warnings == ("claim-check-compression has no effect with large-message-handle-option handle-key-only",)
    taken = load(uri, f"{LARGE}{store}claim-check-compression = 'lz4'", RELEASE)
    assert (taken.warnings, taken.codec.claim_check_compression) == ((), "lz4")


def test_explain_row_shows_message_and_file(tmp_path: Path) -> None:
    (tmp_path / "page.sql").write_text("CREATE TABLE page (id int PRIMARY KEY, text varchar(200));")
    (tmp_path / "large.toml").write_text(f"{LARGE}claim-check-storage-uri = 'file:///tmp/claims'\n")
    row = json.dumps({"after": {"id": 7, "text": "a" * 200}, "commit_ts": 455000614502400001})
    files = ("--schema", tmp_path / "page.sql", "--config", tmp_path / "large.toml")
    uri = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&max-message-bytes=300"
    said = output_of("explain", "row", "--use", "shop", "--release", "v7.3.0", *files, "--sink-uri", uri, row)
    name = "2025-01-01/shop-page-455000614502400001-455000614502400000-7.json"
    assert f"at file:///tmp/claims/{name}" in said and f'"ccl":"{name}"' in said


@pytest.mark.slow
def test_a_run_stores_files_that_make_its_rows_whole(tmp_path: Path) -> None:
    """And the contract holds, with each file read at its name below the storage."""
    found = tmp_path / "before", tmp_path / "after"
    for number, folder in enumerate(found):
        folder.mkdir()
        (folder / "shop.t-schema.sql").write_text("CREATE TABLE `t` (`id` int PRIMARY KEY, `v` longtext);\n")
        texts = (f"{row},{str(row * 7 + number) * 400}\n" for row in range(number * 5, 12 + number * 5))
        (folder / "shop.t.csv").write_text("".join(texts))
    toml = f"{LARGE}claim-check-storage-uri = 'file://{tmp_path}/store'\nclaim-check-compression = 'snappy'\n"
    (tmp_path / "changefeed.toml").write_text(toml)
    uri = "kafka://127.0.0.1:1/shop?protocol=canal-json&enable-tidb-extension=true&max-message-bytes=700"
    options = ("--config", tmp_path / "changefeed.toml", "--release", "v7.3.0", "--fixtures", tmp_path / "out")
    assert play("diff", *found, "--sink-uri", f"{uri}&partition-num=2", *options) == 0
    names = [str(path.relative_to(tmp_path / "store")) for path in (tmp_path / "store").rglob("*.json")]
    assert all(re.fullmatch(r"2025-01-01/shop-t-\d+-\d+-\d+\.json", name) for name in names) and len(names) > 10
    feed = load(f"{uri}&partition-num=2", toml, RELEASE)
    assert_contract(read_records(str(tmp_path / "out")), feed, {"shop": 2}, *found)
