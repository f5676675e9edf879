"""RENAME TABLE beside the vectors (facts.rename): under a table filter, and under event filters as `explain ddl` tells
it: by which of its names, and by which text, it is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.codec_rows import EVERY, by_answer
from support.playing import output_of

from simulator.errors import DdlError
from simulator.releases import Release, find
from simulator.ticdc.ddl.rename import Rename, rename_texts, replicated_pairs, schema_snapshot
from simulator.ticdc.rules import replication
from simulator.tidb.syntax.definitions import Pair
from simulator.tidb.syntax.expressions import TableName

CLASSIC, NEW = find("v8.5.3"), find("v8.5.7", "new")
FOLLOWED = replication(["shop.t*"])


def name(full: str) -> TableName:
    schema, _, table = full.rpartition(".")
    return TableName(schema, table)


def pairs(*texts: str) -> tuple[Pair, ...]:
    """Of `a.b > c.d` two names."""
    return tuple((name(old), name(new)) for old, new in (text.split(" > ") for text in texts))


def decided(release: Release, *texts: str, tables: str = "shop.t1 shop.t2 shop.t3", schemas: str = "shop") -> list[str]:
    """The kept pairs, or the code of the error and, where it is wrapped, of the one inside."""
    snapshot = schema_snapshot(map(name, tables.split()), schemas.split())
    rename = Rename(pairs(*texts), f"RENAME TABLE {', '.join(texts)}", 7)
    try:
        kept = replicated_pairs(rename, lambda schema, table: not FOLLOWED.table(schema, table), snapshot, release)
    except DdlError as error:
        _, wrapped, inner = error.text.partition("[CDC:")
        return [error.code, "CDC:" + inner.partition("]")[0]] if wrapped else [error.code]
    return [f"{'.'.join(old)} > {'.'.join(new)}" for old, new in kept]


def test_the_new_architecture_takes_a_swap_of_names() -> None:
    swap = ("shop.t1 > shop.t9", "shop.t2 > shop.t1", "shop.t9 > shop.t2")
    assert decided(NEW, *swap) == list(swap)


def test_tables_that_ticdc_does_not_know_are_as_good_as_filtered() -> None:
    """Names are known in any letter case."""
    assert decided(CLASSIC, "shop.t7 > shop.x") == []
    assert decided(CLASSIC, "shop.t7 > shop.t8") == ["CDC:ErrSyncRenameTableFailed"]
    assert decided(CLASSIC, "SHOP.T1 > shop.t8") == ["SHOP.T1 > shop.t8"]


def test_up_to_6_2_the_new_name_decides() -> None:
    release = find("v6.1.0")
    assert decided(release, "shop.t1 > hidden.t1") == []
    assert decided(release, "hidden.t1 > shop.t1", "shop.t2 > shop.x") == ["hidden.t1 > shop.t1"]


@pytest.mark.parametrize("tag", ["v6.3.0", "v6.5.3", "v6.6.0", "v7.1.1", "v7.3.0"])
def test_up_to_6_5_3_the_old_table_is_looked_for_in_the_new_database(tag: str) -> None:
    release = find(tag)
    assert decided(release, "shop.t1 > hidden.t1", schemas="shop hidden") == []
    assert decided(release, "shop.t1 > hidden.t1") == []
    assert decided(release, "shop.t1 > shop.x") == ["shop.t1 > shop.x"]
    assert decided(release, "hidden.t1 > shop.t1") == ["CDC:ErrSyncRenameTableFailed"]
    assert decided(release, "shop.t1 > hidden.t1", "shop.t2 > shop.t9") == ["CDC:ErrSnapshotSchemaNotFound"]


@pytest.mark.parametrize(
    ("tag", "one", "several", "snapshot"),
    [
        ("v6.5.9", True, True, True),
        ("v6.5.10", False, True, True),
        ("v7.1.5", True, True, True),
        ("v7.1.6", False, False, True),
        ("v7.5.1", True, True, True),
        ("v7.5.2", False, False, False),
        ("v7.5.7", False, True, True),
        ("v8.0.0", True, True, True),
        ("v8.1.0", False, True, True),
    ],
)
def test_which_errors_are_wrapped_depends_on_the_release(tag: str, one: bool, several: bool, snapshot: bool) -> None:
    release = find(tag)
    assert (decided(release, "x.x > shop.t9")[0] == "CDC:ErrHandleDDLFailed") is one
    assert (decided(release, "x.x > shop.t9", "shop.t1 > shop.x")[0] == "CDC:ErrHandleDDLFailed") is several
    assert (decided(release, "shop.t1 > x.x", "shop.t2 > shop.x")[0] == "CDC:ErrHandleDDLFailed") is snapshot


JOB = (
    "ID:0, Type:rename tables, State:done, SchemaState:public, SchemaID:0, TableID:0, RowCount:0, ArgLen:5, "
    "start time: 1970-01-01 00:00:00 +0000 UTC, Err:<nil>, ErrCount:0, SnapshotVersion:0"
)


@pytest.mark.parametrize(
    ("tag", "values", "last"),
    [
        ("v8.5.3", "query: RENAME …, startTs: 41", "41"),
        ("v7.6.0", "query: RENAME …, startTs: 41", "41"),
        ("v6.5.4", f"job: {JOB}, query: RENAME …, startTs: 41", "41"),
        ("v7.5.1", f"job: {JOB}, query: RENAME …, startTs: 41", "41"),
        ("v7.5.7", "job: RENAME …, query: %!s(uint64=41), startTs: 41", "%!d(MISSING)"),
        ("v6.5.12", "job: RENAME …, query: %!s(uint64=41), startTs: 41", "%!d(MISSING)"),
    ],
)
def test_the_wrapper_says_how_to_skip_the_statement(tag: str, values: str, last: str) -> None:
    with pytest.raises(DdlError) as caught:
        replicated_pairs(
            Rename(pairs("shop.t1 > b.t1", "shop.t2 > b.t2"), "RENAME …", 41),
            lambda *_: False,
            schema_snapshot([("shop", "t1"), ("shop", "t2")], ["shop"]),
            find(tag),
        )
    assert str(caught.value) == (
        f"[CDC:ErrHandleDDLFailed] handle ddl failed, {values}. If you want to skip this DDL and "
        "continue with replication, you can manually execute this DDL downstream. Afterwards, add "
        f"`ignore-txn-start-ts=[{last}]` to the changefeed in the filter configuration.: [CDC:ErrSnapshotSchemaNotFound]"
        "schema 0 not found in schema snapshot"
    )


def texts(release: Release, *both: str) -> list[str]:
    """What is sent for pairs whose databases are `Shop` and `B`, from what the statement says."""
    written = pairs(*both)
    full = {"shop": "Shop", "b": "B", "": "Shop"}
    made = tuple(
        (TableName(full[old.schema.lower()], old.name), TableName(full[new.schema.lower()], new.name))
        for old, new in written
    )
    return list(rename_texts(made, written, release))


def test_classic_writes_several_pairs_by_the_names_of_the_tables() -> None:
    assert texts(CLASSIC, "t1 > shop.t2", "B.x > y") == [
        "RENAME TABLE `Shop`.`t1` TO `Shop`.`t2`",
        "RENAME TABLE `B`.`x` TO `Shop`.`y`",
    ]


@pytest.mark.parametrize(
    ("tag", "single", "several"),
    [
        ("v8.5.4", "RENAME TABLE `shop`.`t1` TO `B`.`t`2`", "RENAME TABLE `Shop`.`t1` TO `B`.`t`2`;"),
        ("v8.5.6", "RENAME TABLE `shop`.`t1` TO `B`.`t``2`", "RENAME TABLE `Shop`.`t1` TO `b`.`t``2`;"),
        ("v8.5.7", "RENAME TABLE `Shop`.`t1` TO `B`.`t``2`", "RENAME TABLE `Shop`.`t1` TO `b`.`t``2`;"),
    ],
)
def test_the_new_architecture_writes_every_pair_anew(tag: str, single: str, several: str) -> None:
    assert texts(find(tag, "new"), "t1 > b.t`2") == [single]
    assert texts(find(tag, "new"), "t1 > b.t`2", "x > y")[0] == several


# -- event filters ------------------------------------------------------------------------------------------------------

SCHEMA = "CREATE TABLE old (id int PRIMARY KEY); CREATE TABLE other (id int PRIMARY KEY); CREATE DATABASE Far;"

JUDGES = {
    "new-name": "v6.2.0 – v6.5.3, v6.5.8 – v6.5.11, v6.6.0 – v7.1.1, v7.1.4 – v7.3.0, v7.5.1 – v7.5.5, v8.0.0 – v8.5.0",
    "both-names": "v6.5.4 – v6.5.7, v7.1.2 – v7.1.3, v7.4.0 – v7.5.0, v7.6.0",
    "old-name": "v6.5.12, v7.5.6 – v7.5.8, v8.5.1 – v8.5.8, new:v8.5.4 – v26.3.4",
    "no name": "new:v9.0.0-beta.1 – v9.0.0-beta.2.pre",
}
"""Read at every tag that has event filters (tiflow, ticdc pkg/filter/sql_event_filter.go)."""

OUTCOMES = {
    "new-name": {"*.old": "send", "*.new": "ignore", "*.*": "ignore"},
    "both-names": {"*.old": "error", "*.new": "send", "*.*": "discard"},
    "old-name": {"*.old": "ignore", "*.new": "send", "*.*": "ignore"},
    "no name": {"*.old": "send", "*.new": "send", "*.*": "send"},
}
"""By the matcher of a filter that ignores `rename table`."""


@pytest.fixture(name="explained")
def explained_(tmp_path: Path) -> Any:
    """What `explain ddl` says of the one job of a statement, under the filter and the release."""
    (tmp_path / "schema.sql").write_text(SCHEMA)

    def explained(text: str, release: str, matcher: str, ignored: str | None) -> Any:
        architecture, _, tag = release.rpartition(":")
        filtered = f"[[filter.event-filters]]\nmatcher = ['{matcher}']\n{ignored}\n" if ignored else ""
        (tmp_path / "feed.toml").write_text(filtered)
        files = ("--schema", tmp_path / "schema.sql", "--config", tmp_path / "feed.toml")
        where = ("--use", "shop", "--release", tag, "--architecture", architecture or "classic")
        (job,) = json.loads(output_of("explain", "ddl", text, *files, *where, "--json"))["jobs"]
        return job

    return explained


@pytest.mark.parametrize(
    ("release", "judges"),
    [
        ("v6.2.0", "new-name"),
        ("v6.5.4", "both-names"),
        ("v7.6.0", "both-names"),
        ("v8.5.0", "new-name"),
        ("v8.5.3", "old-name"),
        ("new:v26.3.4", "old-name"),
        ("new:v9.0.0-beta.1", "no name"),
    ],
)
def test_a_rename_is_judged_by_the_name_that_its_release_looks_at(explained: Any, release: str, judges: str) -> None:
    ignored = "ignore-event = ['rename table']"
    found = {matcher: explained("RENAME TABLE old TO new", release, matcher, ignored) for matcher in OUTCOMES[judges]}
    assert {matcher: job["outcome"] for matcher, job in found.items()} == OUTCOMES[judges]
    if judges == "both-names":
        assert "CDC:ErrSyncRenameTableFailed" in found["*.old"]["why"]


def test_which_name_a_release_looks_at() -> None:
    filtering = [release for release in EVERY if release.event_filter_names]
    found = by_answer(lambda of: of.event_filter_rename if of.event_filter_ddl else "no name", filtering)
    assert found == JUDGES


@pytest.mark.parametrize(
    ("release", "kept"), [("v6.5.3", ["old"]), ("v8.5.0", ["old"]), ("v8.5.3", ["other"]), ("new:v8.5.7", ["other"])]
)
def test_of_several_pairs_each_is_judged_by_itself(explained: Any, release: str, kept: list[str]) -> None:
    """The filter knows one table by its old name, the other by its new one."""
    text = "RENAME TABLE old TO new, other TO old2"
    job = explained(text, release, "*.old*", "ignore-event = ['rename table']")
    assert [event["query"].split("`")[3] for event in job["events"]] == kept


@pytest.mark.parametrize(
    ("release", "pattern", "kept"),
    [
        ("v8.5.3", "^RENAME TABLE old", 2),
        ("v8.5.3", "^RENAME TABLE `shop`.`other`", 1),
        ("v8.5.3", "`;RENAME", 2),
        ("v7.5.0", "^RENAME TABLE old", 0),
        ("v7.5.0", "^RENAME TABLE `shop`.`other`", 1),
        ("new:v8.5.7", "^RENAME TABLE `shop`.`old`", 0),
        ("new:v8.5.7", "TO `shop`.`new`;RENAME TABLE `shop`.`other`", 0),
        ("new:v8.5.7", "^RENAME TABLE old", 2),
    ],
)
def test_ignore_sql_sees_ticdcs_text_of_several_pairs(explained: Any, release: str, pattern: str, kept: int) -> None:
    """Classic, that of the pair, before it the statement's where filters discard; new, those of all pairs joined."""
    job = explained("RENAME TABLE old TO new, other TO far.other", release, "*.*", f"ignore-sql = ['{pattern}']")
    assert len(job["events"]) == kept


@pytest.mark.parametrize("release", ["v8.5.3", "v7.5.0"])
def test_ignore_sql_sees_the_statement_of_a_single_pair(explained: Any, release: str) -> None:
    """As it was typed, where the new architecture has its own text of it."""
    assert explained("rename table old to new", release, "*.*", "ignore-sql = ['old to']")["events"] == []
    assert len(explained("rename table old to new", "new:v8.5.4", "*.*", "ignore-sql = ['old to']")["events"]) == 1
    assert explained("rename table old to new", "new:v8.5.4", "*.*", "ignore-sql = ['`old` TO']")["events"] == []


@pytest.mark.parametrize(("release", "discards"), [("v7.5.0", "discard"), ("v7.5.1", "send"), ("v8.5.3", "send")])
def test_a_text_that_ticdc_makes_up_is_ignored_behind_the_schema(explained: Any, release: str, discards: str) -> None:
    """Even where filters discard, as they look at the statement's own text then."""
    assert explained("drop table if exists old", release, "*.*", "ignore-sql = ['`shop`']")["outcome"] == "ignore"
    assert explained("drop table if exists old", release, "*.*", "ignore-sql = ['exists']")["outcome"] == discards


def test_the_job_of_one_pair_has_the_new_database_in_lower_case(explained: Any) -> None:
    """And event filters of the classic architecture mind the case (tidb: SchemaName of the job of RENAME TABLE)."""
    text, ignored = "RENAME TABLE old TO Far.new", "ignore-event = ['rename table']"
    assert explained(text, "v8.5.0", "Far.new", ignored)["outcome"] == "send"
    assert explained(text, "v8.5.0", "far.new", ignored)["outcome"] == "ignore"
    several = explained("RENAME TABLE old TO Far.new, other TO o2", "v8.5.0", "Far.new", ignored)
    assert [event["table"] for event in several["events"]] == ["o2"]


@pytest.mark.parametrize(("release", "schema"), [("v6.1.0", "far"), ("v6.2.0", "far"), ("v6.3.0", "Far")])
def test_up_to_6_2_the_databases_of_several_pairs_are_in_lower_case(explained: Any, release: str, schema: str) -> None:
    """In text and name (tiflow v6.2.0 cdc/owner/schema.go parseRenameTables)."""
    config = "ignore-event = ['insert']" if release != "v6.1.0" else None
    job = explained("RENAME TABLE old TO Far.new, other TO o2", release, "x.x", config)
    first = job["events"][0]
    assert (first["schema"], first["query"]) == (schema, f"RENAME TABLE `shop`.`old` TO `{schema}`.`new`")


@pytest.mark.parametrize("release", ["v6.5.4", "v7.5.7", "v8.5.3"])
def test_a_table_that_is_renamed_twice_is_not_found_the_second_time(explained: Any, release: str) -> None:
    """It is looked up by its id, with its name before the statement, and kept; the new architecture takes each pair."""
    text = "RENAME TABLE old TO tmp, tmp TO new"
    assert "CDC:ErrSnapshotTableNotFound" in explained(text, release, "x.x", "ignore-event = ['insert']")["why"]
    found = explained(text, "new:v8.5.7", "x.x", "ignore-event = ['insert']")
    assert [event["table"] for event in found["events"]] == ["tmp", "new"]
