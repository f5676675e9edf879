"""The step `expect`: what the steps before it sent, in lines or counted; what is otherwise ends the run before it sends
anything, with a diff and exit code 1.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.databases import Table, write
from support.playing import play

STATEMENT = "CREATE TABLE `orders` (`id` int PRIMARY KEY, `day` varchar(20))"
DAYS = """
sink-uri = "kafka://127.0.0.1:9092/shop?protocol={}&partition-num=2"
[[step]]
snapshot = "monday"
[[step]]
snapshot = "tuesday"
[[step]]
"""
EVENTS = """expect = [
    "DELETE shop.orders id=1 day=monday",
    "UPDATE shop.orders id=2 day: monday→'x y'",
    "INSERT shop.orders id=3 day=\\"x y\\"",
]""".replace("'", '\\"')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Snapshots of two days."""
    made = tmp_path_factory.mktemp("expect")
    write(made / "monday", [Table(STATEMENT, [[1, "monday"], [2, "monday"]])], 0)
    write(made / "tuesday", [Table(STATEMENT, [[2, "x y"], [3, "x y"]])], 0)
    return made


def played(folder: Path, steps: str, head: str = DAYS) -> int:
    """The exit code of a scenario of the two days, or of another head, and of what follows them."""
    (folder / "scenario.toml").write_text(head.format("open-protocol") + steps)
    return play("run", folder / "scenario.toml", "--master", "none", "--console")


@pytest.mark.parametrize(
    "steps",
    [
        EVENTS,
        EVENTS.replace("→", " -> ").replace(" -> ", "->").replace('id=3 day=\\"x y\\"', 'day=\\"x y\\" id=3'),
        EVENTS.replace("day=monday", "…").replace('id=3 day=\\"x y\\"', "..."),
        'expect = {counts = {"shop.orders" = {insert = 1, update = 1, delete = 1}, ddl = 0, messages = 3}}',
        'expect = {counts = {"shop.orders" = 3, "shop.other" = 0}}',
        "expect = {decision = []}",
        'expect = {counts = {messages = 3}}\n[[step]]\nwait = "1m"\n[[step]]\nexpect = []',
    ],
)
def test_what_is_as_expected_is_played(folder: Path, steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each expectation is about the steps since the one before."""
    assert played(folder, steps) == 0
    assert capsys.readouterr().out


@pytest.mark.slow
def test_events_are_read_back_from_the_messages_of_the_protocol(folder: Path) -> None:
    assert played(folder, EVENTS, DAYS.replace("{}", "canal-json")) == 0


@pytest.mark.parametrize(
    ("steps", "lines"),
    [
        (
            EVENTS.replace("id=1", "id=7"),
            [
                "events: not as expected (- is wanted, + is there)",
                "  - DELETE shop.orders id=7 day=monday",
                "  + DELETE shop.orders day=monday id=1",
                '    UPDATE shop.orders id=2 day: monday→"x y"',
            ],
        ),
        ("expect = []", ['  + INSERT shop.orders day="x y" id=3']),
        (
            'expect = {counts = {"shop.orders" = {insert = 2, delete = 1}, ddl = 1, messages = 1}}',
            [
                "counts: shop.orders insert: expected 2, there are 1",
                "counts: ddl: expected 1, there are 0",
                "counts: messages: expected 1, there are 3",
            ],
        ),
        ('expect = {decision = "sent"}', ["decision: not as expected", "  - sent"]),
        ('expect = {rows = {"shop.orders" = ["id=1 day=x"]}}', ["rows of shop.orders: only SQL before it"]),
    ],
)
def test_what_is_otherwise_ends_the_run_with_a_diff(
    folder: Path, steps: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert played(folder, steps) == 1
    told = capsys.readouterr()
    assert_otherwise(told.err, lines, str(folder / "scenario.toml"))
    assert told.out == ""


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ("expect = 1", "expected a list of events, or a table with events, counts, rows, decision, sql, error; got 1"),
        ("expect = {}", "expected a list of events, or a table"),
        ("expect = {event = []}", "unknown key 'event'. Did you mean 'events'?"),
        ("expect = {events = [1]}", "expected a list of texts such as ['INSERT shop.item id=1 stock=5'], got [1]"),
        ("expect = {counts = {orders = 1}}", "counts: 'orders' is no schema.table"),
        ('expect = {counts = {"a.b" = {inserts = 1}}}', "unknown kind 'inserts'. Did you mean 'insert'?"),
        ("expect = {counts = {ddl = -1}}", "counts: ddl: expected a whole number, got -1"),
        ("expect = {rows = {a = []}}", "rows: 'a' is no schema.table"),
        ('expect = {sql = "SELECT 1"}', "sql and error go together"),
        ('expect = {sql = "SELECT 1", error = "1062"}', "error: number: expected a whole number, got '1062'"),
        ('expect = {sql = "SELECT 1", error = {numbr = 1}}', "error: expected 1062, or such as"),
        ('expect = {decision = "perhaps"}', "decision: expected 'sent', 'not sent' or 'not sent: some words of why'"),
    ],
)
def test_mistaken_expectations_are_told(folder: Path, steps: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert played(folder, steps) == 2
    assert why in capsys.readouterr().err


STORY = """
[[step]]
sql = '''
CREATE DATABASE shop;
USE shop;
CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), b BLOB);
CREATE SEQUENCE number;
INSERT INTO item VALUES (1, 'a b', x'00ff'), (2, NULL, NULL);
'''
[[step]]
"""
ROWS = """[step.expect]
rows = { "shop.item" = ['id=2 …', 'b=0x00ff name="a b" id=1'], "SHOP.Item" = ["id=1 …", "name=NULL b=NULL id=2"] }
"""


def assert_otherwise(said: str, lines: list[str], place: str) -> None:
    assert [line for line in lines if line not in said] == []
    assert place in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps",
    [
        ROWS,
        """expect = [
        "DDL shop CREATE DATABASE …", "DDL shop.item …", "INSERT shop.item id=2 …", "INSERT shop.item id=1 …",
    ]""",
        """expect = {decision = ["sent", "sent", "not sent: CreateSequence"]}""",
        """expect = {sql = "INSERT INTO item VALUES (1, NULL, NULL)", error = 1062}""",
        """expect = {sql = "INSERT INTO item VALUES (1, 'x', '')", error = {text = "Duplicate entry '1'"}}""",
        """expect = {sql = "FROB", error = 1064}""",
        """expect = {sql = "DROP TABLE nothing", error = {number = 1051}}""",
        """expect = {counts = {ddl = 2, messages = 6}}  # 3 partitions; the rows share a message with those of the next step
[[step]]
sql = "DELETE FROM item WHERE id = 1"
[[step]]
expect = {counts = {messages = 1}, events = ["DELETE shop.item id=1 …"], rows = {"shop.item" = ["id=2 …"]}}""",
    ],
)
def test_what_sql_leaves_behind_is_known(folder: Path, steps: str) -> None:
    assert played(folder, steps, STORY) == 0


@pytest.mark.parametrize(
    ("steps", "lines"),
    [
        ('expect = {rows = {"shop.item" = ["id=2 …"]}}', ["rows of shop.item: not as", '  + id=1 name="a b" b=0x00ff']),
        ('expect = {rows = {"shop.thing" = []}}', ["rows of shop.thing: there is no such table"]),
        ('expect = {decision = ["sent", "sent", "sent"]}', ["  - sent", "  + not sent: "]),
        (
            'expect = {sql = "INSERT INTO item VALUES (1, NULL, NULL)", error = 1063}',
            ["expected error 1063, but ERROR 1062 (23000): Duplicate entry '1' for key 'item.PRIMARY'"],
        ),
        ('expect = {sql = "INSERT INTO item VALUES (3, NULL, NULL)", error = 1062}', ["error 1062, but it succeeds"]),
    ],
)
def test_what_sql_leaves_otherwise_is_shown(
    folder: Path, steps: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert played(folder, steps, STORY) == 1
    assert_otherwise(capsys.readouterr().err, lines, f"{folder / 'scenario.toml'}: line 11: step 2: ")
