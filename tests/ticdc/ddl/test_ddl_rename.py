"""RENAME TABLE under a table filter: what goes on, what is dropped, what stops the changefeed."""

from __future__ import annotations

import pytest

from simulator.errors import DdlError
from simulator.releases import Release, find
from simulator.ticdc.ddl.rename import Rename, rename_texts, replicated_pairs, schema_snapshot
from simulator.ticdc.filters import replication
from simulator.tidb.syntax.definitions import Pair, TableName

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


@pytest.mark.parametrize("release", [CLASSIC, NEW], ids=lambda release: str(release.name))
def test_a_table_may_leave_the_filter_and_not_enter_it(release: Release) -> None:
    assert decided(release, "shop.t1 > shop.t9") == ["shop.t1 > shop.t9"]
    assert decided(release, "shop.t1 > shop.x") == ["shop.t1 > shop.x"]
    assert decided(release, "shop.t1 > hidden.t1") == ["shop.t1 > hidden.t1"]
    assert decided(release, "hidden.t1 > hidden.t2") == []
    assert decided(release, "shop.x > shop.t9") == ["CDC:ErrSyncRenameTableFailed"]


@pytest.mark.parametrize("release", [CLASSIC, NEW], ids=lambda release: str(release.name))
def test_pairs_that_were_never_in_the_filter_drop_out(release: Release) -> None:
    assert decided(release, "shop.t1 > shop.t9", "shop.x > shop.y") == ["shop.t1 > shop.t9"]
    assert decided(release, "shop.x > shop.y", "shop.v > shop.w") == []


def test_classic_fails_on_swaps_and_on_databases_it_does_not_know() -> None:
    swap = ("shop.t1 > shop.t9", "shop.t2 > shop.t1", "shop.t9 > shop.t2")
    known_too = "shop.t1 shop.t2 shop.t9"
    assert decided(CLASSIC, *swap, tables=known_too) == ["CDC:ErrHandleDDLFailed", "CDC:ErrSnapshotTableNotFound"]
    leaving = ("shop.t1 > hidden.t1", "shop.t2 > shop.t9")
    assert decided(CLASSIC, *leaving) == ["CDC:ErrHandleDDLFailed", "CDC:ErrSnapshotSchemaNotFound"]
    assert decided(CLASSIC, *leaving, schemas="shop hidden") == list(leaving)


def test_the_new_architecture_takes_swaps_and_databases_it_does_not_know() -> None:
    swap = ("shop.t1 > shop.t9", "shop.t2 > shop.t1", "shop.t9 > shop.t2")
    assert decided(NEW, *swap) == list(swap)
    leaving = ("shop.t1 > hidden.t1", "shop.t2 > shop.t9")
    assert decided(NEW, *leaving) == list(leaving)


def test_a_chain_that_moves_no_table_twice_is_no_swap() -> None:
    chain = ("shop.t2 > shop.t9", "shop.t1 > shop.t2")
    assert decided(CLASSIC, *chain) == list(chain)


def test_tables_that_ticdc_does_not_know_are_as_good_as_filtered() -> None:
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


def test_the_wrapper_says_how_to_skip_the_statement() -> None:
    with pytest.raises(DdlError) as caught:
        replicated_pairs(
            Rename(pairs("shop.t1 > b.t1", "shop.t2 > b.t2"), "RENAME …", 41),
            lambda *_: False,
            schema_snapshot([("shop", "t1"), ("shop", "t2")], ["shop"]),
            CLASSIC,
        )
    assert str(caught.value) == (
        "[CDC:ErrHandleDDLFailed] handle ddl failed, query: RENAME …, startTs: 41. If you want to skip this DDL and "
        "continue with replication, you can manually execute this DDL downstream. Afterwards, add "
        "`ignore-txn-start-ts=[41]` to the changefeed in the filter configuration.: [CDC:ErrSnapshotSchemaNotFound]"
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
