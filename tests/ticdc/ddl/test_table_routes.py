"""Table routing: the names that messages and statements have, and what stays as it is (ticdc v8.5.7 pkg/routing)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.playing import assert_leads, output_of, play, state, tables_of

from simulator.errors import ChangefeedError, DdlError
from simulator.reader.contract.stream_spec import sent_tables
from simulator.reader.records import read_records
from simulator.releases import find
from simulator.ticdc.changefeed import load
from simulator.ticdc.ddl.events import route_statement
from simulator.ticdc.dispatch import find_conflict, table_routes
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.restore.ddl import restore_statement
from simulator.tidb.syntax.expressions import TableName

RELEASE = find("v8.5.7", "new")
URI = "kafka://127.0.0.1:1/all?protocol={}&partition-num=3&enable-tidb-extension=true"
NEW_RELEASE = ("--release", "v8.5.7", "--architecture", "new")
TOML = """
[sink]
dispatchers = [
    {matcher = ["other.*"], topic = "others"},
    {matcher = ["shop.*"], partition = "index-value", topic = "{schema}", TARGETS},
    {matcher = ["far.*", "bak.*"], partition = "table", topic = "wrong"},
]
""".replace("TARGETS", 'target-schema = "far", target-table = "{table}_r"')


def routes_of(*rules: dict[str, Any], case_sensitive: bool = False) -> Any:
    lines = "\n".join(
        "{%s}," % ", ".join(f"{name} = {json.dumps(value)}" for name, value in rule.items()) for rule in rules
    )
    feed = load(URI.format("open-protocol"), f"[sink]\ndispatchers = [\n{lines}\n]", RELEASE)
    return table_routes(feed.dispatchers, case_sensitive)


def rule(matcher: str, schema: str = "", table: str = "") -> dict[str, Any]:
    return {"matcher": [matcher], "target-schema": schema, "target-table": table}


@pytest.mark.parametrize(
    ("rules", "name", "target"),
    [
        ([rule("a.*", "b")], "a.t", "b.t"),
        ([rule("a.*", "", "{schema}_{table}_x")], "a.t", "a.a_t_x"),
        ([rule("A.*", "{schema}{schema}")], "a.T", "aa.T"),
        ([rule("a.*"), rule("*.t", "c"), rule("a.t", "d")], "a.t", "c.t"),
        ([rule("a.*", "b")], "x.t", "x.t"),
        ([rule("a.*", "b", "c")], "a.", "b."),
        ([rule("a.t", "b"), rule("a.*", "{schema}")], "x.", "x."),
    ],
)
def test_the_first_rule_with_a_target_gives_the_name(rules: list[dict[str, Any]], name: str, target: str) -> None:
    """Rules without one are passed over; a database has the schema's alone."""
    assert ".".join(routes_of(*rules).target(*name.split("."))) == target


def test_a_database_with_two_names_is_an_error() -> None:
    routes = routes_of(rule("a.t", "b"), rule("a.*", "c"))
    assert routes.target("a", "t") == TableName("b", "t")
    said = "ambiguous schema routing for schema a: target schema c conflicts with b"
    with pytest.raises(DdlError, match=said) as caught:
        routes.target("a", "")
    assert caught.value.code == "CDC:ErrTableRoutingFailed"


@pytest.mark.parametrize("given", ["{db}", "a{", "}", "{schema"])
def test_a_target_holds_literal_text_schema_and_table(given: str) -> None:
    with pytest.raises(ChangefeedError) as caught:
        routes_of(rule("a.*", "", given))
    said = f'target-table "{given}" must contain only literal text, {{schema}}, and {{table}}'
    assert (caught.value.code, caught.value.text) == ("CDC:ErrInvalidTableRoutingRule", said)


def test_two_tables_under_one_name_are_a_conflict() -> None:
    said = "table route conflict: target `b`.`t` is mapped by both source `a`.`t` and source `b`.`t`"
    assert find_conflict(routes_of(rule("a.*", "b")), [("a", "t"), ("b", "t")]) == said
    assert find_conflict(routes_of(rule("a.*", "b", "{table}_a")), [("a", "t"), ("b", "t")]) == ""


VIEW = "CREATE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `x`.`v_r` AS "
ROUTED = r"""
CREATE DATABASE s
    CREATE DATABASE `x`
ALTER DATABASE s CHARACTER SET utf8mb4
    ALTER DATABASE `x` CHARACTER SET = utf8mb4
DROP DATABASE IF EXISTS s
    DROP DATABASE IF EXISTS `x`
CREATE TABLE t (id int, foreign key (id) references u (id))
    CREATE TABLE `x`.`t_r` (`id` INT,CONSTRAINT FOREIGN KEY (`id`) REFERENCES `x`.`u_r`(`id`))
CREATE TABLE s.t LIKE o.u
    CREATE TABLE `x`.`t_r` LIKE `o`.`u`
CREATE TABLE o.u LIKE s.t
    CREATE TABLE `o`.`u` LIKE `x`.`t_r`
DROP TABLE s.t
    DROP TABLE `x`.`t_r`
TRUNCATE TABLE t
    TRUNCATE TABLE `x`.`t_r`
RENAME TABLE s.t TO o.t, o.u TO s.u
    RENAME TABLE `x`.`t_r` TO `o`.`t`, `o`.`u` TO `x`.`u_r`
CREATE INDEX i ON t (a)
    CREATE INDEX `i` ON `x`.`t_r` (`a`)
DROP INDEX i ON t
    DROP INDEX `i` ON `x`.`t_r`
ALTER TABLE t ADD COLUMN c INT, ADD CONSTRAINT f FOREIGN KEY (c) REFERENCES o.u (id)
    ALTER TABLE `x`.`t_r` ADD COLUMN `c` INT, ADD CONSTRAINT `f` FOREIGN KEY (`c`) REFERENCES `o`.`u`(`id`)
ALTER TABLE o.t EXCHANGE PARTITION p WITH TABLE s.u
    ALTER TABLE `o`.`t` EXCHANGE PARTITION `p` WITH TABLE `x`.`u_r`
FLASHBACK TABLE t TO v
    FLASHBACK TABLE `x`.`t_r` TO `v`
CREATE VIEW v AS SELECT s.t.a, u.b FROM s.t JOIN o.u ON t.a = u.b
    VIEW SELECT `x`.`t_r`.`a`,`u`.`b` FROM `x`.`t_r` JOIN `o`.`u` ON `t`.`a`=`u`.`b`
CREATE VIEW v AS WITH c AS (SELECT a FROM t) SELECT s.t.a FROM t JOIN c
    VIEW WITH `c` AS (SELECT `a` FROM `x`.`t_r`) SELECT `x`.`t_r`.`a` FROM `x`.`t_r` JOIN `x`.`c_r`
DROP VIEW v
    DROP VIEW `x`.`v_r`
ALTER TABLE o.t COMMENT 'a;b'
    ALTER TABLE `o`.`t` COMMENT = 'a;b'
""".replace("    VIEW ", f"    {VIEW}")
"""Statements in the database `s`, and below each what is sent of it."""


@pytest.mark.parametrize("place", range(0, len(ROUTED.splitlines()) - 1, 2))
def test_every_name_in_a_statement_is_routed(place: int) -> None:
    """Those without a database are the event's, and stay as they are where nothing is routed."""
    text, sent = ROUTED.splitlines()[1:][place : place + 2]
    statement = parse_ddl(text)
    assert statement is not None
    found = route_statement(statement, "s", routes_of(rule("s.*", "x", "{table}_r")).target)
    assert restore_statement(found) == sent.strip()
    assert (found == statement) is ("`x`" not in sent)


@pytest.fixture(name="explained")
def explained_(tmp_path: Path) -> Any:
    """What `explain` says as JSON, under TOML."""
    (tmp_path / "schema.sql").write_text(
        "CREATE TABLE t (id int PRIMARY KEY); CREATE DATABASE other; CREATE DATABASE far;"
        "CREATE TABLE far.u_r (id int PRIMARY KEY, v text);"
    )
    (tmp_path / "feed.toml").write_text(TOML)

    def explained(*arguments: str) -> Any:
        files = ("--schema", tmp_path / "schema.sql", "--config", tmp_path / "feed.toml")
        options = ("--use", "shop", *NEW_RELEASE, "--json", "--sink-uri", URI.format("open-protocol"))
        return json.loads(output_of("explain", *arguments, *files, *options))

    return explained


def sent(job: dict[str, Any], protocol: str) -> dict[str, Any]:
    """The message of the one event of a job: of Open Protocol its key and value."""
    (event,) = job["events"]
    (message,) = (routes_of for routes_of in event["messages"] if routes_of["protocol"] == protocol)
    if protocol == "canal-json":
        return dict(json.loads(message["value"]["text"]))
    return {**json.loads(message["key"]["text"][16:]), **json.loads(message["value"]["text"][8:])}


def test_a_statement_has_the_target_in_its_message_and_goes_to_the_sources_topic(explained: Any) -> None:
    (job,) = explained("ddl", "alter table t add c int")["jobs"]
    said = {"scm": "far", "tbl": "t_r", "q": "ALTER TABLE `far`.`t_r` ADD COLUMN `c` INT"}
    assert said.items() <= sent(job, "open-protocol").items()
    assert {"database": "far", "table": "t_r"}.items() <= sent(job, "canal-json").items()
    (event,) = job["events"]
    assert (event["schema"], event["table"], event["sent_as"], event["topic"]) == ("shop", "t", "far.t_r", "shop")


def test_a_renamed_table_has_the_targets_of_both_names(explained: Any) -> None:
    """Its topic is that of the old name in TiDB; a name without a rule stays."""
    (job,) = explained("ddl", "rename table t to other.t")["jobs"]
    assert job["events"][0]["query"] == "RENAME TABLE `far`.`t_r` TO `other`.`t`"
    assert (job["events"][0]["topic"], job["events"][0]["sent_as"]) == ("shop", "other.t")
    (several,) = explained("ddl", "rename table t to v, far.u_r to other.u")["jobs"]
    assert [(event["query"], event["sent_as"]) for event in several["events"]] == [
        ("RENAME TABLE `far`.`t_r` TO `far`.`v_r`;", "far.v_r"),
        ("RENAME TABLE `far`.`u_r` TO `other`.`u`;", ""),
    ]


@pytest.mark.parametrize("text", ["create table u (id int primary key)", "rename table t to u"])
def test_a_statement_that_gives_a_table_anothers_name_stops_the_changefeed(explained: Any, text: str) -> None:
    (job,) = explained("ddl", text)["jobs"]
    assert job["outcome"] == "error"
    assert job["why"] == (
        "[CDC:ErrTableRouteConflict] table route conflict: target `far`.`u_r` is mapped by both source `far`.`u_r` and "
        "source `shop`.`u`"
    )


def test_what_is_not_routed_keeps_its_text(explained: Any) -> None:
    (job,) = explained("ddl", "create table other.v (id int primary key)")["jobs"]
    (event,) = job["events"]
    assert (event["query"], event["sent_as"]) == ("CREATE TABLE `other`.`v` (`id` INT PRIMARY KEY)", "")


def test_full_text_indexes_are_not_routed_at_all(explained: Any) -> None:
    (job,) = explained("ddl", "alter table far.u_r add fulltext index i (v)")["jobs"]
    assert "[CDC:ErrTableRoutingFailed] table routing does not support ddl type 230" in job["why"]


def test_explain_table_tells_the_target(explained: Any) -> None:
    found = explained("table", "shop.t")
    assert (found["sent_as"], found["topic"], found["dispatcher"]) == ("far.t_r", "shop", "index-value")


@pytest.mark.parametrize(
    ("protocol", "member"),
    [("open-protocol", '"scm":"far","tbl":"t_r"'), ("canal-json", '"database":"far","table":"t_r"')],
)
def test_explain_row_sends_the_target_and_dispatches_by_the_source(protocol: str, member: str, tmp_path: Path) -> None:
    (tmp_path / "t.sql").write_text("CREATE TABLE t (id int PRIMARY KEY);")
    outputs = []
    unrouted = TOML.replace(', target-schema = "far", target-table = "{table}_r"', "")
    for name, toml in (("routed", TOML), ("plain", unrouted)):
        (tmp_path / name).write_text(toml)
        files = ("--schema", tmp_path / "t.sql", "--config", tmp_path / name)
        uri = ("--sink-uri", URI.format(protocol))
        outputs.append(output_of("explain", "row", *files, "--use", "shop", *NEW_RELEASE, *uri, '{"after": {"id": 7}}'))
    routed, plain = outputs
    assert "sent as      far.t_r" in routed and member in routed and "sent as" not in plain
    for name in ("dispatcher ", "destination "):
        assert len({tuple(line for line in output.splitlines() if name in line) for output in outputs}) == 1


def test_other_releases_do_not_know_targets() -> None:
    """The classic architecture none, the new one 8.5.7 alone so far."""
    for release in (find("v8.5.7"), find("v8.5.6", "new"), find("v26.3.4", "new")):
        with pytest.raises(ChangefeedError, match="sink.dispatchers.target-schema"):
            load(URI.format("open-protocol"), TOML, release)


def databases(directory: Path) -> tuple[Path, Path]:
    """Two tables, one of which is routed, changed by rows and by a statement."""
    found = directory / "before", directory / "after"
    for number, folder in enumerate(found):
        folder.mkdir()
        more = ", `c` int" if number else ""
        for name in ("shop.t", "bak.t"):
            table = name.partition(".")[2]
            (folder / f"{name}-schema.sql").write_text(f"CREATE TABLE `{table}` (`id` int PRIMARY KEY{more});\n")
            cells = ",5" if number else ""
            rows = range(number * 9, 30 + number * 9)
            (folder / f"{name}.csv").write_text("".join(f"{row}{cells}\n" for row in rows))
    return found


def play_diff(before: Path, after: Path, uri: str, directory: Path) -> int:
    """The exit code of a comparison with the directory's changefeed.toml, which writes fixtures into it."""
    files = ("--config", directory / "changefeed.toml", "--fixtures", directory / "out")
    return play("diff", before, after, "--sink-uri", uri, *NEW_RELEASE, *files)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["open-protocol", "canal-json"])
def test_a_run_tells_of_targets_alone_and_keeps_the_contract(protocol: str, tmp_path: Path) -> None:
    """Rows and statements lead a consumer of those names to the state after."""
    before, after = databases(tmp_path)
    (tmp_path / "changefeed.toml").write_text(TOML)
    uri = URI.format(protocol)
    assert play_diff(before, after, uri, tmp_path) == 0
    records, feed = list(read_records(str(tmp_path / "out"))), load(uri, TOML, RELEASE)
    assert {record.topic for record in records} == {"all", "shop", "wrong"}
    assert not any(b"shop" in (record.key or b"") + (record.value or b"") for record in records)
    tables = tables_of(after, before)
    names = dict(zip(tables, sent_tables(feed, tables.values(), RELEASE), strict=True))
    assert names == {("shop", "t"): ("far", "t_r"), ("bak", "t"): ("bak", "t")}
    was, then = ({names[name]: rows for name, rows in state(folder).items()} for folder in (before, after))
    assert_leads(records, feed, {"all": 3, "shop": 3, "wrong": 3}, tables, was, then, RELEASE)


def test_a_name_is_free_again_when_its_table_is_dropped(explained: Any) -> None:
    (job,) = explained("ddl", "rename table far.u_r to other.w, t to u")["jobs"]
    assert [event["sent_as"] for event in job["events"]] == ["", "far.u_r"]


def test_tables_that_meet_under_one_name_are_refused_at_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = databases(tmp_path)
    (tmp_path / "changefeed.toml").write_text('[sink]\ndispatchers = [{matcher = ["*.*"], target-schema = "one"}]\n')
    assert play_diff(before, after, URI.format("open-protocol"), tmp_path) == 2
    said = "table route conflict: target `one`.`t` is mapped by both source `bak`.`t` and source `shop`.`t`"
    assert said in capsys.readouterr().err
