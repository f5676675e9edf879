"""Routes of tables, partitions of rows and the hashes of whole columns, where the vectors say nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.codec_rows import LAST, by_answer
from support.vectors.split import inertia, router_of, value_string

from simulator.columns import cells
from simulator.errors import ChangefeedError
from simulator.releases import V8_5, Release, find
from simulator.ticdc.changefeed import DispatchRule, load
from simulator.ticdc.changefeed.keys import DISPATCHERS as SPELLINGS
from simulator.ticdc.codecs import CodecOptions
from simulator.ticdc.dispatch import Route, route, router, verify_tables
from simulator.ticdc.dispatch.destinations import choose_partitions, dispatch_hashes, follows_from_handle
from simulator.ticdc.dispatch.dispatchers import DISPATCHERS
from simulator.tidb.ddl import table_definitions as parse
from simulator.tidb.model.table import Table

EVERY = ("*.*",)
T = parse.create_table(
    "create table `S`.`T` (`Id` int primary key, `V` int as (`Id`) virtual, `A` varchar(9), `B` int not null,"
    " `C` enum('x','y'), unique key `UK` (`B`), key `K` (`A`))"
)
ROW = {"Id": "1", "A": None, "B": "7", "C": "y"}


def routed(*rules: DispatchRule, table: Table = T, release: Release = V8_5) -> Route:
    return route(router_of(rules, release), table)


def hash_of(to: Route, table: Table, row: Mapping[str, str | None]) -> int:
    return int(dispatch_hashes(to, table, cells.columns([row]))[0])


def crc(*pairs: tuple[str, str]) -> int:
    return inertia([(b"S", b"T"), *((name.encode(), value.encode()) for name, value in pairs)])


def test_the_changefeeds_spellings_are_the_registrys() -> None:
    assert set(SPELLINGS) == set(DISPATCHERS)


def test_after_a_virtual_column_classic_ticdc_hashes_the_column_that_follows() -> None:
    """OffsetsByNames counts all columns, the row has the visible ones (tiflow v8.5.3 cdc/model/schema_storage.go)."""
    by_column = routed(DispatchRule(EVERY, "columns", columns=("A",)))
    by_index = routed(DispatchRule(EVERY, "index-value", index="uk"))
    assert hash_of(by_column, T, ROW) == crc(("B", "7"))
    assert hash_of(by_index, T, ROW) == crc(("B", "2"))
    fixed = replace(V8_5, dispatch_skips_virtual=True)
    to = route(router_of([DispatchRule(EVERY, "columns", columns=("A",))], fixed), T)
    assert hash_of(to, T, ROW) == crc(("A", "null"))


def test_a_column_beyond_the_row_makes_ticdc_panic_and_is_refused() -> None:
    with pytest.raises(ChangefeedError, match="panics .* by column C: it counts virtual generated columns"):
        routed(DispatchRule(EVERY, "columns", columns=("C",)))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (DispatchRule(EVERY, "index-value", index="nope"), "index not found when verify the table, table: S.T, "),
        (DispatchRule(EVERY, "rowid", index="k"), "index is not unique when verify the table, table: S.T, index: k"),
        (DispatchRule(EVERY, "columns", columns=("a", "z")), r"columns not found .* table: S.T, columns: \[a z\]"),
    ],
)
def test_tables_that_do_not_suit_their_rule_are_refused_at_the_start(rule: DispatchRule, text: str) -> None:
    with pytest.raises(ChangefeedError, match=text) as caught:
        verify_tables(router_of([rule]), [T])
    assert caught.value.code == "CDC:ErrDispatcherFailed"


def test_before_8_5_3_names_of_a_rule_are_found_in_their_own_letter_case_alone() -> None:
    """GetIndex and OffsetsByNames compare Name.O up to tiflow v8.5.2, Name.L since (cdc/model/schema_storage.go)."""
    old = find("v8.5.2")
    with pytest.raises(ChangefeedError, match=r"columns not found when dispatch event, table: T, columns: \[a\]"):
        routed(DispatchRule(EVERY, "columns", columns=("a",)), release=old)
    with pytest.raises(ChangefeedError, match="index not found when dispatch event, table: T, index: uk"):
        routed(DispatchRule(EVERY, "index-value", index="uk"), release=old)
    with pytest.raises(ChangefeedError, match="index not found when verify the table, table: S.T, index: uk"):
        verify_tables(router_of([DispatchRule(EVERY, "rowid", index="uk")], old), [T])
    for rule in (DispatchRule(EVERY, "columns", columns=("Id",)), DispatchRule(EVERY, "index-value", index="UK")):
        assert routed(rule, release=old) == routed(rule)


def test_before_8_5_3_the_name_hashed_is_the_rule_s_even_where_the_value_is_another_column_s() -> None:
    """tiflow v8.5.2 partition/columns.go hashes the names of the rule, v7.5.7 and v8.5.3 those of the columns."""
    rule = DispatchRule(EVERY, "columns", columns=("A",))
    hashed = {tag: routed(rule, release=find(tag)).hashed for tag in ("v7.5.0", "v7.5.7", "v8.5.2", "v8.5.3")}
    renamed, plain = (("A", "B"),), (("B", "B"),)
    assert {"v7.5.0": renamed, "v7.5.7": plain, "v8.5.2": renamed, "v8.5.3": plain} == hashed


def test_the_betas_of_the_new_architecture_have_letter_cases_of_their_own() -> None:
    """The first finds exact names, the second hashes all in lower case (ticdc pkg/common/table_info.go)."""
    rule, handle = DispatchRule(EVERY, "columns", columns=("a",)), DispatchRule(EVERY, "index-value")
    first, second, later = (find(tag, "new") for tag in ("v9.0.0-beta.1", "v9.0.0-beta.2.pre", "v8.5.4"))
    with pytest.raises(ChangefeedError, match="columns not found"):
        routed(rule, release=first)
    assert [routed(index, release=second).hashed for index in (rule, handle)] == [(("a", "A"),), (("id", "Id"),)]
    assert [routed(index, release=later).hashed for index in (rule, handle)] == [(("A", "A"),), (("Id", "Id"),)]


ONE = parse.create_table("create table `S`.`T` (`Id` bigint primary key, `A` varchar(9) unique)")
ALONE = parse.create_table("create table `S`.`T` (`Id` bigint primary key, `A` varchar(9), key (`A`))")


def test_what_default_is_depends_on_the_release_the_old_value_and_the_unique_keys() -> None:
    """Of a table with two unique keys, a nullable one among them, and of one with its primary key alone."""

    def defaults(release: Release, old_value: bool = False) -> tuple[str, ...]:
        rules = router_of([], release, CodecOptions("open-protocol", enable_old_value=old_value))
        return tuple(route(rules, table).dispatcher for table in (ONE, ALONE))

    assert by_answer(defaults) == {
        ("table", "single-column"): "v4.0.0 – v4.0.4",
        ("table", "index-value"): "v4.0.5 – v7.1.3, v7.2.0 – v7.3.0",
        ("table", "table"): f"v7.1.4 – v7.1.6, v7.4.0 – {LAST}",
    }
    assert [defaults(find(tag), old_value=True)[1] for tag in ("v4.0.4", "v4.0.5")] == ["single-column", "table"]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("index-value", ["v4.0.5", "v7.4.0", "v7.5.0"]),
        ("columns", ["v7.5.0"]),
        ("rowid", ["v4.0.4", "v4.0.5", "v7.4.0", "v7.5.0"]),
        ("random", []),
    ],
)
def test_a_dispatcher_that_the_release_does_not_know_is_default_with_a_warning(name: str, known: list[str]) -> None:
    """`index-value` came with 4.0.5, `columns` with 7.5."""
    uri = "kafka://h:9092/t?protocol=open-protocol"
    text = f'[sink]\ndispatchers = [{{matcher = ["*.*"], dispatcher = "{name}"}}]'
    warned = {tag: load(uri, text, find(tag)).warnings for tag in ("v4.0.4", "v4.0.5", "v7.4.0", "v7.5.0")}

    assert [tag for tag, said in warned.items() if "is unknown" not in " ".join(said)] == known
    for tag in warned.keys() - set(known):
        rule = DispatchRule(EVERY, name, columns=("Id",))
        assert routed(rule, table=ONE, release=find(tag)).dispatcher == "table"


def test_up_to_4_0_4_rowid_is_the_row_id_modulo_the_partitions() -> None:
    """As an unsigned number (tiflow v4.0.4 cdc/sink/dispatcher/rowid.go)."""
    to = routed(DispatchRule(EVERY, "rowid"), table=ALONE, release=find("v4.0.4"))

    assert to.dispatcher == "row-id"
    made = choose_partitions(to, np.zeros(3, np.uint32), np.zeros(3, np.int64), pa.array([30, -1, None], pa.int64()), 7)
    assert made.tolist() == [2, (2**64 - 1) % 7, 0]


def test_index_is_asked_for_and_columns_are_found_from_7_5_alone() -> None:
    """In 7.4 the key `index` is ignored: the handle key is hashed."""
    rule = DispatchRule(EVERY, "index-value", index="UK")

    assert routed(rule, release=find("v7.4.0")).hashed == (("Id", "Id"),)
    assert routed(rule, release=find("v7.5.0")).hashed == (("B", "C"),)


def test_releases_hash_null_float_and_time_each_in_its_way() -> None:
    """FLOAT widened in 5.4 and 6.5.1; NULL left out and TIME cut in the new architecture."""
    table = parse.create_table("create table `S`.`T` (f float not null, t time(3) not null, n int, unique key (f))")
    values = {"f": "0.1", "t": "-00:00:01.500", "n": None}
    rule = DispatchRule(EVERY, "columns", columns=("t", "n"))

    def by(tag: str, architecture: str = "classic", rule: DispatchRule = rule) -> int:
        return hash_of(routed(rule, table=table, release=find(tag, architecture)), table, values)

    by_key = DispatchRule(EVERY, "index-value")
    assert by("v6.5.1", rule=by_key) == by("v5.4.0", rule=by_key) == crc(("f", "0.10000000149011612"))
    assert by("v6.5.2", rule=by_key) == by("v4.0.5", rule=by_key) == crc(("f", "0.1"))
    assert by("v8.5.3") == crc(("t", "-00:00:01.500"), ("n", "null"))
    assert by("v8.5.4", "new") == by("v8.5.5", "new") == crc(("t", "-00:00:01"))
    assert by("v8.5.6", "new") == crc(("t", "-00:00:01.500"))


@pytest.mark.parametrize(
    ("expression", "accepted"),
    [
        ("{schema}_{table}", f"v4.0.0 – {LAST}"),
        ("a_{schema}_{table}", f"v4.0.0 – v5.4.3, v6.1.0 – {LAST}"),
        ("{table}", f"v4.0.0 – v5.4.3, v6.5.7 – v6.5.12, v7.1.4 – v7.1.6, v7.4.0 – {LAST}"),
        ("plain", f"v4.0.0 – v5.4.3, v6.5.7 – v6.5.12, v7.1.4 – v7.1.6, v7.4.0 – {LAST}"),
    ],
)
def test_topic_expressions_by_release(expression: str, accepted: str) -> None:
    """6.0 takes two forms, later ones want {schema}, which 6.5.7, 7.1.4 and 7.4 need no more; before, no release has it."""

    def takes(release: Release) -> bool:
        try:
            router_of([DispatchRule(EVERY, topic=expression)], release)
        except ChangefeedError as error:
            assert error.code == "CDC:ErrKafkaTopicExprInvalid" or release.name == "v8.5.8"
            assert error.text.startswith("invalid topic expression")
            return False
        return True

    assert by_answer(takes)[True] == accepted


def test_before_6_1_everything_goes_to_the_default_topic() -> None:
    """5.4 has no `topic`; 6.0 checks it and forgets it (tiflow v6.0.0 cdc/sink/mq.go)."""
    rule = DispatchRule(EVERY, topic="{schema}_{table}")
    topics = {tag: routed(rule, release=find(tag)).topic for tag in ("v5.4.0", "v6.0.0", "v6.1.0")}

    assert topics == {"v5.4.0": "default-topic", "v6.0.0": "default-topic", "v6.1.0": "S_T"}


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (("Id", "v"), r"found virtual generated columns when dispatch event, table: T, columns: \[Id v\] column: v"),
        (("V", "Z"), r"found virtual generated columns when dispatch event, table: T, columns: \[V Z\] column: v"),
        (("Z", "V"), r"columns not found when dispatch event, table: T, columns: \[Z V\], column: z"),
    ],
)
@pytest.mark.parametrize("architecture", ["classic", "new"])
def test_since_8_5_4_rules_with_virtual_columns_fail(columns: tuple[str, ...], text: str, architecture: str) -> None:
    release, rule = find("v8.5.4", architecture), DispatchRule(EVERY, "columns", columns=columns)
    with pytest.raises(ChangefeedError, match=text):
        routed(rule, release=release)
    with pytest.raises(ChangefeedError, match=text):
        verify_tables(router_of([rule], release), [T])


def test_an_index_of_a_virtual_column_is_no_matter_of_that_refusal() -> None:
    table = parse.create_table("create table s.t (v int as (1) virtual not null, a int, b int, unique key k (v))")
    rule = DispatchRule(EVERY, "index-value", index="k")
    assert routed(rule, table=table, release=find("v8.5.4")).hashed == (("v", "a"),)


def test_a_clustered_integer_primary_key_is_no_index_to_name() -> None:
    with pytest.raises(ChangefeedError, match="index not found when dispatch event, table: T, index: PRIMARY"):
        routed(DispatchRule(EVERY, "index-value", index="PRIMARY"))


def test_a_bad_topic_expression_or_matcher_of_a_changefeed_is_refused() -> None:
    uri = "kafka://127.0.0.1:9092/t?protocol=canal-json"
    for rule, code in (('topic = "{table}_{schema}"', "TopicExprInvalid"), ('topic = "a b"', "TopicExprInvalid")):
        with pytest.raises(ChangefeedError, match=code):
            router(load(uri, f"[sink]\ndispatchers = [{{matcher = ['*.*'], {rule}}}]"))
    with pytest.raises(ChangefeedError, match="ErrFilterRuleInvalid"):
        router(load(uri, "[sink]\ndispatchers = [{matcher = ['a']}]"))


# -- hashes of whole columns ----------------------------------------------------------------------------------------

EDGES = (0.0, 1.0, -1.5, 100.0, 120.5, 1e15, 1e16, 1e20, 1.5e38, 1e-44, 1e-7, 0.1, 123.01, 0.001, 1e-5, 33554432.0)


def hashes(type: str, texts: list[str], release: Release = V8_5) -> list[int]:
    """The hashes of rows by a column of that type."""
    table = parse.create_table(f"create table s.t (v {type})")
    to = route(router_of([DispatchRule(("*.*",), "columns", columns=("v",))], release), table)
    found: list[int] = dispatch_hashes(to, table, cells.columns([{"v": text} for text in texts])).tolist()
    return found


def of_value(value: bytes) -> int:
    return inertia([(b"s", b"t"), (b"v", value)])


@pytest.mark.parametrize("name", ["v7.5.0", "v8.5.3"])
@pytest.mark.parametrize(("type", "kind"), [("float", np.float32), ("double", np.float64)])
def test_a_float_is_hashed_without_exponent_in_any_spelling(type: str, kind: Callable[[float], Any], name: str) -> None:
    """As Python, Java and MySQL spell it; what other values are hashed as, the vectors (partitions) show."""
    for edge in map(kind, EDGES):
        shortest, plain = str(edge), np.format_float_positional(edge, unique=True, trim="-")
        spelt = [shortest, shortest.replace("e+", "E"), shortest.replace("e+", "e").replace("e-0", "e-"), plain]
        assert hashes(type, spelt, find(name)) == [of_value(value_string(edge).encode())] * 4


def test_text_that_was_no_utf_8_is_hashed_as_its_bytes_and_a_long_one_as_a_short_one() -> None:
    """A lone surrogate stands for each byte of it."""
    broken = b"a\xff\xe4b"
    assert hashes("varchar(20)", [broken.decode("utf-8", "surrogateescape")]) == [of_value(broken)]
    texts = ["", "x" * 64, "é" * 5000]
    assert hashes("text", texts) == [of_value(text.encode()) for text in texts]


@pytest.mark.parametrize(
    ("kind", "texts", "json"),
    [
        ("bigint", ["-7", "5"], ["-7", "5"]),
        ("enum('x','é')", ["é", ""], ["2", "0"]),
        ("set('a','b','c')", ["a,c", ""], ["5", "0"]),
        ("decimal(5,2)", ["1.50"], ['"1.50"']),
        (
            "varchar(20)",
            ['<&>\\"', "\b\f\n\u2028\x01é😀"],
            [r'"\u003c\u0026\u003e\\\""', r'"\u0008\u000c\n\u2028\u0001é😀"'],
        ),
        ("text", ["", "a", "ab", "abc", "é😀z"], ['""', '"YQ=="', '"YWI="', '"YWJj"', '"w6nwn5iAeg=="']),
        ("blob", ["\xff\x00"], ['"/wA="']),
        ("timestamp(3)", ["2020-02-20 02:20:20.123"], ['"2020-02-20 02:20:20.123"']),
    ],
)
def test_the_only_unique_column_is_hashed_as_json_at_first(kind: str, texts: list[str], json: list[str]) -> None:
    """Up to 4.0.4, without the table: numbers as they are, text as a JSON string, TEXT in base64."""
    prefix = "(5)" if kind in ("text", "blob") else ""
    table = parse.create_table(f"create table s.t (k {kind}, primary key (k{prefix}) nonclustered)")
    to = route(router_of([], find("v4.0.4")), table)

    made = dispatch_hashes(to, table, {"k": pa.array(texts)})

    assert (to.dispatcher, made.tolist()) == ("single-column", [inertia([(text.encode(),)]) for text in json])


@pytest.mark.parametrize(
    ("columns", "rule", "tag", "known"),
    [
        ("a int primary key, b int", {}, "v8.5.3", True),
        ("a int primary key, b int", {"partition": "index-value"}, "v8.5.3", True),
        ("a int primary key, b int", {"partition": "ts"}, "v8.5.3", True),
        ("a int primary key, b int", {"partition": "columns", "columns": ("b",)}, "v8.5.3", False),
        ("a int primary key, b int not null unique", {"partition": "index-value", "index": "b"}, "v8.5.3", False),
        ("a varchar(9) primary key", {"partition": "index-value"}, "v8.5.3", False),
        ("a varchar(9) collate utf8mb4_0900_bin primary key", {"partition": "index-value"}, "v8.5.3", True),
        ("a varbinary(9), primary key (a(3))", {"partition": "index-value"}, "v8.5.3", False),
        ("a varbinary(9) primary key", {"partition": "index-value"}, "v8.5.3", True),
        ("a int", {"partition": "index-value"}, "v8.5.3", True),
        ("a int", {"partition": "rowid"}, "v4.0.4", False),
        ("a int primary key", {"partition": "rowid"}, "v4.0.4", True),
    ],
)
def test_where_a_row_goes_is_known_by_its_handle_unless_other_columns_or_spellings_of_it_count(
    columns: str, rule: dict[str, Any], tag: str, known: bool
) -> None:
    """A key with a collation may change its bytes, and so its partition, and still be the same."""
    table = parse.create_table(f"create table s.t ({columns})")
    rules = [DispatchRule(("*.*",), **rule)] if rule else []

    assert follows_from_handle(route(router_of(rules, find(tag)), table), table) is known
