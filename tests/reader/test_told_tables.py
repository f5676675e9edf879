"""Ids, schema versions and BOOTSTRAPs of Simple that the statements before them contradict are told; those that the wall
clock of TiCDC may bring are not.

`test_mutants` damages one message at a time; here all messages that could contradict each other tell the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.mutant_forms import form_of
from support.mutants import CONFIG, Known, Message, Protocol, Recorded, Stream, known_messages, record, verified

from simulator.reader.verify.verification import RIGHT, Verification

STORY = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(9));
INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
ALTER TABLE item ADD COLUMN price INT;
INSERT INTO item VALUES (5, 'e', 1), (6, 'f', 2), (7, 'g', 3), (8, 'h', 4);
CREATE TABLE log (id INT PRIMARY KEY);
INSERT INTO log VALUES (1), (2), (3), (4);
TRUNCATE TABLE log;
INSERT INTO log VALUES (5), (6), (7), (8);
CREATE TABLE day (id INT PRIMARY KEY, n INT) PARTITION BY HASH (id) PARTITIONS 3;
INSERT INTO day VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6);
CREATE TABLE other (id INT PRIMARY KEY);
UPDATE day SET n = 0 WHERE id < 4;
"""
PROTOCOLS = {
    "JSON": Protocol("simple"),
    "Avro": Protocol("simple", "&encoding-format=avro"),
    "the new architecture": Protocol("simple", "&encoding-format=avro", "v26.3.4", "new"),
    "the first form": Protocol("simple", release="v7.6.0"),
    "7.5": Protocol("simple", release="v7.5.7"),
}
"""Ways to send, by name."""

WITH_IDS = ("JSON", "Avro", "the new architecture", "7.5")
PARTITION_IDS = ("JSON", "Avro", "the new architecture", "7.5", "open-protocol")
PROTOCOLS |= {"open-protocol": Protocol("open-protocol", "&max-batch-size=1")}

Tree = Any


def schema_of(tree: Tree) -> Tree:
    """The table schema in a statement or BOOTSTRAP."""
    message = tree["value"]
    message = next(iter(message["payload"].values())) if "payload" in message else message
    schema = message.get("tableSchema")
    return schema.get("Table", schema) if schema else None


def row_of(tree: Tree) -> Tree:
    """The object of a row that has its ids."""
    if "events" in tree:
        return tree["events"][0]["key"]
    return tree["value"].get("payload", {}).get("DML", tree["value"])


class Damaged:
    """A stream whose messages tests change, and their verification."""

    def __init__(self, home: Path, name: str, story: str = STORY) -> None:
        self.protocol = PROTOCOLS[name]
        self.recorded: Recorded = record(story, self.protocol, home / "stream")
        self.form = form_of(self.protocol.form, {})
        self.known: list[Known] = known_messages(self.recorded, self.protocol)
        self.stream: dict[int, list[Message]] = {}
        self.repair()

    def repair(self) -> None:
        """Begin again with the stream as it was sent."""
        self.stream = {part: [*there] for part, there in self.recorded.messages.items()}

    def of(self, kind: str, partition: int | None = None) -> list[Known]:
        return [each for each in self.known if each.kind == kind and partition in (None, each.place[0])]

    def change(self, messages: Sequence[Known], alter: Callable[[Tree], None]) -> None:
        for each in messages:
            partition, offset = each.place
            tree = self.form.read(each.message.key, each.message.value)
            alter(tree)
            key, value = self.form.write(tree)
            self.stream[partition][offset] = replace(each.message, key=key, value=value)

    def move(self, message: Known, to: int, partition: int | None = None) -> None:
        """Put a message at another offset, by default of its partition."""
        own, offset = message.place
        taken = self.stream[own].pop(offset)
        self.stream[own if partition is None else partition].insert(to, taken)

    def found(self, restarts: bool = True, stream: Stream | None = None) -> Verification:
        return verified(self.stream if stream is None else stream, self.recorded, restarts=restarts, show=10)

    def failure(self) -> tuple[str, str]:
        """The only check that fails, and what its first example says."""
        (failure,) = self.found().failures
        return failure.check, failure.examples[0].what

    def checks(self, restarts: bool = True) -> set[str]:
        return {failure.check for failure in self.found(restarts).failures}


def put(name: str, value: Any, tree: Tree) -> None:
    row_of(tree)[name] = value


def ids_of(messages: Sequence[Known], name: str = "tableID") -> list[int]:
    return [row_of(each.tree)[name] for each in messages]


def value_of(row: Tree, name: str) -> int:
    """The number in a column of an inserted row."""
    if "events" in row:
        return int(row["events"][0]["value"]["u"][name]["v"])
    data = row_of(row)["data"]
    found = data["map"][name]["long"] if "map" in data else data[name]
    return int(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_what_was_sent_is_right(name: str, tmp_path: Path) -> None:
    assert Damaged(tmp_path, name).found(restarts=False).verdict == RIGHT


SIMPLE = [name for name in PROTOCOLS if name != "open-protocol"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMPLE)
def test_rows_have_the_version_of_the_statement_before_them(name: str, tmp_path: Path) -> None:
    """Whatever columns a version has, it is told, though all rows behind the statement have the older one."""
    damaged = Damaged(tmp_path, name, STORY.replace("ADD COLUMN price INT", "COMMENT 'x'").replace(", 1), (6", "), (6")
                      .replace(", 2), (7", "), (7").replace(", 3), (8", "), (8").replace("'h', 4)", "'h')"))  # fmt: skip
    versions = sorted({row_of(each.tree)["schemaVersion"] for each in damaged.of("INSERT item")})
    damaged.change(damaged.of("INSERT item"), partial(put, "schemaVersion", versions[0]))

    check, what = damaged.failure()

    assert check == "message-different"
    assert f"schemaVersion: {versions[0]} → {versions[1]}" in what


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_IDS)
def test_rows_have_the_id_of_the_statement_before_them(name: str, tmp_path: Path) -> None:
    """TRUNCATE gives the table another one."""
    damaged = Damaged(tmp_path, name)
    before, after = sorted({*ids_of(damaged.of("INSERT log"))})
    damaged.change(damaged.of("INSERT log"), partial(put, "tableID", before))

    check, what = damaged.failure()

    assert check == "message-different"
    assert f"tableID: {before} → {after}" in what


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTITION_IDS)
def test_rows_of_a_partition_have_its_id(name: str, tmp_path: Path) -> None:
    """Not that of the table, of another partition, or in one row another one."""
    damaged = Damaged(tmp_path, name)
    id = "ptn" if name == "open-protocol" else "tableID"
    rows = damaged.of("INSERT day")
    one, two = (next(each for each in rows if value_of(each.tree, "id") == id) for id in (1, 2))
    first = [each for each in rows if value_of(each.tree, "id") % 3 == 1]
    updates = damaged.of("UPDATE day")
    untouched = damaged.found()
    assert untouched.verdict == RIGHT
    for messages, number in (
        ([one], row_of(two.tree)[id]),
        (first, row_of(two.tree)[id]),
        ([one], 999),
        (updates[:1], 999),
        *([(first, schema_of(damaged.of("DDL CREATE TABLE")[-2].tree)["tableID"])] if id == "tableID" else []),
    ):
        damaged.repair()
        damaged.change(messages, partial(put, id, number))
        assert damaged.checks() == {"message-different"}, number


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMPLE)
@pytest.mark.parametrize("whole", [False, True])
def test_a_bootstrap_tells_the_columns_of_its_version(name: str, whole: bool, tmp_path: Path) -> None:
    """One that lacks the column that was added last, or has the columns of another version, is told."""
    story = STORY.replace("INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');\n", "")
    damaged = Damaged(tmp_path, name, story)

    def older(tree: Tree) -> None:
        schema_of(tree)["columns"].pop()

    damaged.change(damaged.of("BOOTSTRAP item")[: None if whole else 1], older)

    check, what = damaged.failure()

    assert check == "message-different"
    assert "the schema of shop.item" in what


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMPLE)
def test_a_bootstrap_precedes_the_rows_of_its_table(name: str, tmp_path: Path) -> None:
    """In each partition that gets any; a CREATE TABLE before them does not replace it."""
    damaged = Damaged(tmp_path, name)
    for table in ("item", "log") if name in WITH_IDS else ("item",):
        bootstrap = damaged.of(f"BOOTSTRAP {table}", 0)[-1]
        last = damaged.of(f"INSERT {table}", 0)[-1]
        damaged.move(bootstrap, last.place[1])
        assert damaged.checks() == {"bootstrap-missing"}
        damaged.repair()


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_IDS)
def test_a_bootstrap_precedes_the_rows_of_a_table_with_an_old_name(name: str, tmp_path: Path) -> None:
    """A table that had the name before, and another id, does not count."""
    damaged = Damaged(tmp_path, name, EXCHANGE)
    for partition in (0, 1):
        for row in damaged.of("INSERT y", partition)[-1:]:
            if row.place[1] > damaged.of("DDL DROP TABLE", partition)[0].place[1]:
                damaged.move(damaged.of("BOOTSTRAP y", partition)[-1], row.place[1])
    assert damaged.checks() == {"bootstrap-missing"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMPLE)
def test_a_bootstrap_follows_the_statement_that_makes_what_it_tells(name: str, tmp_path: Path) -> None:
    damaged = Damaged(tmp_path, name)
    statement, bootstrap = damaged.of("DDL CREATE TABLE", 0)[0], damaged.of("BOOTSTRAP item", 0)[0]
    damaged.move(bootstrap, statement.place[1])
    assert damaged.checks() == {"bootstrap-unexpected"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMPLE)
def test_each_partition_has_its_bootstraps(name: str, tmp_path: Path) -> None:
    """One that is in another partition is missing in its own."""
    damaged = Damaged(tmp_path, name)
    bootstrap = damaged.of("BOOTSTRAP item", 0)[0]
    behind = damaged.of("BOOTSTRAP item", 1)
    place = behind[0].place[1] if behind else damaged.of("INSERT item", 1)[0].place[1]
    damaged.move(bootstrap, place + 1, 1)
    checks = damaged.checks()
    assert "bootstrap-missing" in checks
    assert ("bootstrap-unexpected" in checks) == (name == "the first form")


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMPLE)
def test_a_bootstrap_comes_again_with_a_restart_alone(name: str, tmp_path: Path) -> None:
    damaged = Damaged(tmp_path, name)
    partition, offset = damaged.of("BOOTSTRAP item", 0)[0].place
    damaged.stream[partition].insert(offset, damaged.stream[partition][offset])
    assert damaged.found().verdict == RIGHT
    assert damaged.checks(restarts=False) == {"bootstrap-unexpected"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["JSON", "Avro", "7.5", "the new architecture"])
def test_the_first_partition_alone_has_bootstraps(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With send-bootstrap-to-all-partition off: in the other one none is there."""
    monkeypatch.setattr("support.mutants.CONFIG", f"{CONFIG}\nsend-bootstrap-to-all-partition = false\n")
    damaged = Damaged(tmp_path, name)
    assert damaged.found().verdict == RIGHT
    bootstrap, row = damaged.of("BOOTSTRAP item", 0)[0], damaged.of("INSERT item", 1)[0]
    damaged.stream[1].insert(row.place[1], bootstrap.message)
    assert damaged.checks() == {"bootstrap-unexpected"}


EXCHANGE = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE p (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id)
  (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
CREATE TABLE x (id INT PRIMARY KEY, v INT);
INSERT INTO x VALUES (2, 1);
ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE x;
INSERT INTO x VALUES (4, 1);
INSERT INTO p VALUES (5, 1), (14, 1);
RENAME TABLE x TO y, p TO q;
INSERT INTO y VALUES (6, 1);
INSERT INTO q VALUES (6, 1), (16, 1);
ALTER TABLE q TRUNCATE PARTITION p1;
INSERT INTO q VALUES (7, 1), (17, 1);
ALTER TABLE q REMOVE PARTITIONING;
INSERT INTO q VALUES (8, 1), (18, 1);
DROP TABLE y;
CREATE TABLE y (id INT PRIMARY KEY);
INSERT INTO y VALUES (1);
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_tables_that_get_other_ids_and_names_are_not_wrong(name: str, tmp_path: Path) -> None:
    """As what an exchange leads to cannot be told, such a stream is not right either."""
    assert Damaged(tmp_path, name, EXCHANGE).checks() == set()


SWAP = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE x (id INT PRIMARY KEY);
CREATE TABLE y (id INT PRIMARY KEY, n INT);
INSERT INTO x VALUES (1), (2), (3);
INSERT INTO y VALUES (1, 1), (2, 2), (3, 3);
RENAME TABLE x TO z, y TO x, z TO y;
INSERT INTO x VALUES (4, 4), (5, 5), (6, 6);
INSERT INTO y VALUES (4), (5), (6);
"""


@pytest.mark.slow
def test_tables_that_swap_names_are_right(tmp_path: Path) -> None:
    """Each had its BOOTSTRAP under the other name, and one of them gets a new version. Classic TiCDC stops at the
    statement."""
    assert Damaged(tmp_path, "the new architecture", SWAP).found().verdict == RIGHT


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMPLE)
def test_a_recovered_table_may_have_had_its_bootstrap_under_another_name(name: str, tmp_path: Path) -> None:
    story = """
    CREATE DATABASE shop;
    USE shop;
    CREATE TABLE x (id INT PRIMARY KEY);
    CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2;
    INSERT INTO x VALUES (1), (2), (3);
    INSERT INTO p VALUES (1), (2), (3);
    DROP TABLE x;
    TRUNCATE TABLE p;
    FLASHBACK TABLE x TO y;
    FLASHBACK TABLE p TO q;
    INSERT INTO y VALUES (4), (5), (6);
    INSERT INTO q VALUES (4), (5), (6);
    """
    assert Damaged(tmp_path, name, story).checks(restarts=False) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMPLE)
def test_a_bootstrap_may_have_the_version_of_a_statement_that_was_not_sent(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which changes no column, so that only the version tells of it."""
    kept = '[[filter.event-filters]]\nmatcher = ["*.*"]\nignore-event = ["truncate table partition"]\n'
    monkeypatch.setattr("support.mutants.CONFIG", CONFIG + kept)
    story = """
    CREATE TABLE test.p (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2;
    ALTER TABLE test.p TRUNCATE PARTITION p0, p1;
    INSERT INTO test.p VALUES (1), (2), (3), (4);
    """
    assert Damaged(tmp_path, name, story).checks(restarts=False) == set()


@pytest.mark.parametrize("name", ["Avro", "the new architecture"])
def test_a_default_may_be_no_text(name: str, tmp_path: Path) -> None:
    """As that of a BIT in Avro, which has its bytes."""
    story = "CREATE TABLE test.t (id INT PRIMARY KEY, b BIT(12) DEFAULT 180); INSERT INTO test.t (id) VALUES (1), (2)"
    recorded = record(story, PROTOCOLS[name], tmp_path / "stream")
    assert verified(recorded.messages, recorded).verdict == RIGHT
