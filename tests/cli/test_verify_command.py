"""`ticdc-sim verify` as users call it: what is right, what is wrong, which faults TiCDC itself shows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.playing import play, said

CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=3"

STORY = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE a (id INT PRIMARY KEY, name VARCHAR(20), n INT);
CREATE TABLE b (id INT PRIMARY KEY, name VARCHAR(20), n INT);
INSERT INTO a VALUES (1, 'x', 1), (2, 'y', 2), (3, 'z', 3);
INSERT INTO b VALUES (1, 'x', 1), (2, 'y', 2), (3, 'z', 3);
UPDATE a SET n = n + 1 WHERE id = 1;
UPDATE b SET n = n + 1 WHERE id < 3;
DELETE FROM a WHERE id = 2;
INSERT INTO b VALUES (9, 'n', 1);
UPDATE b SET n = n + 100 WHERE id = 1;
ALTER TABLE b ADD COLUMN m INT DEFAULT 5;
INSERT INTO b VALUES (10, 'n', 1, 1);
UPDATE a SET n = n + 10 WHERE id = 3;
UPDATE b SET n = n + 7;
DELETE FROM b WHERE id = 3;
"""
TRUTH = ("--truth", "truth")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the stream of a story and its truth."""
    home = tmp_path_factory.mktemp("story")
    (home / "story.sql").write_text(STORY)
    made = ("--over", "10s", "--resolved-interval", "1s", "--fixtures", home / "stream", "--truth", home / "truth")
    assert play("run", home / "story.sql", "--sink-uri", CANAL, *made) == 0
    return home


@pytest.fixture
def copied(played: Path, here: Path) -> None:
    """They are in the working directory, and with them what a consumer wrote, `mine`."""
    for name in ("stream", "truth"):
        shutil.copytree(played / name, name)
    shutil.copytree("truth", "mine")


def verified(*arguments: object) -> dict[str, Any]:
    """The document of a verification, with its exit code as `code`."""
    code, out, err = said("verify", *arguments, "--json")
    assert code in (0, 1, 4), err
    found: dict[str, Any] = json.loads(out)
    return found | {"code": code}


def refusal(*arguments: object) -> str:
    """The line with which a verification is refused."""
    code, _, err = said("verify", *arguments)
    (line,) = (line for line in err if line.startswith("ticdc-sim: "))
    assert code == 2
    return line.removeprefix("ticdc-sim: ")


def checks(found: dict[str, Any]) -> dict[str, int]:
    return {failure["check"]: failure["count"] for failure in found["failures"]}


def rewrite(lines: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of every partition of the stream."""
    for shard in Path("stream").glob("*/*.jsonl"):
        shard.write_text("".join(lines(shard.read_text("utf-8").splitlines(True))), "utf-8")


@pytest.mark.slow
def test_a_stream_is_right_that_keeps_the_contract_and_leads_to_the_truth(copied: None) -> None:
    """Nothing has to be told but where the truth is, and nothing is left unchecked."""
    found = verified("stream", *TRUTH)

    assert (found["code"], found["verdict"], checks(found), found["not_checked"]) == (0, "right", {}, [])
    assert found["compared"] == [
        {"table": "shop.a", "expected": 2, "found": 2, "missing": 0, "left": 0, "different": 0, "of": None},
        {"table": "shop.b", "expected": 4, "found": 4, "missing": 0, "left": 0, "different": 0, "of": None},
    ]
    assert found["tables"]["shop.a"] == {"DELETE": 1, "INSERT": 3, "UPDATE": 2}
    assert {setting["told_by"] for setting in found["settings"].values()} == {"the truth", "the default"}


def test_without_a_truth_the_stream_tells_its_protocol_and_the_rest_is_said_to_be_open(copied: None) -> None:
    found = verified("stream")

    assert (found["code"], found["expected"], found["compared"]) == (0, None, [])
    assert found["settings"]["protocol"] == {"value": "canal-json", "told_by": "the stream"}
    assert [each["what"] for each in found["not_checked"]] == [
        "the sizes of messages",
        "what releases do differently",
        "the partition of 20 rows of shop.b, shop.a",
    ]


def test_what_a_consumer_wrote_down_is_held_against_the_truth(copied: None) -> None:
    rows = next(Path("mine").glob("shop.b.*csv"))
    lines = rows.read_text("utf-8").splitlines()
    rows.write_text("\n".join([lines[0], *(f"{line}9" for line in lines[1:2]), *lines[3:]]) + "\n", "utf-8")

    assert verified(*TRUTH, "--against", "truth")["verdict"] == "right"
    found = verified(*TRUTH, "--against", "mine")
    assert (found["code"], checks(found)) == (1, {"row-missing": 1, "row-different": 1})
    assert found["source"] is None
    assert {failure["of"] for failure in found["failures"]} == {"mine"}


def test_rows_of_another_watermark_are_not_compared(copied: None) -> None:
    metadata, ts = Path("mine/metadata"), json.loads(Path("truth/truth.json").read_text("utf-8"))["watermark"]
    metadata.write_text(metadata.read_text("utf-8").replace(str(ts), str(ts - (1 << 18))), "utf-8")

    assert f"mine says that it is of {ts - (1 << 18)} " in refusal(*TRUTH, "--against", "mine")


@pytest.mark.parametrize(
    ("member", "value", "why"),
    [
        ("watermark", "x", 'truth.json: watermark is "x", which a run does not write'),
        ("topics", {"shop": None}, 'truth.json: topics is {"shop": null}, which a run does not write'),
        ("empty", [1], "truth.json: empty is [1], which a run does not write"),
        ("release", "v99", "truth.json: unknown TiCDC release 'v99'"),
        ("topics", {"other": 3}, "truth is the truth of another run: that one wrote to other"),
    ],
)
def test_a_truth_with_nonsense_or_of_another_run_is_refused(copied: None, member: str, value: object, why: str) -> None:
    file = Path("truth/truth.json")
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), member: value}), "utf-8")
    assert why in refusal("stream", *TRUTH)


def _cut(file: Path) -> None:
    file.write_text("".join(file.read_text("utf-8").splitlines(True)[:-1]), "utf-8")


def _lose_table(schema: Path) -> None:
    for file in schema.parent.glob(schema.name.replace("-schema.sql", "*")):
        file.unlink()


@pytest.mark.parametrize(
    ("damaged", "name", "why"),
    [
        (Path.unlink, "shop.b.csv", "it has no file with the 4 rows of shop.b"),
        (_lose_table, "shop.b-schema.sql", "it has no definition of shop.b"),
        (_cut, "shop.b.csv", "shop.b has 3 rows, and had 4 when it was written"),
    ],
)
def test_a_truth_that_lost_rows_is_refused(copied: None, damaged: Callable[[Path], None], name: str, why: str) -> None:
    """It would say that a right stream, or a right consumer, is wrong, and the other way round."""
    damaged(Path("truth", name))
    for given in (("stream", *TRUTH), (*TRUTH, "--against", "mine")):
        words = f"the truth in truth is not as it was written: {why}; let the run write"
        assert refusal(*given).startswith(words)


def test_a_stream_that_ends_before_its_truth_is_not_finished(copied: None) -> None:
    """It says up to where it is complete; where nothing is wrong so far, that is no failure of a check."""
    rewrite(lambda lines: lines[:-1])
    found = verified("stream", *TRUTH)

    assert (found["code"], found["verdict"]) == (1, "unfinished")
    assert found["watermark"] < found["wanted_watermark"]


def test_messages_of_others_are_counted_and_named(copied: None) -> None:
    shard = Path("stream/shop/1.jsonl")
    last = json.loads(shard.read_text("utf-8").splitlines()[-1])
    foreign = {"offset": last["offset"] + 1, "timestamp": last["timestamp"], "key": None, "value": "aGVsbG8="}
    with shard.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(foreign) + "\n")
    found = verified("stream", *TRUTH)

    assert checks(found) == {"foreign": 1}
    assert found["failures"][0]["examples"][0]["offset"] == foreign["offset"]
    assert found["partitions"][1]["unreadable"] == 1


def test_a_stream_that_begins_in_the_middle_is_said_to(copied: None) -> None:
    """What was before its first record is not held against it. A truth says what its rows are to be, and not whether
    they were there."""
    rewrite(lambda lines: lines[6:])
    found = verified("stream")
    assert checks(found) == {}
    assert any("begins in the middle, at offset 6" in note for note in found["notes"])

    found = verified("stream", *TRUTH)
    open_ones = {each["what"]: each["why"] for each in found["not_checked"]}
    assert found["compared"][0]["found"] is None
    assert any(what.startswith("rows of shop.a that no row change here is about") for what in open_ones)
    assert "nobody says with which rows the stream begins: --before DIR tells" in open_ones.values()


def test_a_kafka_that_is_not_there_is_one_line() -> None:
    code, _, err = said("verify", "kafka://127.0.0.1:9/shop?dial-timeout=1s")
    assert code == 3 and ["127.0.0.1:9" in line for line in err] == [True]


# Faults that TiCDC shows

FAULTY = """
sink-uri = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=2&max-message-bytes=3000"
config = "changefeed.toml"
[[step]]
sql = '''
CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, stock INT, name VARCHAR(4000));
CREATE TABLE shop.price (id INT PRIMARY KEY, cents INT);
INSERT INTO shop.item VALUES (1, 5, 'a'), (2, 6, 'b'); INSERT INTO shop.price VALUES (1, 150), (2, 175)'''
[[step]]
fault = "FAULT"
[[step]]
sql = '''
INSERT INTO shop.item VALUES (3, 7, 'x'), (4, 8, 'y'); UPDATE shop.item SET stock = stock + 1;
BEGIN; UPDATE shop.price SET cents = cents + 1; DELETE FROM shop.item WHERE id = 1; COMMIT'''
[[step]]
wait = "3s"
"""
CHANGEFEED = """
[sink]
dispatchers = [{matcher = ["*.*"], partition = "index-value"}]
[sink.kafka-config.large-message-handle]
large-message-handle-option = "handle-key-only"
"""
LEGAL = {
    "batch": "events = 2",
    "large-message": "",
    "message-size": 'table = "shop.item"\ncolumn = "name"',
    "add-partitions": "partitions = 4",
}
"""Faults with their settings. tests/faults verifies all others."""


@pytest.mark.slow
@pytest.mark.parametrize("name", LEGAL)
def test_what_ticdc_shows_is_right_or_unproved(name: str, here: Path) -> None:
    Path("changefeed.toml").write_text(CHANGEFEED)
    Path("story.toml").write_text(FAULTY.replace('FAULT"', f'{name}"\n{LEGAL[name]}'))
    assert play("run", "story.toml", "--fixtures", "out", *TRUTH) == 0
    found = verified("out", *TRUTH)

    cut = any(each["what"].startswith("values of") for each in found["not_checked"])  # rows with the handle key alone
    assert (found["code"], found["verdict"], checks(found)) == ((4, "unproved") if cut else (0, "right")) + ({},)
