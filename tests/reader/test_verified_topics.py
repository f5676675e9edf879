"""`verify` of streams that are right, of which topics lose their tables or get more partitions, or rows change their partition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.playing import play

from simulator import TiCDC
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import RIGHT, UNFINISHED, UNPROVED, WRONG, Verification

REGISTRY = 'schema-registry = "http://127.0.0.1:8081"\n'
BY_TABLE = 'dispatchers = [{matcher = ["*.*"], topic = "{schema}_{table}", partition = "index-value"}]\n'
BY_KEY = 'dispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'
TIMED = "enable-tidb-extension=true"
WATERMARKS = f"{TIMED}&avro-enable-watermark=true"

TABLES = """
CREATE DATABASE shop;
CREATE TABLE shop.a (id INT PRIMARY KEY, n INT);
CREATE TABLE shop.b (id INT PRIMARY KEY, n INT);
INSERT INTO shop.a VALUES (1, 1), (2, 2), (3, 3), (4, 4);
CREATE DATABASE other;
CREATE TABLE other.x (id INT PRIMARY KEY);
INSERT INTO other.x VALUES (1), (2), (3), (4), (5);
"""
LATER = "INSERT INTO other.x VALUES (11), (12), (13), (14)"
AGAIN = (
    "CREATE DATABASE shop; CREATE TABLE shop.a (id INT PRIMARY KEY, n INT); INSERT INTO shop.a VALUES (1, 2), (7, 7)"
)


def recorded(home: Path, steps: Sequence[str], protocol: str, config: str, partitions: int = 2) -> None:
    """Send what steps do, three seconds apart; a step is SQL, or the lines of another kind of step."""
    (home / "cf.toml").write_text(f"[sink]\n{REGISTRY if 'avro' in protocol else ''}{config}", "utf-8")
    lines = [step if step.startswith("fault") else f"sql = '''\n{step}\n'''" for step in steps]
    text = "\n[[step]]\nwait = '3s'\n".join(f"[[step]]\n{line}" for line in lines)
    (home / "story.toml").write_text(f"release = 'v8.5.4'\n{text}\n", "utf-8")
    uri = f"kafka://127.0.0.1:9092/t?protocol={protocol}&partition-num={partitions}"
    to = ("--sink-uri", uri, "--config", home / "cf.toml", "--fixtures", home / "out", "--truth", home / "truth")
    assert play("run", home / "story.toml", *to) == 0


def verified(home: Path, restarts: bool = True) -> Verification:
    return verify(VerifyOptions(str(home / "out"), truth=home / "truth", master="none", restarts=restarts))


def cut_off(home: Path, partition: str, keep: int) -> None:
    """Lose the last messages of a partition."""
    file = home / "out" / f"{partition}.jsonl"
    file.write_text("".join(file.read_text("utf-8").splitlines(True)[:keep]), "utf-8")


# -- topics without tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restarts", [True, False])
@pytest.mark.parametrize(
    ("statements", "protocol"),
    [
        (["DROP DATABASE shop"], f"canal-json&{TIMED}"),
        (["DROP DATABASE shop"], f"avro&{WATERMARKS}"),
        pytest.param(["DROP DATABASE shop"], "simple", marks=pytest.mark.slow),
        (["DROP DATABASE shop", AGAIN], "open-protocol"),
        pytest.param(["DROP TABLE shop.a", "DROP DATABASE shop"], "open-protocol", marks=pytest.mark.slow),
        pytest.param(["RENAME TABLE shop.a TO other.c", "DROP DATABASE shop"], "open-protocol", marks=pytest.mark.slow),
        pytest.param(["DROP DATABASE shop", "FLASHBACK DATABASE shop"], "open-protocol", marks=pytest.mark.slow),
        pytest.param(
            ["CREATE VIEW shop.v AS SELECT id FROM shop.a", "DROP DATABASE shop"], "simple", marks=pytest.mark.slow
        ),
    ],
)
def test_a_topic_that_a_statement_on_a_database_empties_is_finished(
    statements: list[str], protocol: str, restarts: bool, tmp_path: Path
) -> None:
    """DROP DATABASE is in the default topic. Until then topics of its tables have watermarks, and then no more."""
    recorded(tmp_path, [TABLES, *statements, LATER], protocol, BY_TABLE)
    found = verified(tmp_path, restarts)
    assert found.verdict == RIGHT, (found.failures, found.unproved)


def test_a_topic_without_its_last_messages_is_wrong_though_its_table_was_dropped(tmp_path: Path) -> None:
    recorded(tmp_path, [TABLES, "DROP DATABASE shop", LATER], f"canal-json&{TIMED}", BY_TABLE)
    assert verified(tmp_path).verdict == RIGHT
    there = len((tmp_path / "out" / "shop_b" / "1.jsonl").read_text("utf-8").splitlines())
    cut_off(tmp_path, "shop_b/1", there - 1)
    found = verified(tmp_path)
    assert (found.verdict, [each.check for each in found.failures]) == (WRONG, ["watermark-missing"])


def test_the_default_topic_is_not_finished_by_a_statement_that_drops_its_last_table(tmp_path: Path) -> None:
    """It has watermarks whether it has tables or not."""
    config = BY_TABLE.replace("*.*", "other.*")
    recorded(tmp_path, [TABLES, "DROP TABLE shop.a, shop.b", LATER], f"canal-json&{TIMED}", config)
    assert verified(tmp_path).verdict == RIGHT
    for partition in range(2):
        there = len((tmp_path / "out" / "t" / f"{partition}.jsonl").read_text("utf-8").splitlines())
        cut_off(tmp_path, f"t/{partition}", there - 1)
    assert verified(tmp_path).verdict == UNFINISHED


def test_watermarks_pause_while_a_topic_of_an_open_changefeed_has_no_table(tmp_path: Path) -> None:
    """Nothing is lost then, though nothing may come again."""
    uri = f"kafka://127.0.0.1:9092/t?protocol=canal-json&{TIMED}&partition-num=2"
    (tmp_path / "cf.toml").write_text(f"[sink]\n{BY_TABLE}", "utf-8")
    with TiCDC("v8.5.4", sink_uri=uri, config=tmp_path / "cf.toml", fixtures=tmp_path / "out") as ticdc:
        for statements in (TABLES, "DROP DATABASE shop", LATER, AGAIN, "UPDATE shop.a SET n = 9"):
            ticdc.execute(statements)
            ticdc.messages()
        ticdc.truth(tmp_path / "truth")
    found = verified(tmp_path, restarts=False)
    assert found.verdict == RIGHT, found.failures


# -- topics with more partitions --------------------------------------------------------------------------------------

ORDERS = (
    "CREATE DATABASE shop; CREATE TABLE shop.o (id INT PRIMARY KEY, n INT); INSERT INTO shop.o VALUES "
    + ", ".join(f"({number}, {number})" for number in range(20))
)
CHANGES = "UPDATE shop.o SET n = n + 1; ALTER TABLE shop.o ADD COLUMN name INT; DELETE FROM shop.o WHERE id < 9"


def grown(*counts: int) -> list[str]:
    steps = [ORDERS]
    for count in counts:
        steps += [f"fault = 'add-partitions'\ntopic = 'shop_o'\npartitions = {count}", "UPDATE shop.o SET n = n * 2"]
    return [*steps, CHANGES]


@pytest.mark.parametrize(
    ("protocol", "counts", "verdict"),
    [
        ("canal-json", (3,), RIGHT),
        pytest.param("canal-json", (3, 5), RIGHT, marks=pytest.mark.slow),
        ("debezium", (3,), RIGHT),
        (f"avro&{TIMED}", (3,), UNPROVED),
        pytest.param("avro", (3, 5), UNPROVED, marks=pytest.mark.slow),
        pytest.param("open-protocol", (3, 5), RIGHT, marks=pytest.mark.slow),
    ],
)
def test_a_topic_that_got_more_partitions_is_right_without_watermarks(
    protocol: str, counts: tuple[int, ...], verdict: str, tmp_path: Path
) -> None:
    """The truth tells when. Where messages do not tell their time, the order of a row's changes is open."""
    recorded(tmp_path, grown(*counts), protocol, BY_TABLE)
    for restarts in (True, False):
        found = verified(tmp_path, restarts)
        assert found.verdict == verdict, (found.failures, found.unproved)


def test_a_row_in_the_partition_of_another_number_of_partitions_is_wrong(tmp_path: Path) -> None:
    """A row that belongs in a new partition, and is in that which it had before."""
    recorded(tmp_path, grown(3), "canal-json", BY_TABLE)
    new, old = (tmp_path / "out" / "shop_o" / f"{partition}.jsonl" for partition in (2, 0))
    moved, *rest = new.read_text("utf-8").splitlines(True)
    offset = len(old.read_text("utf-8").splitlines())
    old.write_text(old.read_text("utf-8") + moved.replace('"offset": 0', f'"offset": {offset}'), "utf-8")
    new.write_text(
        "".join(line.replace(f'"offset": {n + 1}', f'"offset": {n}') for n, line in enumerate(rest)), "utf-8"
    )
    found = verified(tmp_path)
    assert {failure.check for failure in found.failures} >= {"wrong-partition"}, found.failures


# -- one row in several partitions ------------------------------------------------------------------------------------

LETTERS = "abcdefghijkl"
SPELLED = """CREATE DATABASE shop;
CREATE TABLE shop.t (k VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, n INT);
INSERT INTO shop.t VALUES """ + ", ".join(f"('{each}key', 1)" for each in LETTERS)
RESPELLED = "".join(f";UPDATE shop.t SET k = '{each.upper()}KEY' WHERE k = '{each}key'" for each in LETTERS)


@pytest.mark.parametrize("restarts", [True, False])
@pytest.mark.parametrize(
    ("protocol", "verdict"), [("avro", UNPROVED), (f"avro&{TIMED}", RIGHT), ("canal-json", RIGHT), ("debezium", RIGHT)]
)
def test_a_row_whose_key_changes_its_spelling_may_be_in_several_partitions(
    protocol: str, verdict: str, restarts: bool, tmp_path: Path
) -> None:
    """Its collation takes both for one key, and the dispatcher for two: nothing tells the order of changes without commit-ts."""
    recorded(tmp_path, [SPELLED + RESPELLED], protocol, BY_KEY, partitions=3)
    found = verified(tmp_path, restarts)
    assert found.verdict == verdict, (found.failures, found.unproved)
    told = [each.what for each in found.unproved if "changes of one row are in several partitions" in each.why]
    assert told == ["what the rows of shop.t lead to"] * (verdict == UNPROVED)


def test_rows_with_one_spelling_are_compared_beside_those_with_several(tmp_path: Path) -> None:
    """A table is left out only if a row of it is in several partitions."""
    more = ";CREATE TABLE shop.u LIKE shop.t; INSERT INTO shop.u SELECT * FROM shop.t; UPDATE shop.u SET n = 3"
    recorded(tmp_path, [SPELLED + more + RESPELLED], "avro", BY_KEY, partitions=3)
    assert [(each.table, each.found) for each in verified(tmp_path).compared] == [("shop.u", 12)]
