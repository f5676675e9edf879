"""Routes of tables and partitions of rows, where the vectors say nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.changefeed import DispatchRule, load
from simulator.changefeed.keys import DISPATCHERS as SPELLINGS
from simulator.dispatch import (
    DISPATCHERS,
    Route,
    compile_rules,
    hash_row,
    inertia,
    partition_key,
    partition_of,
    route,
    router,
    substitute,
    topic_of_ddl,
    verify_tables,
)
from simulator.errors import ChangefeedError
from simulator.releases import V8_5, Release, find
from simulator.schema import parse
from simulator.schema.table import Table

EVERY = ("*.*",)
T = parse.create_table(
    "create table `S`.`T` (`Id` int primary key, `V` int as (`Id`) virtual, `A` varchar(9), `B` int not null,"
    " `C` enum('x','y'), unique key `UK` (`B`), key `K` (`A`))"
)
ROW = {"Id": "1", "A": None, "B": "7", "C": "y"}


def routed(*rules: DispatchRule, table: Table = T, release: Release = V8_5) -> Route:
    return route(compile_rules(rules, "default-topic"), table, release)


def crc(*pairs: tuple[str, str]) -> int:
    return inertia([("S".encode(), "T".encode()), *((name.encode(), value.encode()) for name, value in pairs)])


def test_the_changefeeds_spellings_are_the_registrys() -> None:
    assert set(SPELLINGS) == set(DISPATCHERS)


def test_no_rule_means_the_table_and_the_default_topic() -> None:
    assert Route("table", "default-topic") == routed()
    assert hash_row(routed(), T, ROW) == crc()


def test_the_first_rule_that_matches_decides_whatever_the_case() -> None:
    rules = DispatchRule(("s.t",), "ts", topic="one_{schema}"), DispatchRule(EVERY, "index-value", topic="two")
    to = routed(*rules)
    assert (to.dispatcher, to.topic, to.rule) == ("ts", "one_S", 0)


def test_index_value_hashes_the_handle_key_or_the_named_index() -> None:
    assert hash_row(routed(DispatchRule(EVERY, "index-value")), T, ROW) == crc(("Id", "1"))
    assert hash_row(routed(DispatchRule(EVERY, "rowid")), T, ROW) == crc(("Id", "1"))


def test_a_null_is_hashed_as_the_word_null_and_an_enum_by_its_number() -> None:
    table = replace(T, columns=tuple(column for column in T.columns if column.name != "V"))
    to = routed(DispatchRule(EVERY, "columns", columns=("a", "c")), table=table)
    assert hash_row(to, table, ROW) == crc(("A", "null"), ("C", "2"))


def test_after_a_virtual_column_classic_ticdc_hashes_the_column_that_follows() -> None:
    """OffsetsByNames counts all columns, the row has the visible ones (tiflow v8.5.3 cdc/model/schema_storage.go)."""
    by_column = routed(DispatchRule(EVERY, "columns", columns=("A",)))
    by_index = routed(DispatchRule(EVERY, "index-value", index="uk"))
    assert hash_row(by_column, T, ROW) == crc(("B", "7"))
    assert hash_row(by_index, T, ROW) == crc(("B", "2"))
    fixed = replace(V8_5, dispatch_skips_virtual=True)
    to = route(compile_rules([DispatchRule(EVERY, "columns", columns=("A",))], "t"), T, fixed)
    assert hash_row(to, T, ROW) == crc(("A", "null"))


def test_a_column_beyond_the_row_makes_ticdc_panic_and_is_refused() -> None:
    with pytest.raises(ChangefeedError, match="panics .* by column C: it counts virtual generated columns"):
        routed(DispatchRule(EVERY, "columns", columns=("C",)))


@pytest.mark.parametrize(("rule", "text"), [
    (DispatchRule(EVERY, "index-value", index="nope"), "index not found when verify the table, table: S.T, index: n"),
    (DispatchRule(EVERY, "rowid", index="k"), "index is not unique when verify the table, table: S.T, index: k"),
    (DispatchRule(EVERY, "columns", columns=("a", "z")), r"columns not found .* table: S.T, columns: \[a z\]"),
])
def test_tables_that_do_not_suit_their_rule_are_refused_at_the_start(rule: DispatchRule, text: str) -> None:
    with pytest.raises(ChangefeedError, match=text) as caught:
        verify_tables(compile_rules([rule], "t"), [T])
    assert caught.value.code == "CDC:ErrDispatcherFailed"


def test_before_8_5_3_names_of_a_rule_are_found_in_their_own_letter_case_alone() -> None:
    """GetIndex and OffsetsByNames compare Name.O up to tiflow v8.5.2, Name.L since (cdc/model/schema_storage.go)."""
    old = find("v8.5.2")
    with pytest.raises(ChangefeedError, match=r"columns not found when dispatch event, table: T, columns: \[a\]"):
        routed(DispatchRule(EVERY, "columns", columns=("a",)), release=old)
    with pytest.raises(ChangefeedError, match="index not found when dispatch event, table: T, index: uk"):
        routed(DispatchRule(EVERY, "index-value", index="uk"), release=old)
    with pytest.raises(ChangefeedError, match="index not found when verify the table, table: S.T, index: uk"):
        verify_tables(compile_rules([DispatchRule(EVERY, "rowid", index="uk")], "t"), [T], old)
    for rule in (DispatchRule(EVERY, "columns", columns=("A",)), DispatchRule(EVERY, "index-value", index="UK")):
        assert routed(rule, release=old) == routed(rule)


@pytest.mark.parametrize(("columns", "text"), [
    (("Id", "v"), r"found virtual generated columns when dispatch event, table: T, columns: \[Id v\] column: v"),
    (("V", "Z"), r"found virtual generated columns when dispatch event, table: T, columns: \[V Z\] column: v"),
    (("Z", "V"), r"columns not found when dispatch event, table: T, columns: \[Z V\], column: z"),
])
@pytest.mark.parametrize("architecture", ["classic", "new"])
def test_since_8_5_4_a_rule_that_names_a_virtual_column_is_refused(
    columns: tuple[str, ...], text: str, architecture: str
) -> None:
    """At the start of the changefeed and for each row, in the same words."""
    release, rule = find("v8.5.4", architecture), DispatchRule(EVERY, "columns", columns=columns)
    with pytest.raises(ChangefeedError, match=text):
        routed(rule, release=release)
    with pytest.raises(ChangefeedError, match=text):
        verify_tables(compile_rules([rule], "t"), [T], release)


def test_an_index_of_a_virtual_column_is_no_matter_of_that_refusal() -> None:
    table = parse.create_table("create table s.t (v int as (1) virtual not null, a int, b int, unique key k (v))")
    rule = DispatchRule(EVERY, "index-value", index="k")
    assert routed(rule, table=table, release=find("v8.5.4")).hashed == (("v", "a"),)


def test_a_clustered_integer_primary_key_is_no_index_to_name() -> None:
    with pytest.raises(ChangefeedError, match="index not found when dispatch event, table: T, index: PRIMARY"):
        routed(DispatchRule(EVERY, "index-value", index="PRIMARY"))


def test_a_signed_hash_gives_the_partition_of_the_unsigned_one() -> None:
    assert partition_of(routed(), -1, 0, 7) == 0xFFFFFFFF % 7
    assert partition_of(routed(DispatchRule(EVERY, "ts")), -1, 415508878783938562, 7) == 415508878783938562 % 7


def test_rows_of_one_message_share_the_table_the_hash_or_the_commit_ts() -> None:
    groups = {name: partition_key(routed(DispatchRule(EVERY, name)), T, -1, 5) for name in ("table", "rowid", "ts")}
    assert {"table": "S.T", "rowid": "4294967295", "ts": "5"} == groups


def test_the_topic_of_a_ddl_goes_by_the_old_name_and_a_databases_to_the_default() -> None:
    rules = compile_rules([DispatchRule(("a.*",), topic="{schema}_{table}")], "d")
    assert topic_of_ddl(rules, "b", "new", ("a", "old")) == "a_old"
    assert topic_of_ddl(rules, "a", "") == "d"


def test_a_topic_is_cut_where_kafka_ends_it() -> None:
    assert len(substitute("{schema}_{table}", "s" * 200, "t" * 200)) == 249


def test_a_bad_topic_expression_or_matcher_of_a_changefeed_is_refused() -> None:
    uri = "kafka://127.0.0.1:9092/t?protocol=canal-json"
    for rule, code in (('topic = "{table}_{schema}"', "TopicExprInvalid"), ('topic = "a b"', "TopicExprInvalid")):
        with pytest.raises(ChangefeedError, match=code):
            router(load(uri, f"[sink]\ndispatchers = [{{matcher = ['*.*'], {rule}}}]"))
    with pytest.raises(ChangefeedError, match="ErrFilterRuleInvalid"):
        router(load(uri, "[sink]\ndispatchers = [{matcher = ['a']}]"))
