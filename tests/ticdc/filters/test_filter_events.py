"""Event filters: settings, statements where the vectors (facts.event_filter) say nothing, and batches of row changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest

from simulator.errors import ChangefeedError, DdlError
from simulator.releases import Release, find
from simulator.ticdc.changefeed import EventFilter, load
from simulator.ticdc.filters.event_filters import (
    ALIASES,
    EventFilters,
    event_filters,
    normalize_name,
    rule_ignoring_ddl,
    rule_ignoring_row,
)
from simulator.ticdc.filters.row_expressions import check_expressions, passing_rows
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table, visible_columns
from simulator.tso import BEFORE_COMMIT

CLASSIC, BY_STATEMENT, NEW = find("v8.5.7"), find("v7.5.7"), find("v8.5.7", "new")


def filters(*rules: EventFilter, release: Release = CLASSIC, case_sensitive: bool = False) -> EventFilters:
    return event_filters(rules, release, case_sensitive)


def rule(
    matcher: str = "*.*",
    *events: str,
    sql: tuple[str, ...] = (),
    insert: str = "",
    update_new: str = "",
    update_old: str = "",
    delete: str = "",
) -> EventFilter:
    return EventFilter((matcher,), events, sql, insert, update_new, update_old, delete)


def ignored(made: EventFilters, code: int, query: str = "no matter", schema: str = "a", table: str = "t") -> bool:
    return rule_ignoring_ddl(made, (schema, table), query, code, (schema, table)) is not None


# -- settings --------------------------------------------------------------------------------------------------------


def test_the_file_gives_event_filters() -> None:
    feed = load(
        "kafka://h:1/t?protocol=open-protocol",
        """
        [filter]
        ignore-txn-start-ts = [3, 4]
        [[filter.event-filters]]
        matcher = ["a.*"]
        ignore-event = ["insert", "all ddl"]
        ignore-sql = ["^drop"]
        ignore-delete-value-expr = "id > 3"
    """,
    )
    assert feed.ignore_txn_start_ts == (3, 4)
    (made,) = feed.event_filters
    assert made == EventFilter(("a.*",), ("insert", "all ddl"), ("^drop",), ignore_delete_value_expr="id > 3")
    assert made.expressions == ("id > 3",)
    assert feed.warnings == ()


def test_what_a_release_does_not_know_is_refused() -> None:
    """As TiCDC's command line refuses it, which decodes the file strictly."""
    with pytest.raises(ChangefeedError, match="unknown configuration options: filter.event-filters") as caught:
        load("kafka://h:1/t?protocol=open-protocol", "[[filter.event-filters]]\nmatcher=['*.*']", find("v6.1.0"))
    assert "filter.event-filters; TiCDC v6.1.0 does not have it: since v6.2.0" in caught.value.text


def test_an_event_filters_unknown_key_is_said() -> None:
    feed = load("kafka://h:1/t?protocol=open-protocol", "[[filter.event-filters]]\nignore-evnt=['a']", CLASSIC)
    assert len(feed.warnings) == 1
    assert "unknown key 'ignore-evnt' in filter.event-filters[1] is ignored. Did you mean" in feed.warnings[0]


def test_an_unknown_event_is_refused_with_what_may_have_been_meant() -> None:
    with pytest.raises(ChangefeedError, match="'create tables' Did you mean 'create table'"):
        load("kafka://h:1/t?protocol=canal-json", "[[filter.event-filters]]\nignore-event=['create tables']", CLASSIC)


def test_classic_logs_a_bad_pattern_and_goes_on_where_the_new_architecture_refuses_it() -> None:
    made = filters(rule("*.*", "insert", sql=("(",)))
    assert rule_ignoring_row(made, "a", "t", "insert") is None
    assert "filter.event-filters[1]: ignore-event and ignore-sql have no effect" in made.warnings[0]
    with pytest.raises(ChangefeedError) as caught:
        filters(rule("*.*", sql=("(",)), release=NEW)
    assert caught.value.code == "CDC:ErrFilterRuleInvalid"
    assert "compile regular expression [(]: error parsing regexp: missing closing ): `(?i)(`" in caught.value.text


@pytest.mark.parametrize("name", ["add foreign key", "add fulltext index", "create hybrid index"])
def test_the_new_architecture_accepts_names_that_it_does_not_find_again(name: str) -> None:
    with pytest.raises(ChangefeedError, match=f"ErrFilterRuleInvalid.*event type {name} not valid"):
        filters(rule("*.*", name), release=NEW)


# -- statements ------------------------------------------------------------------------------------------------------


def test_a_foreign_key_stops_the_new_architecture_in_any_rule_of_its_table() -> None:
    made = filters(rule("a.*", "insert"), release=NEW)
    assert not ignored(made, 9, schema="b")
    with pytest.raises(DdlError, match="^event type add foreign key not valid$"):
        ignored(made, 9)


def test_up_to_7_6_a_text_must_be_a_statement() -> None:
    made = filters(rule("*.*", "insert"), release=BY_STATEMENT)
    with pytest.raises(DdlError, match="CDC:ErrConvertDDLToEventTypeFailed.*failed to convert ddl 'DROP TABLE'"):
        ignored(made, 4, "DROP TABLE")
    assert not ignored(made, 25, "RECOVER TABLE t")


def test_a_rename_is_judged_by_the_old_name() -> None:
    made = filters(rule("a.t", "rename table"))
    assert rule_ignoring_ddl(made, ("b", "u"), "RENAME TABLE a.t TO b.u", 14, ("a", "t"))
    assert rule_ignoring_ddl(made, ("a", "t"), "RENAME TABLE b.u TO a.t", 14, ("b", "u")) is None
    with pytest.raises(DdlError, match=r"CDC:ErrTableIneligible.*not eligible to replicate\(a.t\)"):
        rule_ignoring_ddl(made, ("a", "t"), "RENAME TABLE b.u TO a.t", 14)


def test_no_event_filter_ignores_nothing() -> None:
    assert not ignored(filters(), 9)
    assert event_filters([rule("*.*", "no such event")], find("v6.1.0")).rules == ()


# -- rows ------------------------------------------------------------------------------------------------------------


SHOP = create_table("CREATE TABLE shop.goods (id INT PRIMARY KEY, name VARCHAR(20), price INT, seen INT)")
LOG = create_table("CREATE TABLE shop.log (id INT PRIMARY KEY, price INT)")


def image(table: Table, row: Mapping[str, object] | None) -> bytes | None:
    if row is None:
        return None
    cells = [row.get(column.name) for column in visible_columns(table)]
    return b"\xff".join(b"\xfe" if cell is None else str(cell).encode() for cell in cells)


Row = Mapping[str, object] | None


def batch(table: Table, *changes: tuple[Row, Row]) -> pa.RecordBatch:
    """Of (before, after)."""
    sides = ([image(table, change[side]) for change in changes] for side in range(2))
    columns = [pa.array(images, pa.binary()) for images in sides]
    return pa.record_batch([pa.array(range(len(changes)), pa.int64()), *columns], ["commit_ts", "before", "after"])


def sent(table: Table, made: EventFilters, *changes: tuple[Row, Row], start_ts: tuple[int, ...] = ()) -> list[int]:
    """Places of the changes that are left."""
    found = passing_rows(batch(table, *changes), table, made, start_ts)
    assert found.null_count == 0
    return [place for place, left in enumerate(found.to_pylist()) if left]


ONE, OTHER = {"id": 1}, {"id": 1, "price": 1}
ALL_KINDS = ((None, ONE), (ONE, None), (ONE, OTHER))


@pytest.mark.parametrize(
    "rules", [(), (rule("other.*", "insert", insert="id = 1"), rule("*.*", "all ddl")), (rule("*.*", delete="id = 2"),)]
)
def test_rows_without_a_rule_are_sent(rules: tuple[EventFilter, ...]) -> None:
    assert sent(SHOP, filters(*rules), *ALL_KINDS) == [0, 1, 2]
    assert sent(SHOP, filters(*rules)) == []


def test_rows_go_by_their_kind() -> None:
    assert sent(SHOP, filters(rule("shop.goods", "insert", "delete")), *ALL_KINDS) == [2]
    assert sent(LOG, filters(rule("shop.goods", "insert", "delete")), *ALL_KINDS) == [0, 1, 2]
    assert sent(SHOP, filters(rule("*.goods", "all dml"), rule("*.log", "delete")), *ALL_KINDS) == []
    assert sent(LOG, filters(rule("*.goods", "all dml"), rule("*.log", "delete")), *ALL_KINDS) == [0, 2]


def test_rows_go_by_their_values() -> None:
    cheap, dear, none = ({"id": 1, "name": "pen", "price": price} for price in (5, 50, None))
    old, new = "price > 10", "price is null"
    made = filters(rule("shop.goods", insert="price > 10", delete="name = 'pen'", update_old=old, update_new=new))
    changes = ((None, cheap), (None, dear), (None, none), (cheap, None), (cheap, dear), (dear, cheap), (cheap, none))
    assert sent(SHOP, made, *changes) == [0, 2, 4]
    assert sent(LOG, made, (None, dear)) == [0]


def test_transactions_go_by_their_start_ts() -> None:
    assert sent(SHOP, filters(), *ALL_KINDS, start_ts=(1 - BEFORE_COMMIT, 7)) == [0, 2]


def test_text_that_holds_any_character_is_compared_whole() -> None:
    made = filters(rule("shop.goods", insert="name = 'ÿþ离骚'"))
    assert sent(SHOP, made, (None, {"id": 1, "name": "ÿþ离骚"}), (None, {"id": 2, "name": "离骚"})) == [1]


def test_a_pattern_that_is_none_is_said_once_a_row_needs_it() -> None:
    made = filters(rule("shop.goods", insert="name regexp '('"))
    assert sent(SHOP, made, (ONE, None)) == [0]
    with pytest.raises(ChangefeedError, match=r"event filter \"name regexp '\('\": .*missing closing \)"):
        sent(SHOP, made, (None, {"id": 1, "name": "a"}))


@pytest.mark.parametrize(
    ("expression", "code", "text"),
    [
        ("age >", "CDC:ErrInvalidFilterExpression", "There is a syntax error in"),
        ("age > 3", "CDC:ErrExpressionColumnNotFound", "Cannot find column 'age' from table 'shop.goods' in"),
    ],
)
def test_an_expression_must_suit_its_table(expression: str, code: str, text: str) -> None:
    made = filters(rule("shop.goods", delete=expression))
    for ask in (lambda: check_expressions(made, [SHOP]), lambda: sent(SHOP, made, (ONE, None))):
        with pytest.raises(ChangefeedError, match=text) as caught:
            ask()
        assert caught.value.code == code
    assert sent(SHOP, made, (None, ONE)) == [0]


def test_the_syntax_of_every_expression_is_checked_first_whatever_the_tables_are() -> None:
    """It is also read by the changefeed's sql-mode (tiflow v7.5.2 pkg/filter/expr_filter.go verify)."""
    check_expressions(filters(rule("shop.goods", delete="age > 3")), [LOG])
    with pytest.raises(ChangefeedError, match="There is a syntax error in"):
        check_expressions(filters(rule("shop.goods", delete="age >")), [LOG])
    made = filters(rule("shop.goods", delete="name = concat('a' \"b\")"))
    check_expressions(made, [SHOP])
    with pytest.raises(ChangefeedError, match="There is a syntax error in"):
        check_expressions(replace(made, sql_mode=frozenset({"ANSI_QUOTES"})), [SHOP])


def test_every_event_that_a_release_names_is_a_type_of_its_own() -> None:
    for release in (CLASSIC, BY_STATEMENT, NEW):
        for name in release.event_filter_names - release.unclassified_events:
            assert normalize_name(name, release) == ALIASES.get(name, name)
