"""Every vector file of a directory (`--vectors DIR`, by default tests/vectors), one test each; then the checks themselves,
on vectors made up here: shapes that may come, each told right once and wrong once.

A file of a kind or release that the simulator does not have yet is one failing test.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.vectors import ddl, messages, split
from support.vectors.files import DEFAULT, UNRELEASED, Vector, kind, of_unknown_release, parametrize, vectors
from support.vectors.messages import codec_options

from simulator.releases import find

FAST = r"(?!rows|partitions).*|.*\.(classic-v8\.5\.3|new-v8\.5\.7)\..*"
"""Files that are not marked slow: of messages and partitions, those of a release of each architecture."""

KINDS = {**messages.KINDS, **ddl.KINDS, **split.KINDS}
SHOWN = 10
"""Failed vectors of one file that a failing test shows."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "path", DEFAULT, "*", FAST)


def test_the_simulator_does_what_ticdc_did(path: Path) -> None:
    if kind(path) not in KINDS or of_unknown_release(path):
        pytest.fail(f"nothing here runs {path.name}: its kind or release is not done yet")
    cases = list(vectors(path))
    failures = list(KINDS[kind(path)].failures(cases))
    assert cases, f"{path.name} is empty"
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} vectors failed", failures[:SHOWN])


# -- the checks --------------------------------------------------------------------------------------------------------

Json = dict[str, Any]
DATED: Json = {"architecture": "classic", "since": "v8.5.3", "until": "v8.5.3"}


def asked(directory: Path, of: str, *lines: Json) -> list[Vector]:
    """Vectors of a file with these lines."""
    path = directory / f"{of}.jsonl"
    path.write_text("".join(json.dumps({**DATED, **line}) + "\n" for line in lines), "utf-8")
    return list(vectors(path))


def found(vector: Vector) -> list[str]:
    """What the check says of a vector."""
    return [str(failure) for failure in KINDS[kind(vector.path)].failures([vector])]


RENAMED: Json = {
    "rules": ["shop.*"],
    "case_sensitive": False,
    "ddl": "ALTER TABLE a RENAME TO b",
    "current_database": "shop",
    "pairs": [["shop.a", "shop.b"]],
    "known_tables": ["shop.a"],
    "known_schemas": ["shop"],
    "expected": "replicate",
    "kept_pairs": [["shop.a", "shop.b"]],
    "error_code": None,
    "error_text": None,
    "query_sent": "ALTER TABLE `a` RENAME AS `b`",
}
FILTERED: Json = {"event_filters": [{"matcher": ["*.*"], "ignore-event": ["nothing"]}], "expected": "error"}
DROPPED: Json = {"schema": "shop", "table": "", "query": "DROP DATABASE shop", "type_code": 2, "start_ts": 7}
REFUSED: Json = {
    "sink_uri": "kafka://127.0.0.1:9092/t?protocol=open-protocol",
    "error": "",
    "toml": '[[filter.event-filters]]\nmatcher = ["test.t[1"]\n',
    "error_code": "CDC:ErrFilterRuleInvalid",
}
COMPARED: Json = {
    **REFUSED,
    "toml": '[[filter.event-filters]]\nmatcher = ["*.*"]\nignore-insert-value-expr = "b > 1"\n',
    "tables": ["CREATE TABLE test.t (a INT PRIMARY KEY)"],
    "error_code": "CDC:ErrExpressionColumnNotFound",
}
PRICE = zlib.crc32(b"shopt") ^ zlib.crc32(b"price1000000000000000000000")
PRICED: Json = {
    "rule": {"dispatcher": "index-value"},
    "schema": "shop",
    "table": "t",
    "handle_key": ["price"],
    "columns": [["price", 1e21]],
    "commit_ts": 0,
    "partitions": 16,
    "partition": PRICE % 16,
    "hash_hex": f"{PRICE:08x}",
}
SELECTION: Json = {
    "kind": "rule_selection",
    "schema": "shop",
    "table": "t",
    "rule_index": 0,
    "dispatcher_used": "table",
    "rules": [{"matcher": ["*.*"], "partition": "table", "topic": "one_topic"}],
    "topic_kind": "static",
}
LITERAL: Json = {"protocol": "canal-json", "kind": "row", "key_text": None, "value_text": None, "decode_only": False}
INSERTED: Json = {
    "create_table": "CREATE TABLE shop.t (id INT PRIMARY KEY, name VARCHAR(9), note TEXT)",
    "schema": "shop",
    "table": "t",
    "before": None,
    "after": {"id": "1", "name": "x", "note": None},
    "commit_ts": 1 << 30,
    "options": {},
}
SELECTED: Json = {**INSERTED, "options": {"column-selectors": [{"matcher": ["sh*.*"], "columns": ["id", "N?me"]}]}}
BY_TABLE: Json = {**INSERTED, "options": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}"}]}}
TOO_LONG: Json = {**INSERTED, "options": {"max-message-bytes": "100"}}
NULL: Json = {
    **LITERAL,
    "protocol": "open-protocol",
    "decode_only": True,
    "input": {"fragment": True, "type_code": 3},
    "value_text": '{"t":3,"v":null}',
}
SORTED: Json = {
    "kind": "sort",
    "release": "v8.5.3",
    "input": ["INSERT(id=2)", "UPDATE(id=1)", "DELETE(id=3)"],
    "expected": ["DELETE(id=3)", "UPDATE(id=1)", "INSERT(id=2)"],
}
SPLIT: Json = {
    "kind": "transaction",
    "release": "v8.5.3",
    "create_table": "CREATE TABLE t (id INT PRIMARY KEY, uk INT UNIQUE)",
    "input": ["UPDATE(id=1, uk=1->2)"],
    "expected": ["DELETE(id=1, uk=1)", "INSERT(id=1, uk=2)"],
}

SHAPES: list[tuple[str, str, Json, Json]] = [
    ("a rename written as ALTER", "facts.rename", RENAMED, {"query_sent": "RENAME TABLE `shop`.`a` TO `shop`.`b`"}),
    (
        "a filter refused with a text and no code",
        "facts.event_filter",
        {**FILTERED, "error": "invalid ignore event type: 'nothing'"},
        {"error": "no such text"},
    ),
    (
        "a filter refused with a code and no text",
        "facts.event_filter",
        {**FILTERED, "error_code": "CDC:ErrInvalidIgnoreEventType"},
        {"error_code": "CDC:ErrFilterRuleInvalid"},
    ),
    (
        "a database's statement in ignore-txn-start-ts",
        "facts.event_filter",
        {"event_filters": [], "ignore_txn_start_ts": [7], "ddl": DROPPED, "expected": "skip"},
        {"expected": "send"},
    ),
    (
        "a database's statement beside ignore-txn-start-ts",
        "facts.event_filter",
        {"event_filters": [], "ignore_txn_start_ts": [8], "ddl": DROPPED, "expected": "send"},
        {"expected": "skip"},
    ),
    ("a matcher that no filter takes", "facts.validation", REFUSED, {"error_code": None, "error": None}),
    ("an expression that a table lacks a column for", "facts.validation", COMPARED, {"tables": []}),
    ("a DOUBLE with an exponent as a key", "facts.dispatch", PRICED, {"hash_hex": "00000000"}),
    ("one topic for all tables", "facts.dispatch", SELECTION, {"topic_kind": "dynamic"}),
    (
        "an error's code alone",
        "facts.literals",
        {**LITERAL, "input": TOO_LONG, "error_code": "CDC:ErrMessageTooLarge"},
        {"error_code": "CDC:ErrOther"},
    ),
    (
        "some fields of a message",
        "facts.literals",
        {**LITERAL, "input": INSERTED, "asserted": {"type": "INSERT"}},
        {"asserted": {"type": "UPDATE"}},
    ),
    (
        "no field of a message",
        "facts.literals",
        {**LITERAL, "input": INSERTED},
        {"input": {**INSERTED, "after": {"id": "1", "name": "x", "more": "1"}}},
    ),
    (
        "columns told by patterns",
        "facts.literals",
        {**LITERAL, "input": SELECTED, "asserted": {"data": [{"id": "1", "name": "x"}]}},
        {"asserted": {"data": [{"id": "1", "name": "x", "note": None}]}},
    ),
    (
        "a topic told by an expression",
        "facts.literals",
        {**LITERAL, "input": BY_TABLE, "topic": "shop_t"},
        {"topic": "t"},
    ),
    ("a fragment that is NULL", "facts.literals", NULL, {"input": {"fragment": True, "type_code": 4}}),
    ("events written out, of a table that is not", "facts.update_split", SORTED, {"expected": SORTED["input"]}),
    ("a split UPDATE written out", "facts.update_split", SPLIT, {"expected": SPLIT["input"]}),
]


@pytest.mark.parametrize(("of", "right", "wrong"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES])
def test_a_shape_is_followed_and_can_fail(of: str, right: Json, wrong: Json, tmp_path: Path) -> None:
    """What holds passes, and the same with another word in it does not."""
    held, broken = asked(tmp_path, of, right, {**right, **wrong})
    assert [] == found(held)
    assert found(broken)


def test_rows_that_are_checked_together_can_fail(tmp_path: Path) -> None:
    """One byte of one of three rows; and a byte of another row, too."""
    file = next(path for path in sorted(DEFAULT.glob("rows.*.jsonl*")))
    alike: dict[object, list[Vector]] = {}
    for vector in vectors(file):
        alike.setdefault(KINDS["rows"].alike and KINDS["rows"].alike(vector), []).append(vector)
    group = next(each for each in alike.values() if len(each) > 2)
    assert [] == list(KINDS["rows"].failures(group))
    for number in (0, 2):
        first = group[number].data["messages"][0]
        harmed = {**group[number].data, "messages": [{**first, "value": "AAAA" + first["value"][4:]}]}
        group[number] = replace(group[number], data=harmed)
        assert len(list(KINDS["rows"].failures(group))) == number // 2 + 1


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"colour": 1}, "colour"),
        ({"ddl": {**DROPPED, "owner": 1}}, "ddl.owner"),
        ({"event_filters": [{"matcher": ["a.b"]}], "row": {"schema": "a", "sort": "b"}}, "row.sort"),
    ],
)
def test_a_key_that_nothing_follows_fails(more: Json, named: str, tmp_path: Path) -> None:
    """Wherever it stands, by its full name; prose is followed by nobody and passes."""
    right = {"event_filters": [], "ddl": {**DROPPED, "start_ts": 0}, "expected": "send", "note": "…"}
    (vector,) = asked(tmp_path, "facts.event_filter", {**right, **more})
    assert found(vector) == [f"nothing here follows {named}"]


def test_a_key_of_no_release_is_one_that_none_knows(tmp_path: Path) -> None:
    """A fact of another kind cannot be of no release."""
    key: Json = {"since": UNRELEASED, "until": None, "where": "sink", "default": None}
    named = asked(tmp_path, "facts.config", {**key, "name": "made-up"}, {**key, "name": "dispatchers"})
    (other,) = asked(tmp_path, "facts.validation", {**REFUSED, "since": UNRELEASED})
    assert [bool(found(vector)) for vector in (*named, other)] == [False, True, True]


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("canal-json", {"content-compatible": "true"}),
        ("open-protocol", {"output-old-value": "false"}),
        ("canal-json", {"enable-tidb-extension": "true", "large-message-handle-option": "handle-key-only"}),
        ("open-protocol", {"delete-only-output-handle-key-columns": "true", "max-message-bytes": "700"}),
    ],
)
def test_options_are_loaded_as_a_user_s_are(protocol: str, options: Json) -> None:
    """Each at the place where the release has it."""
    made = codec_options({"protocol": protocol, "options": options}, find("v8.5.3"))
    assert {name: str(getattr(made, name.replace("-", "_"))).lower() for name in options} == options


def test_an_option_that_a_release_lacks_is_as_if_it_were_not_there() -> None:
    """TiCDC passes over what it does not know in a sink-uri."""
    options = {"content-compatible": "true", "large-message-handle-option": "handle-key-only"}
    given, plain = {"protocol": "canal-json", "options": options}, {"protocol": "canal-json"}
    assert codec_options(given, find("v5.4.0")) == codec_options(plain, find("v5.4.0"))
