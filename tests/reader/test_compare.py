"""`compare`: two recorded streams, of messages or of files on storage, event by event."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.cli import run

STORY = """
CREATE DATABASE shop; USE shop;
CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10,2));
CREATE TABLE stock (id INT PRIMARY KEY, item INT);
BEGIN; INSERT INTO item VALUES (1, 'pen', 2.50), (2, 'cup', NULL); INSERT INTO stock VALUES (1, 1); COMMIT;
UPDATE item SET price = 3 WHERE id = 1;
DELETE FROM item WHERE id = 2;
"""
OPEN, CANAL = "protocol=open-protocol", "protocol=canal-json&enable-tidb-extension=true"
AVRO = "protocol=avro&enable-tidb-extension=true&schema-registry=http://127.0.0.1:8081"
PROTOCOLS = [OPEN, CANAL, "protocol=debezium", "protocol=simple", "protocol=simple&encoding-format=avro", AVRO]
LATER = ("--start-ts", "450000000000000000")

Played = Callable[..., Path]
Compared = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Played:
    """Plays SQL into fixtures, or into a storage."""

    def played(
        name: str, uri: str = OPEN, *options: str, story: str = STORY, release: str = "v8.1.0", stored: bool = False
    ) -> Path:
        (tmp_path / "story.sql").write_text(story)
        files = ("--summary", str(tmp_path / "summary.json")) if stored else ("--fixtures", str(tmp_path / name))
        to = (tmp_path / name).as_uri() if stored else "kafka://127.0.0.1:9092/shop"
        sink_uri = f"{to}?{uri}" if stored else f"{to}?{uri}&partition-num=1"
        where = ("--sink-uri", sink_uri, "--release", release, *files)
        assert run(["run", str(tmp_path / "story.sql"), *where, *options]) == 0, capsys.readouterr().err
        capsys.readouterr()
        return tmp_path / name

    return played


@pytest.fixture
def compared(capsys: pytest.CaptureFixture[str]) -> Compared:
    """The exit code and the document of `compare`."""

    def compared(a: Path, b: Path, *options: str) -> tuple[int, dict[str, Any]]:
        code = run(["compare", str(a), str(b), "--json", *options])
        return code, json.loads(capsys.readouterr().out)

    return compared


def replace_bytes(directory: Path, old: bytes, new: bytes) -> None:
    """Replace bytes in the values of the records."""
    for path in directory.rglob("*.jsonl"):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for record in records:
            record["value"] = base64.b64encode(base64.b64decode(record["value"] or "").replace(old, new)).decode()
        path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.slow
@pytest.mark.parametrize("uri", PROTOCOLS)
def test_streams_of_other_times_are_equal(uri: str, played: Played, compared: Compared) -> None:
    """Unless their commit-ts and the times of building are compared, too."""
    a, b = played("a", uri), played("b", uri, *LATER)
    code, document = compared(a, b)
    assert document.pop("messages")
    assert (code, document) == (0, {"equal": True, "same_bytes": 0, "differences": [], "more": 0, "partitions": []})
    assert compared(a, b, "--exact")[0] == 1


def test_equal_bytes_are_not_decoded(played: Played, compared: Compared) -> None:
    code, document = compared(played("a"), played("b"), "--exact")
    assert code == 0
    assert document["same_bytes"] == document["messages"]["a"] == document["messages"]["b"] > 0


def test_a_flipped_flag_bit_is_named_with_its_column(played: Played, compared: Compared) -> None:
    a, b = played("a"), played("b")
    replace_bytes(b, b'"price":{"t":246,"f":65,"v":"3', b'"price":{"t":246,"f":73,"v":"3')
    code, document = compared(a, b)
    (difference,) = document["differences"]
    assert (code, difference["table"], difference["what"]) == (1, "shop.item", "value.u.price.f: 65 → 73")


def test_events_that_one_stream_lacks_do_not_hide_what_follows(played: Played, compared: Compared) -> None:
    a, b = played("a", CANAL), played("b", CANAL, story=STORY.replace("UPDATE item SET price = 3 WHERE id = 1;", ""))
    code, document = compared(a, b)
    (difference,) = document["differences"]
    assert (code, difference["what"], difference["b"]) == (1, "only in A", None)
    assert difference["a"]["value"]["type"] == "UPDATE"


def test_the_order_of_tables_inside_a_transaction_is_free(played: Played, compared: Compared) -> None:
    """That of TiCDC is that of a map."""
    a, b = played("a", CANAL), played("b", CANAL)
    path = b / "shop" / "0.jsonl"
    lines = path.read_text().splitlines(True)
    values = [base64.b64decode(json.loads(line)["value"]) for line in lines]
    (stock,) = (place for place, value in enumerate(values) if b'"table":"stock"' in value and b'"INSERT"' in value)
    lines.insert(stock - 2, lines.pop(stock))
    path.write_text("".join(lines))
    assert compared(a, b)[0] == 0
    assert compared(a, b, "--consider", "order")[0] == 1


@pytest.mark.parametrize(
    ("uri", "old", "new", "named", "found"),
    [
        (OPEN, "BEGIN;", "", "what", {"commit-ts"}),
        (AVRO, "DECIMAL(10,2)", "DECIMAL(11,2)", "table", {"default.shop.item"}),
    ],
)
def test_split_transactions_and_schemas_of_a_registry_differ(
    uri: str, old: str, new: str, named: str, found: set[str], played: Played, compared: Compared
) -> None:
    """Schemas by their content."""
    b = played("b", uri, story=STORY.replace(old, new).replace(" COMMIT;", "" if uri == OPEN else " COMMIT;"))
    code, document = compared(played("a", uri), b)
    assert code == 1
    assert {difference[named].partition(":")[0] for difference in document["differences"]} == found


def test_people_read_one_line_a_difference(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = played("a"), played("b", release="v6.5.0")
    replace_bytes(b, b'"pen"', b'"pin"')
    assert run(["compare", str(a), str(b), "--limit", "1"]) == 1
    assert capsys.readouterr().out.splitlines()[0].endswith(' shop.item value.u.name.v: "pen" → "pin"')
    assert run(["compare", str(a), str(a)]) == 0
    assert capsys.readouterr().out.startswith("equal: ")


@pytest.mark.slow
def test_a_mistake_is_one_line(
    played: Played, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(played("a").parent)
    played("b", release="v6.5.0", story=STORY.replace("pen", "pin"))
    played("stored", "protocol=csv", stored=True)
    for arguments, message in {
        ("a", "nowhere"): "no such directory: nowhere",
        ("a", "a", "--consider", "time"): "'time' is not one of",
        ("a", "b", "--protocol", "canal-json", "--exact"): "is no message of canal-json",
        ("stored", "b"): "files of a storage sink, and the other stream",
    }.items():
        assert run(["compare", *arguments]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("parameters", ["protocol=csv", CANAL])
def test_files_of_two_runs_are_equal_whatever_their_time(parameters: str, played: Played, compared: Compared) -> None:
    one = played("a", parameters, "--start-ts", "2025-01-01T00:00:00Z", stored=True)
    other = played("b", parameters, "--start-ts", "2026-03-01T00:00:00Z", stored=True)
    code, document = compared(one, other)
    assert (code, document["equal"], document["messages"]) == (0, True, {"a": 8, "b": 8})
    assert compared(one, other, "--exact")[0] == 1
    assert compared(one, one, "--exact")[1]["same_bytes"] == 9


def test_a_row_that_differs_on_storage_is_shown_with_its_table(played: Played, compared: Compared) -> None:
    one = played("a", CANAL, stored=True)
    other = played("b", CANAL, story=STORY.replace("price = 3", "price = 4"), stored=True)
    code, document = compared(one, other)
    found = [(each["table"], each["what"]) for each in document["differences"]]
    assert (code, found) == (1, [("shop.item", 'value.data[0].price: "3.00" → "4.00"')])
