"""`ticdc-sim verify` as users call it: what is right, what is wrong, and what it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.playing import play

from simulator.faults import FAULTS

CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
OPEN = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=3"

STORY = '''
sink-uri = "{uri}"
resolved-interval = "1s"

[[step]]
sql = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE a (id INT PRIMARY KEY, name VARCHAR(20), n INT);
CREATE TABLE b (id INT PRIMARY KEY, name VARCHAR(20), n INT);
INSERT INTO a VALUES (1, 'x', 1), (2, 'y', 2), (3, 'z', 3);
INSERT INTO b VALUES (1, 'x', 1), (2, 'y', 2), (3, 'z', 3);
"""

[[step]]
over = "5s"
sql = """
USE shop;
UPDATE a SET n = n + 1 WHERE id = 1;
UPDATE b SET n = n + 1 WHERE id < 3;
DELETE FROM a WHERE id = 2;
INSERT INTO b VALUES (9, 'n', 1);
"""
{fault}
[[step]]
over = "5s"
sql = """
USE shop;
UPDATE b SET n = n + 100 WHERE id = 1;
ALTER TABLE b ADD COLUMN m INT DEFAULT 5;
INSERT INTO b VALUES (10, 'n', 1, 1);
UPDATE a SET n = n + 10 WHERE id = 3;
UPDATE b SET n = n + 7;
DELETE FROM b WHERE id = 3;
"""
'''

Played = Callable[..., tuple[Path, Path]]
Verified = Callable[..., dict[str, Any]]


@pytest.fixture
def played(tmp_path: Path) -> Played:
    """A story's stream and its truth."""

    def run(uri: str = CANAL, fault: str = "", name: str = "shop", *options: str) -> tuple[Path, Path]:
        story, stream, truth = (tmp_path / f"{name}{suffix}" for suffix in (".toml", "-stream", "-truth"))
        story.write_text(STORY.format(uri=uri, fault=fault and f'[[step]]\nfault = "{fault}"\n'), "utf-8")
        assert play("run", story, "--fixtures", stream, "--truth", truth, *options) == 0
        return stream, truth

    return run


@pytest.fixture
def verified(capsys: pytest.CaptureFixture[str]) -> Verified:
    """The document of a verification, with its exit code as `code`."""

    def run(*arguments: object) -> dict[str, Any]:
        capsys.readouterr()
        code = play("verify", *arguments, "--json")
        out, err = capsys.readouterr()
        assert code in (0, 1, 4), err
        found: dict[str, Any] = json.loads(out)
        return found | {"code": code}

    return run


def checks(found: dict[str, Any]) -> dict[str, int]:
    return {failure["check"]: failure["count"] for failure in found["failures"]}


@pytest.mark.parametrize("uri", [CANAL, OPEN])
def test_a_stream_is_right_that_keeps_the_contract_and_leads_to_the_truth(
    uri: str, played: Played, verified: Verified
) -> None:
    """Nothing has to be told but where the truth is, and nothing is left unchecked."""
    stream, truth = played(uri)
    found = verified(stream, "--truth", truth)

    assert (found["code"], found["verdict"], checks(found), found["not_checked"]) == (0, "right", {}, [])
    assert found["compared"] == [
        {"table": "shop.a", "expected": 2, "found": 2, "missing": 0, "left": 0, "different": 0, "of": None},
        {"table": "shop.b", "expected": 4, "found": 4, "missing": 0, "left": 0, "different": 0, "of": None},
    ]
    assert found["tables"]["shop.a"] == {"DELETE": 1, "INSERT": 3, "UPDATE": 2}
    assert {setting["told_by"] for setting in found["settings"].values()} == {"the truth", "the default"}


CAUGHT = {
    "lose-row": {"row-different", "old-image", "row-missing", "row-left", "row-not-there"},
    "row-below-watermark": {"row-below-watermark"},
    "watermark-falls": {"watermark-falls"},
    "wrong-partition": {"wrong-partition"},
    "corrupt-json": {"unreadable"},
    "truncated-batch": {"unreadable"},
    "unknown-type": {"unreadable"},
}
"""For each fault, the checks; at least one must fail. `old-row-after-new` needs two changes of a row close together,
`lose-bootstrap` Simple (tests/faults/test_lost_bootstraps.py), `unknown-schema` Avro, which `verify` does not read, and
`truncated-file` and `truncated-row` a storage (tests/consumer/test_storage_verified.py,
tests/faults/test_stored_files.py)."""


def test_what_no_ticdc_shows_is_known_here() -> None:
    """A new fault needs a check that catches it."""
    elsewhere = {"old-row-after-new", "lose-bootstrap", "unknown-schema", "truncated-file", "truncated-row"}
    assert CAUGHT.keys() | elsewhere == {name for name, kind in FAULTS.items() if not kind.legal}


@pytest.mark.slow
@pytest.mark.parametrize("fault", CAUGHT)
def test_what_no_ticdc_shows_is_caught_by_name(fault: str, played: Played, verified: Verified) -> None:
    """With exit code 1."""
    found = verified(*_stream(played(OPEN, fault)))

    assert (found["code"], found["verdict"]) == (1, "wrong")
    assert CAUGHT[fault] & checks(found).keys()


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["restart", "repeat-watermark", 'move-table"\ntable = "shop.b'])
def test_what_ticdc_may_do_is_right(fault: str, played: Played, verified: Verified) -> None:
    """However odd it looks."""
    assert checks(verified(*_stream(played(OPEN, fault)))) == {}


def _stream(played: tuple[Path, Path]) -> tuple[object, ...]:
    return played[0], "--truth", played[1]


def test_without_a_truth_the_stream_tells_its_protocol_and_the_rest_is_said_to_be_open(
    played: Played, verified: Verified
) -> None:
    """A topic of a real TiCDC has no description of its changefeed either."""
    stream, _ = played()
    found = verified(stream)

    assert (found["code"], found["expected"], found["compared"]) == (0, None, [])
    assert found["settings"]["protocol"] == {"value": "canal-json", "told_by": "the stream"}
    assert [each["what"] for each in found["not_checked"]] == [
        "the sizes of messages",
        "what releases do differently",
        "the partition of 20 rows of shop.b, shop.a",
    ]


def test_what_a_consumer_wrote_down_is_held_against_the_truth(
    played: Played, verified: Verified, tmp_path: Path
) -> None:
    """Missing, there and not expected, different: all are counted."""
    _, truth = played()
    mine = tmp_path / "mine"
    shutil.copytree(truth, mine)
    rows = next(mine.glob("shop.b.*csv"))
    lines = rows.read_text("utf-8").splitlines()
    rows.write_text("\n".join([lines[0], *(f"{line}9" for line in lines[1:2]), *lines[3:]]) + "\n", "utf-8")

    assert verified("--truth", truth, "--against", truth)["verdict"] == "right"
    found = verified("--truth", truth, "--against", mine)
    assert (found["code"], checks(found)) == (1, {"row-missing": 1, "row-different": 1})
    assert found["source"] is None
    assert {failure["of"] for failure in found["failures"]} == {str(mine)}


def test_rows_of_another_watermark_are_not_compared(
    played: Played, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A consumer's snapshot says of when it is."""
    _, truth = played()
    mine = tmp_path / "mine"
    shutil.copytree(truth, mine)
    metadata = (mine / "metadata").read_text("utf-8")
    ts = json.loads((truth / "truth.json").read_text("utf-8"))["watermark"]
    (mine / "metadata").write_text(metadata.replace(str(ts), str(ts - (1 << 18))), "utf-8")
    capsys.readouterr()

    assert play("verify", "--truth", truth, "--against", mine) == 2
    assert f"mine says that it is of {ts - (1 << 18)} " in capsys.readouterr().err


@pytest.mark.slow
def test_the_truth_of_another_run_is_refused(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    """Which of its topics, protocol and times differ, is said."""
    stream, _ = played()
    other = OPEN.replace("/shop?", "/other?")
    for uri, why in ((other, "wrote to other"), (OPEN, "wrote open-protocol, and the messages of ")):
        _, truth = played(uri, "", f"second-{uri[-30:-20]}")
        capsys.readouterr()
        assert play("verify", stream, "--truth", truth) == 2
        assert f"second-{uri[-30:-20]}-truth is the truth of another run: that one {why}" in capsys.readouterr().err
    _, late = played(CANAL, "", "late", "--start-ts", "2030-01-01T00:00:00")
    capsys.readouterr()
    assert play("verify", stream, "--truth", late) == 2
    assert "late-truth is the truth of another run: that one lasted from " in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("member", "value", "why"),
    [
        ("watermark", "x", 'truth.json: watermark is "x", which a run does not write'),
        ("topics", {"shop": None}, 'truth.json: topics is {"shop": null}, which a run does not write'),
        ("empty", [1], "truth.json: empty is [1], which a run does not write"),
        ("release", "v99", "truth.json: unknown TiCDC release 'v99'"),
    ],
)
def test_a_truth_that_says_nonsense_is_refused(
    member: str, value: object, why: str, played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its member and what it says."""
    stream, truth = played()
    about = json.loads((truth / "truth.json").read_text("utf-8"))
    (truth / "truth.json").write_text(json.dumps({**about, member: value}), "utf-8")
    capsys.readouterr()

    assert play("verify", stream, "--truth", truth) == 2
    assert why in capsys.readouterr().err


def _cut(file: Path) -> None:
    file.write_text("".join(file.read_text("utf-8").splitlines(True)[:-1]), "utf-8")


def _lose_table(schema: Path) -> None:
    for file in schema.parent.glob(schema.name.replace("-schema.sql", "*")):
        file.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damaged", "name", "why"),
    [
        (Path.unlink, "shop.b.csv", "it has no file with the 4 rows of shop.b"),
        (_lose_table, "shop.b-schema.sql", "it has no definition of shop.b"),
        (_cut, "shop.b.csv", "shop.b has 3 rows, and had 4 when it was written"),
    ],
)
@pytest.mark.parametrize("stream_too", [True, False], ids=["stream", "tables alone"])
def test_a_truth_that_lost_rows_is_refused(
    damaged: Callable[[Path], None],
    name: str,
    why: str,
    stream_too: bool,
    played: Played,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It would say that a right stream, or a right consumer, is wrong, and the other way round."""
    stream, truth = played()
    shutil.copytree(truth, tmp_path / "mine")
    damaged(truth / name)
    given = (stream, "--truth", truth) if stream_too else ("--truth", truth, "--against", tmp_path / "mine")
    assert play("verify", *given) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"ticdc-sim: the truth in {truth} is not as it was written: {why}; let the run write"), said


def test_a_stream_that_ends_before_its_truth_is_not_finished(played: Played, verified: Verified) -> None:
    """It says up to where it is complete; where nothing is wrong so far, that is no failure of a check."""
    stream, truth = played()
    for shard in stream.glob("*/*.jsonl"):
        lines = shard.read_text("utf-8").splitlines(True)
        shard.write_text("".join(lines[:-1]), "utf-8")
    found = verified(stream, "--truth", truth)

    assert (found["code"], found["verdict"]) == (1, "unfinished")
    assert found["watermark"] < found["wanted_watermark"]


def test_messages_of_others_are_counted_and_named(played: Played, verified: Verified) -> None:
    """Each with its place and what it looks like."""
    stream, truth = played()
    shard = stream / "shop" / "1.jsonl"
    last = json.loads(shard.read_text("utf-8").splitlines()[-1])
    foreign = {"offset": last["offset"] + 1, "timestamp": last["timestamp"], "key": None, "value": "aGVsbG8="}
    with shard.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(foreign) + "\n")
    found = verified(stream, "--truth", truth)

    assert checks(found) == {"foreign": 1}
    assert found["failures"][0]["examples"][0]["offset"] == foreign["offset"]
    assert found["partitions"][1]["unreadable"] == 1


def test_a_stream_that_begins_in_the_middle_is_said_to(played: Played, verified: Verified) -> None:
    """What was before its first record is not held against it."""
    stream, _ = played()
    for shard in stream.glob("*/*.jsonl"):
        lines = shard.read_text("utf-8").splitlines(True)
        shard.write_text("".join(lines[6:]), "utf-8")
    found = verified(stream)

    assert checks(found) == {}
    assert any("begins in the middle, at offset 6" in note for note in found["notes"])


def test_rows_that_only_the_beginning_would_tell_are_said_to_be_open(played: Played, verified: Verified) -> None:
    """A truth says what they are to be, and a stream that begins in the middle not whether they were there."""
    stream, truth = played()
    for shard in stream.glob("*/*.jsonl"):
        lines = shard.read_text("utf-8").splitlines(True)
        shard.write_text("".join(lines[6:]), "utf-8")
    found = verified(stream, "--truth", truth)

    open_ones = {each["what"]: each["why"] for each in found["not_checked"]}
    assert found["compared"][0]["found"] is None
    assert any(what.startswith("rows of shop.a that no row change here is about") for what in open_ones)
    assert "nobody says with which rows the stream begins: --before DIR tells" in open_ones.values()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "nothing to verify: give SOURCE"),
        (("nowhere",), "no such directory: nowhere"),
        (("kafka://127.0.0.1:9/shop?dial-timeout=1s",), "127.0.0.1:9"),
        (("x", "--truth", "nowhere"), "no such directory: nowhere"),
        (("x",), "x has no records, which leaves its protocol open: --sink-uri or --truth"),
        (
            ("x", "--sink-uri", CANAL),
            "x has no records, and nothing says whether that is right: --truth DIR or --after",
        ),
        (("x", "--follow", "--until", "5"), "x is a directory: only kafka://host:port/topic can be followed"),
        (("x", "--report", "nowhere/r.html"), "--report nowhere/r.html: there is no directory nowhere"),
        (("x", "--release", "v9.9.9"), "unknown TiCDC release 'v9.9.9'"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is wrong, and what would be accepted."""
    monkeypatch.chdir(tmp_path)
    if arguments and arguments[0] == "x":
        (tmp_path / "x" / "t").mkdir(parents=True)
        (tmp_path / "x" / "t" / "0.jsonl").write_text("", "utf-8")

    assert play("verify", *arguments) in (2, 3)
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ticdc-sim: ")]
    assert len(said) == 1 and why in said[0]
