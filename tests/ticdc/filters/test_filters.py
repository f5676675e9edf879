"""The table-filter language as people write it, and what a changefeed replicates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulator.errors import ChangefeedError
from simulator.ticdc.filters import Replication, replication, table_filter

# rules; case-sensitive; tables that match; tables that do not
LANGUAGE = [
    (["*.*", "!foo.*", "foo.keep"], True, ["a.b", "foo.keep"], ["foo.b", "foo.Keep"]),
    (["Foo.Bar"], False, ["foo.bar", "FOO.BAR"], ["foo.bar1"]),
    (["STRASSE.Σ"], False, ["strasse.σ"], ["strasse.ς"]),
    (["t[0-9]?.[!a]x"], True, ["t1a.bx"], ["t1.bx", "t1a.ax"]),
    (['"a.b".`c``d`'], True, [], ["a.b"]),
    ([r"a\.b.*"], True, [], ["a.b"]),
    (["/^db_\\d+$/.*"], True, ["db_12.t"], ["db_x.t", "db_12\n.t"]),
    (["# a comment", "", " a.b\t"], True, ["a.b"], ["# a comment.b"]),
    ([""], True, [], ["a.b"]),
    (["a$*.t"], True, [], ["a$1.t"]),
]


@pytest.mark.parametrize(("rules", "case_sensitive", "matching", "others"), LANGUAGE)
def test_the_last_rule_that_matches_decides(
    rules: list[str], case_sensitive: bool, matching: list[str], others: list[str]
) -> None:
    tables = table_filter(rules, case_sensitive)
    assert [name for name in matching if not tables.match(*name.split(".", 1))] == []
    assert [name for name in others if tables.match(*name.split(".", 1))] == []


def test_quoted_and_escaped_names_may_hold_anything() -> None:
    tables = table_filter(['"a.b".`c``d`', r"x\.y.z\ z"])
    assert tables.match("a.b", "c`d") and tables.match("x.y", "z z")


def test_an_imported_file_names_itself_and_its_line_in_errors(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("a.*\n# no\n!a.secret\n")
    tables = table_filter([f"@{file}", "b.*"])
    rule = tables.deciding_rule("a", "secret")
    assert rule is not None and (rule.text, rule.origin) == ("!a.secret", f"{file}:3")
    file.write_text("a.*\n@other.txt\n")
    with pytest.raises(ChangefeedError, match=re.escape(f"at {file}:2: importing filter files recursively")):
        table_filter([f"@{file}"])


def test_an_invalid_rule_has_tidbs_text_and_ticdcs_code() -> None:
    with pytest.raises(ChangefeedError, match="at <cmdline>:1: unexpected special character '-'") as caught:
        table_filter(["ok.*", "a-b.*"])
    assert caught.value.code == "CDC:ErrFilterRuleInvalid"


def test_ten_thousand_literal_rules_are_one_look_up_each() -> None:
    tables = table_filter([*(f"s.t{number}" for number in range(10_000)), "!s.t7", "*x.*"])
    assert sum(tables.match("s", f"t{number}") for number in range(10_000)) == 9_999
    assert tables.match("x", "t7")


@pytest.mark.parametrize("schema", ["mysql", "INFORMATION_SCHEMA", "Sys", "tidb_cdc", "lightning_task_info"])
def test_system_schemas_are_never_replicated(schema: str) -> None:
    assert not replication(["*.*"]).table(schema, "t") and not replication(["*.*"]).schema(schema)


def test_other_schemas_of_similar_names_are_replicated() -> None:
    everything = replication([])
    assert all(everything.table(schema, "t") for schema in ("TiDB_CDC", "metric_schema", "sys1"))


@pytest.mark.parametrize(
    ("type_code", "schema", "table", "kept"),
    [(3, "a", "t", True), (3, "b", "t", False), (1, "a", "", True), (1, "b", "", False), (34, "a", "s", False)],
)
def test_a_ddl_is_kept_if_it_is_allowed_and_its_table_or_schema_is(
    type_code: int, schema: str, table: str, kept: bool
) -> None:
    filtered: Replication = replication(["a.*"])
    assert filtered.ddl(type_code, schema, table) is kept
