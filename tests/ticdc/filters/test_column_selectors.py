"""Column selectors: which columns a table's messages have, what is checked, and what dispatchers see."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.codec_rows import Change, rows

from simulator.errors import ChangefeedError, EncodeError
from simulator.explain.change import parse_row_change
from simulator.explain.row import explain_row, row_as_dict
from simulator.releases import V8_5, Release, find
from simulator.ticdc import changefeed, dispatch
from simulator.ticdc.codecs import CODECS, CodecOptions, RowChanges
from simulator.ticdc.filters import column_filter
from simulator.tidb.ddl.table_definitions import create_table

NEW = find("v8.5.7", "new")
TABLE = create_table("CREATE TABLE shop.t (id INT PRIMARY KEY, name VARCHAR(9), secret VARCHAR(9), u INT, UNIQUE (u))")
URI = "kafka://k:9092/t?protocol="


def router(*rules: str, release: Release = V8_5, dispatchers: str = "") -> dispatch.Router:
    """Of a changefeed with those entries of column-selectors."""
    toml = f"[sink]\ncolumn-selectors = [{', '.join(rules)}]\n{dispatchers}"
    return dispatch.router(changefeed.load(f"{URI}open-protocol", toml, release), release)


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (["*"], "id Name secret_1 secret_2"),
        (["!secret*", "*"], "id Name secret_1 secret_2"),
        (["*", "!secret*"], "id Name"),
        (["ID", "nAME"], "id Name"),
        (["/^secret_\\d$/"], "secret_1 secret_2"),
        (["secret_?", "!*_2"], "secret_1"),
        (["`Name`"], "Name"),
        ([], ""),
        (["# all", " ", "[a-j]*"], "id"),
    ],
)
def test_the_last_pattern_that_matches_a_column_decides_in_any_letter_case(patterns: list[str], left: str) -> None:
    found = column_filter(patterns)
    assert [name for name in ("id", "Name", "secret_1", "secret_2") if found.match(name)] == left.split()


def test_patterns_come_from_files_too(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*\n!secret\n")
    assert not column_filter([f"@{tmp_path}/rules"]).match("secret")
    (tmp_path / "more").write_text("@rules\n")
    with pytest.raises(ChangefeedError, match="importing filter files recursively is not allowed"):
        column_filter([f"@{tmp_path}/more"])


@pytest.mark.parametrize("pattern", ["a.b", "a-b", "/(/", "[", "`a"])
def test_a_bad_pattern_is_ticdcs_error(pattern: str) -> None:
    with pytest.raises(ChangefeedError) as caught:
        router(f"{{matcher = ['*.*'], columns = ['{pattern}']}}")
    assert caught.value.code == "CDC:ErrFilterRuleInvalid"


def test_the_first_selector_that_matches_a_table_decides() -> None:
    """Tables in any letter case, unless case-sensitive."""
    made = router("{matcher = ['SHOP.t'], columns = ['*', '!secret']}", "{matcher = ['*.*'], columns = ['id']}")
    other = create_table("CREATE TABLE shop.other (id INT PRIMARY KEY, name VARCHAR(9))")
    untouched = create_table("CREATE TABLE shop.t (id INT PRIMARY KEY)")
    assert dispatch.route(made, TABLE).selected == frozenset({"id", "name", "u"})
    assert dispatch.route(made, other).selected == frozenset({"id"})
    assert dispatch.route(made, untouched).selected is None
    assert dispatch.route(router(), TABLE).selected is None


@pytest.mark.parametrize("release", [V8_5, find("v7.5.0"), find("v8.5.4", "new"), NEW])
@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ("['*', '!id', '!u']", "no primary key columns or unique key columns obtained after filter out, table: shop.t"),
        ("['*', '!name']", "the filtered out column is used in the column dispatcher, table: shop.t, column: name"),
    ],
)
def test_what_must_stay_is_checked_when_the_changefeed_starts(release: Release, columns: str, text: str) -> None:
    by_columns = "dispatchers = [{matcher = ['*.*'], partition = 'columns', columns = ['name']}]"
    dispatchers = by_columns if "dispatcher" in text else ""
    made = router(f"{{matcher = ['*.*'], columns = {columns}}}", release=release, dispatchers=dispatchers)
    with pytest.raises(ChangefeedError) as caught:
        dispatch.verify_tables(made, [TABLE])
    assert (caught.value.code, caught.value.text) == ("CDC:ErrColumnSelectorFailed", text)


@pytest.mark.parametrize("columns", ["['id']", "['*', '!id']", "['u']"])
def test_one_whole_key_is_enough(columns: str) -> None:
    dispatch.verify_tables(router(f"{{matcher = ['*.*'], columns = {columns}}}"), [TABLE])


def test_a_table_without_primary_key_keeps_what_it_likes_up_to_26_3_3() -> None:
    table = create_table("CREATE TABLE shop.t (a INT NOT NULL, b INT, UNIQUE KEY (a))")
    rule = "{matcher = ['*.*'], columns = ['b']}"
    for release in (V8_5, NEW, find("v26.3.3", "new")):
        dispatch.verify_tables(router(rule, release=release), [table])
    with pytest.raises(ChangefeedError, match="no primary key columns or unique key columns"):
        dispatch.verify_tables(router(rule, release=find("v26.3.4", "new")), [table])


def test_classic_dispatchers_see_what_is_left_and_new_ones_all() -> None:
    """A handle key that is left out is not hashed by classic TiCDC."""
    rule = "{matcher = ['*.*'], columns = ['*', '!id']}"
    by_key = "dispatchers = [{matcher = ['*.*'], partition = 'index-value'}]"
    assert dispatch.route(router(rule, dispatchers=by_key), TABLE).hashed == ()
    assert dispatch.route(router(rule, dispatchers=by_key, release=NEW), TABLE).hashed == (("id", "id"),)


def test_before_7_5_selectors_are_read_and_do_nothing() -> None:
    old = find("v7.1.0")
    toml = "[sink]\ncolumn-selectors = [{matcher = ['*.*'], columns = ['name']}]"
    made = changefeed.load(f"{URI}open-protocol", toml, old)
    assert any("sink.column-selectors has no effect: TiCDC v7.1.0" in warning for warning in made.warnings)
    assert dispatch.route(dispatch.router(made, old), TABLE).selected is None


OLD, AFTER = ({"id": "1", "name": name, "secret": "s", "u": "5"} for name in ("a", "b"))
CHANGES: tuple[Change, ...] = ((OLD, AFTER), (None, AFTER), (OLD, None))


@pytest.mark.parametrize("release", [V8_5, NEW])
def test_messages_have_the_columns_that_are_left_as_explain_says(release: Release) -> None:
    """pkNames are of the rows in the classic architecture, of the table in the new."""
    for _, value in explained(release, "open-protocol", ["id", "name"]):
        assert {tuple(sorted(columns)) for columns in json.loads(value[8:]).values()} == {("id", "name")}
    for _, value in explained(release, "canal-json", ["u", "name"]):
        message = json.loads(value)
        images = [*message["data"], *(message["old"] or []), message["sqlType"], message["mysqlType"]]
        assert {tuple(image) for image in images} == {("name", "u")}
        assert message["pkNames"] == ([] if release is V8_5 else ["id"])


def explained(release: Release, protocol: str, columns: list[str]) -> list[tuple[bytes | None, bytes]]:
    """The messages of CHANGES."""
    toml = f"[sink]\ncolumn-selectors = [{{matcher = ['*.*'], columns = {columns}}}]"
    made = changefeed.load(URI + protocol, toml, release)
    changes = [parse_row_change(TABLE, {"before": before, "after": after}) for before, after in CHANGES]
    found = [explain_row(TABLE, made, change, release) for change in changes]
    assert all(
        [column["name"] for column in row_as_dict(row)["columns"] if column["sent"]]
        == [column.name for column in TABLE.columns if column.name in columns]
        for row in found
    )
    return [message for row in found for message in row.messages]


def test_classic_canal_json_cannot_compare_what_is_not_there() -> None:
    options = CodecOptions("canal-json", only_output_updated_columns=True)
    given = rows(TABLE, [CHANGES[0]])
    with pytest.raises(EncodeError, match=r"panic: .* shop\.t, key id=1; TiCDC v8\.5\.3 crashes on column-selectors"):
        CODECS["canal-json"].encode(selecting(given, "id"), options, V8_5)
    CODECS["canal-json"].encode(selecting(given, "id"), options, NEW)


@pytest.mark.parametrize(
    ("protocol", "code"),
    [("open-protocol", "CDC:ErrOpenProtocolCodecInvalidData"), ("canal-json", "CDC:ErrCanalEncodeFailed")],
)
def test_the_new_architecture_refuses_rows_without_columns(protocol: str, code: str) -> None:
    with pytest.raises(EncodeError) as caught:
        CODECS[protocol].encode(selecting(rows(TABLE, [CHANGES[1]])), CodecOptions(protocol), NEW)
    assert caught.value.code == code


def selecting(given: RowChanges, *names: str) -> RowChanges:
    return replace(given, selected=frozenset(names))
