"""`explain ddl` and `explain table`: what happens to a statement and a table, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.playing import said

from simulator.explain.ddl import DdlExplained, ddl_lines, explain_statements
from simulator.explain.table import TableExplained, catalog_from_files, explain_table
from simulator.releases import find
from simulator.ticdc.changefeed import load
from simulator.ticdc.rules import changefeed_rules
from simulator.tidb.ddl.catalog import Catalog

SCHEMA = """
/*!40101 SET NAMES binary*/;
CREATE DATABASE Shop;
USE shop;
CREATE TABLE Orders (id INT PRIMARY KEY, note VARCHAR(20) NOT NULL, UNIQUE KEY u (note));
CREATE TABLE loose (a INT);
CREATE TABLE only_unique (a INT NOT NULL, b INT, UNIQUE KEY (a), UNIQUE KEY (b));
CREATE DATABASE hidden;
"""

CONFIG = """
[filter]
rules = ['shop.*', '!shop.secret*']
[[filter.event-filters]]
matcher = ['Shop.Orders']
ignore-event = ['drop column']
[sink]
dispatchers = [{matcher = ['shop.o*'], topic = 'of_{schema}_{table}', partition = 'index-value'}]
"""

KNOWN = catalog_from_files([("schema.sql", SCHEMA)], "shop")


def explained(
    text: str,
    release: str = "v8.5.3",
    architecture: str = "classic",
    known: Catalog | None = KNOWN,
    config: str = CONFIG,
    uri: str = "kafka://127.0.0.1:9092/main?protocol=open-protocol&partition-num=2",
) -> DdlExplained:
    found = find(release, architecture)
    (only,) = explain_statements([("shop", text)], known, changefeed_rules(load(uri, config, found), found))
    return only


def outcome(text: str, release: str = "v8.5.3", architecture: str = "classic", config: str = CONFIG) -> tuple[str, str]:
    known = None if "mysql." in text else KNOWN
    (job,) = explained(text, release, architecture, known, config).jobs
    return job.outcome, job.why


def test_a_statement_that_is_sent_has_a_message_of_each_protocol() -> None:
    (job,) = explained("alter table ORDERS add c int").jobs
    assert (job.type_code, job.action, job.text) == (5, "AddColumn", "add column")
    assert (job.schema, job.table) == ("Shop", "Orders")
    (event,) = job.events
    assert event.topic == "of_Shop_Orders"
    first, second, third, fourth = event.messages
    assert (first.protocol, first.chosen, first.partitions) == ("open-protocol", True, (0, 1))
    assert first.value[8:] == b'{"q":"ALTER TABLE `ORDERS` ADD COLUMN `c` INT","t":5}'
    assert (second.protocol, second.chosen, second.partitions, second.key) == ("canal-json", False, (0,), None)
    assert json.loads(second.value)["type"] == "ALTER"
    assert (third.protocol, third.chosen, third.partitions, third.key) == ("simple", False, (0, 1), None)
    assert (fourth.protocol, fourth.chosen, fourth.partitions) == ("maxwell", False, (0, 1))
    after, before = (json.loads(third.value)[name]["columns"] for name in ("tableSchema", "preTableSchema"))
    assert [column["name"] for column in after] == [*(column["name"] for column in before), "c"]


def test_messages_of_other_protocols_are_those_of_their_own_changefeed() -> None:
    """max-message-bytes does not concern them; before 5.4, Canal-JSON has its statements in every partition."""
    uri = "kafka://127.0.0.1:9092/main?protocol=open-protocol&max-message-bytes=300"
    (job,) = explained("alter table ORDERS add c int", uri=uri).jobs
    assert [len(message.value) > 300 for message in job.events[0].messages] == [False, False, True, True]
    (job,) = explained("drop table loose", "v5.3.0", config="").jobs
    assert [message.partitions for message in job.events[0].messages] == [(0, 1), (0, 1), (0, 1)]


@pytest.mark.parametrize(
    ("text", "decision", "why"),
    [
        ("alter table orders add c int", "send", "rule shop.* of filter.rules"),
        ("alter table orders cache", "discard", "AlterCacheTable (57) is not in the allow-list of TiCDC v8.5.3"),
        ("create table secret1 (a int primary key)", "discard", "rule !shop.secret* of filter.rules"),
        ("create table mysql.x (a int)", "discard", "mysql is a system schema, which TiCDC never replicates"),
        ("create database other", "discard", "the rules have no tables of database other"),
        ("alter database shop charset latin1", "send", "the rules have tables of database Shop"),
        ("alter table orders drop column note", "ignore", "filter.event-filters[1] with matcher Shop.Orders"),
        ("alter table loose add b int", "ineligible", "Shop.loose has no valid index, and force-replicate is off"),
        ("alter table loose add primary key (a)", "send", "rule shop.* of filter.rules"),
        ("rename table orders to secrets", "send", "the old name is in the rules: rule shop.* of filter.rules"),
    ],
)
def test_the_rule_that_decides_is_named(text: str, decision: str, why: str) -> None:
    assert outcome(text) == (decision, why)


def test_a_renamed_table_goes_to_the_topic_of_its_old_name() -> None:
    found = explained("rename table orders to hidden.o2")
    (job,) = found.jobs
    assert job.renamed == (("Shop.Orders", "hidden.o2"),)
    assert (job.events[0].topic, job.events[0].table) == ("of_Shop_Orders", "o2")
    assert found.schema_changes[0].lines == ("renamed: Shop.Orders → hidden.o2",)


def test_a_table_change_lists_columns_keys_and_handle() -> None:
    (change,) = explained("alter table orders add c int not null default 3 first, drop index u").schema_changes
    assert change.before is not None and change.after is not None
    assert [column.name for column in change.after.columns] == ["c", "id", "note"]
    assert change.lines == (
        "column c comes: int(11) not null default '3'; binary",
        "column note: varchar(20) not null; unique key → varchar(20) not null; no flags",
        "key u goes: unique (note)",
    )
    (change,) = explained("alter table only_unique drop index a", config="force-replicate = true").schema_changes
    assert "handle key a → none" in change.lines


def test_a_statement_without_a_job_is_noted_and_without_tables_its_names_are_as_they_are() -> None:
    found = explained("alter table orders add column if not exists note int")
    assert (found.jobs, found.notes) == ((), ("Duplicate column name 'note': no job",))
    found = explained("alter table t drop primary key", known=None)
    assert ([job.outcome for job in found.jobs], found.schema_changes) == (["send"], ())


def test_people_read_decision_text_topic_and_bytes() -> None:
    lines = list(ddl_lines(explained("alter table loose add primary key (a)")))
    assert lines[0] == "one job of TiDB, under TiCDC v8.5.3 (classic)"
    assert "decision     sent" in lines
    assert "text         ALTER TABLE `loose` ADD PRIMARY KEY(`a`)" in lines
    assert any(line.startswith("open-protocol partitions 0, 1") for line in lines)
    assert "  handle key none → a" in lines


def table(name: str, config: str = CONFIG) -> TableExplained:
    found = KNOWN.table("shop", name)
    assert found is not None
    return explain_table(found, load("kafka://127.0.0.1:9092/main?protocol=canal-json", config), find("v8.5.3"))


def test_a_table_is_explained_by_filter_key_dispatcher_and_topic() -> None:
    orders = table("orders")
    assert (orders.replicated, orders.filter_rule) == (True, "rule shop.* of filter.rules")
    assert (orders.eligible, orders.handle, orders.table.handle_key) == (True, "clustered primary key", ("id",))
    assert (orders.dispatcher, orders.hashed, orders.topic) == ("index-value", ("id",), "of_Shop_Orders")
    assert orders.dispatcher_rule == "shop.o* (sink.dispatchers[1])"


def test_a_table_without_a_primary_key_has_a_unique_key_for_handle_or_none() -> None:
    assert (table("only_unique").handle, table("only_unique").table.handle_key) == ("unique key a", ("a",))
    assert (table("loose").handle, table("loose").eligible) == ("", False)
    assert table("loose", "force-replicate = true").eligible
    assert (table("loose").dispatcher, table("loose").topic) == ("table", "main")


# -- the command line --------------------------------------------------------------------------------------------


@pytest.fixture(name="schema")
def _schema(tmp_path: Path) -> tuple[str, ...]:
    """The options that name the tables of SCHEMA."""
    path = tmp_path / "schema.sql"
    path.write_text(SCHEMA, "utf-8")
    return "--schema", str(path), "--use", "shop"


def document(what: str, *arguments: str) -> Any:
    """What `explain` prints as JSON."""
    code, out, err = said("explain", what, *arguments, "--json")
    assert (code, err) == (0, [])
    return json.loads(out)


def test_programs_read_json(schema: tuple[str, ...]) -> None:
    """One statement is one document, after any USE, and without a catalog."""
    found = document("ddl", "truncate orders", *schema)
    assert set(found) == {"statement", "release", "architecture", "jobs", "notes", "schema_changes"}
    (job,) = found["jobs"]
    assert (job["type_code"], job["outcome"]) == (11, "send")
    message = job["events"][0]["messages"][0]
    assert bytes.fromhex(message["value"]["hex"]).decode() == message["value"]["text"]
    assert document("table", "shop.orders", *schema)["handle"] == "clustered primary key"
    assert document("ddl", "USE hidden; DROP TABLE IF EXISTS x;", *schema)["jobs"] == []
    assert document("ddl", "USE d; DROP TABLE x")["jobs"][0]["schema"] == "d"
    two = document("ddl", "DROP TABLE x; CREATE INDEX i ON y (a)")
    assert [found["jobs"][0]["type_code"] for found in two] == [4, 7]


def test_people_read_lines(schema: tuple[str, ...]) -> None:
    dropped = said("explain", "ddl", "drop table a.b", "--release", "v8.5.7", "--architecture", "new")
    assert (dropped.code, "TiCDC v8.5.7 (new)" in dropped.out) == (0, True)
    assert "handle key   id, of the clustered primary key" in said("explain", "table", "orders", *schema).out


@pytest.mark.parametrize(
    ("release", "statement", "rows"),
    [
        ("v8.5.3", "alter table t add column a int", "later rows of its own table"),
        ("v8.5.3", "create database d", "later rows of all tables"),
        ("v6.5.1", "alter table t add column a int", "later rows of all tables"),
    ],
)
def test_a_statement_names_the_rows_it_holds_back(release: str, statement: str, rows: str) -> None:
    """Since 6.5.2 and 7.0 these are the rows of one table, before of all tables."""
    assert f"holds back   {rows}" in said("explain", "ddl", statement, "--release", release).out


def test_several_statements_are_explained_in_order(schema: tuple[str, ...]) -> None:
    """USE is executed; CREATE TABLE is a job of its own."""
    statements = (
        "ALTER TABLE orders ADD COLUMN c INT",
        "ALTER TABLE orders ADD INDEX (c)",
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b LIKE a",
    )
    text = "{}; {}; USE hidden; {}; {}".format(*statements)
    found = document("ddl", text, *schema)
    assert [(job["type_code"], job["schema"], job["table"]) for document in found for job in document["jobs"]] == [
        (5, "Shop", "Orders"),
        (7, "Shop", "Orders"),
        (3, "hidden", "a"),
        (3, "hidden", "b"),
    ]
    assert found[0]["statement"] == statements[0]
    lines = said("explain", "ddl", text, *schema).out.splitlines()
    wanted = [f"statement {number} of 4: {statement}" for number, statement in enumerate(statements, 1)]
    assert [line for line in lines if line.startswith("statement ")] == wanted


def test_a_rejected_statement_has_its_number(schema: tuple[str, ...]) -> None:
    text = "ALTER TABLE orders DROP COLUMN note; ALTER TABLE orders DROP COLUMN note; DROP TABLE orders"
    error = "ticdc-sim: [ddl:1091] statement 2 of 3: Can't DROP 'note'; check that column/key exists"
    code, out, err = said("explain", "ddl", text, *schema)
    assert (code, err, "statement 1 of 3" in out, "2 of" in out) == (2, [error], True, False)
    code, out, err = said("explain", "ddl", text, *schema, "--json")
    assert (code, err, len(json.loads(out))) == (2, [error], 1)
