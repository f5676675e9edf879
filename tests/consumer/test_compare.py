"""`compare`: two recorded streams, event by event."""

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


@pytest.fixture(name="stream")
def _stream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Path]:
    """Plays SQL into a fixtures directory."""
    (tmp_path / "story.sql").write_text(STORY)

    def played(name: str, uri: str = OPEN, *options: str, story: str = STORY) -> Path:
        (tmp_path / "story.sql").write_text(story)
        sink_uri = f"kafka://127.0.0.1:9092/shop?{uri}&partition-num=1"
        command = ["run", str(tmp_path / "story.sql"), "--sink-uri", sink_uri, "--fixtures", str(tmp_path / name)]
        assert run([*command, *(options or ("--release", "v8.1.0"))]) == 0, capsys.readouterr().err
        capsys.readouterr()
        return tmp_path / name

    return played


@pytest.fixture(name="compared")
def _compared(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    """The exit code and the document of `compare`."""

    def compared(a: Path, b: Path, *options: str) -> tuple[int, dict[str, Any]]:
        code = run(["compare", str(a), str(b), "--json", *options])
        return code, json.loads(capsys.readouterr().out)

    return compared


def altered(directory: Path, old: bytes, new: bytes) -> None:
    """Replace bytes in the values of the records."""
    for path in directory.rglob("*.jsonl"):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for record in records:
            record["value"] = base64.b64encode(base64.b64decode(record["value"] or "").replace(old, new)).decode()
        path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize("uri", PROTOCOLS)
def test_streams_of_other_times_are_equal(
    uri: str, stream: Callable[..., Path], compared: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    """Unless their commit-ts and the times of building are compared, too."""
    later = ("--release", "v8.1.0", "--start-ts", "450000000000000000")
    a, b = stream("a", uri), stream("b", uri, *later)

    assert compared(a, b) == (
        0,
        {
            "equal": True,
            "messages": compared(a, b)[1]["messages"],
            "same_bytes": 0,
            "differences": [],
            "more": 0,
            "partitions": [],
        },
    )
    assert compared(a, b, "--exact")[0] == 1


def test_equal_bytes_are_not_decoded(
    stream: Callable[..., Path], compared: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    code, document = compared(stream("a"), stream("b"), "--exact")
    assert code == 0
    assert document["same_bytes"] == document["messages"]["a"] == document["messages"]["b"] > 0


def test_a_flipped_flag_bit_is_named_with_its_column(
    stream: Callable[..., Path], compared: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    a, b = stream("a"), stream("b")
    altered(b, b'"price":{"t":246,"f":65,"v":"3', b'"price":{"t":246,"f":73,"v":"3')

    code, document = compared(a, b)
    assert code == 1
    (difference,) = document["differences"]
    assert (difference["table"], difference["what"]) == ("shop.item", "value.u.price.f: 65 → 73")


def test_events_that_one_stream_lacks_do_not_hide_what_follows(
    stream: Callable[..., Path], compared: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    a, b = stream("a", CANAL), stream("b", CANAL, story=STORY.replace("UPDATE item SET price = 3 WHERE id = 1;", ""))

    code, document = compared(a, b)
    assert code == 1
    (difference,) = document["differences"]
    assert (difference["what"], difference["a"]["value"]["type"], difference["b"]) == ("only in A", "UPDATE", None)


def test_the_order_of_tables_inside_a_transaction_is_free(
    stream: Callable[..., Path], compared: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    """That of TiCDC is that of a map."""
    a, b = stream("a", CANAL), stream("b", CANAL)
    path = b / "shop" / "0.jsonl"
    lines = path.read_text().splitlines(True)
    values = [base64.b64decode(json.loads(line)["value"]) for line in lines]
    (stock,) = (place for place, value in enumerate(values) if b'"table":"stock"' in value and b'"INSERT"' in value)
    lines.insert(stock - 2, lines.pop(stock))
    path.write_text("".join(lines))

    assert compared(a, b)[0] == 0
    assert compared(a, b, "--consider", "order")[0] == 1


def test_a_transaction_that_is_split_in_two_is_a_difference(
    stream: Callable[..., Path], compared: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    a = stream("a")
    b = stream("b", story=STORY.replace("BEGIN; ", "").replace(" COMMIT;", ""))

    code, document = compared(a, b)
    assert code == 1
    assert {difference["what"].partition(":")[0] for difference in document["differences"]} == {"commit-ts"}


def test_schemas_of_avro_are_compared_by_content(
    stream: Callable[..., Path], compared: Callable[..., tuple[int, dict[str, Any]]]
) -> None:
    a = stream("a", AVRO)
    b = stream("b", AVRO, story=STORY.replace("DECIMAL(10,2)", "DECIMAL(11,2)"))

    code, document = compared(a, b)
    assert code == 1
    assert {difference["table"] for difference in document["differences"]} == {"default.shop.item"}


def test_people_read_one_line_a_difference(stream: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    a, b = stream("a"), stream("b", OPEN, "--release", "v6.5.0")
    altered(b, b'"pen"', b'"pin"')

    assert run(["compare", str(a), str(b), "--limit", "1"]) == 1
    assert capsys.readouterr().out.splitlines()[0].endswith(' shop.item value.u.name.v: "pen" → "pin"')
    assert run(["compare", str(a), str(a)]) == 0
    assert capsys.readouterr().out.startswith("equal: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", "nowhere"), "no such directory: nowhere"),
        (("a", "a", "--consider", "time"), "'time' is not one of"),
        (("a", "b", "--protocol", "canal-json", "--exact"), "is no message of canal-json"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...],
    message: str,
    stream: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(stream("a").parent)
    stream("b", OPEN, "--release", "v6.5.0", story=STORY.replace("pen", "pin"))

    assert run(["compare", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture(name="stored")
def _stored(tmp_path: Path) -> Callable[..., Path]:
    """Plays SQL into a storage."""

    def stored(name: str, parameters: str, story: str = STORY, start_ts: str = "2025-01-01T00:00:00Z") -> Path:
        (tmp_path / "story.sql").write_text(story)
        uri = f"{(tmp_path / name).as_uri()}?{parameters}"
        command = ["run", str(tmp_path / "story.sql"), "--sink-uri", uri, "--release", "v8.1.0", "--start-ts", start_ts]
        assert run([*command, "--summary", str(tmp_path / "summary.json")]) == 0
        return tmp_path / name

    return stored


@pytest.mark.parametrize("parameters", ["protocol=csv", CANAL])
def test_files_on_storage_of_two_runs_are_equal_whatever_their_time(
    stored: Callable[..., Path],
    compared: Callable[..., tuple[int, dict[str, Any]]],
    parameters: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, other = stored("a", parameters), stored("b", parameters, start_ts="2026-03-01T00:00:00Z")
    capsys.readouterr()

    code, document = compared(one, other)

    assert (code, document["equal"], document["messages"]) == (0, True, {"a": 8, "b": 8})
    assert compared(one, other, "--exact")[0] == 1
    assert compared(one, one, "--exact")[1]["same_bytes"] == 9


def test_a_row_that_differs_on_storage_is_shown_with_its_table(
    stored: Callable[..., Path], compared: Callable[..., tuple[int, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = stored("a", CANAL), stored("b", CANAL, STORY.replace("price = 3", "price = 4"))
    capsys.readouterr()

    code, document = compared(one, other)

    assert code == 1
    assert [(each["table"], each["what"]) for each in document["differences"]] == [
        ("shop.item", 'value.data[0].price: "3.00" → "4.00"')
    ]


def test_files_on_storage_are_not_compared_with_messages(
    stream: Callable[..., Path], stored: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", str(stored("a", "protocol=csv")), str(stream("b"))]) == 2
    assert "files of a storage sink, and the other stream" in capsys.readouterr().err
