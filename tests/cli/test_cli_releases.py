"""`ticdc-sim releases`: what a release does and what changes between two, from the fields of Release alone."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.playing import said

import simulator
from simulator.releases import RELEASES, Release, behaviours, differences, find, lines
from simulator.releases.behaviour import releases_in
from simulator.ticdc.changefeed.keys import KEYS, option
from simulator.ticdc.codecs import CODECS

EVERY = [release for releases in RELEASES.values() for release in releases.values()]
FIELDS = [field.name for field in dataclasses.fields(Release)]
OURS = {"name", "architecture"}
"""Fields that are no behaviour of TiCDC."""

PACKAGE = Path(simulator.__file__).parent


@pytest.fixture(autouse=True)
def _screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def output(*arguments: object) -> str:
    """What the command prints, never wider than the screen."""
    code, out, _ = said("releases", *arguments)
    assert not any(line.endswith(" ") for line in out.splitlines())
    assert code == 0 and ("--json" in arguments or max(map(len, out.splitlines())) <= 80)
    return out


def shown(*arguments: object) -> str:
    """The same in one line of words."""
    return " ".join(output(*arguments).split())


def document(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output(*arguments, "--json"))
    return found


def test_every_field_is_shown_with_the_first_sentence_about_it() -> None:
    """In the order of Release; each says more than its name, and ends before the releases and sources."""
    found = behaviours()
    meanings = [behaviour.meaning for behaviour in found]

    assert [behaviour.name for behaviour in found] == [name for name in FIELDS if name not in OURS]
    assert [text for text in meanings if len(text.split()) < 3 or not text[0].isupper()] == []
    assert [text for text in meanings if re.search(r"\.go|%s|\(\(|[;:,(]$", text)] == []
    assert all(behaviour.chapter and behaviour.section and behaviour.sources for behaviour in found)


def test_every_source_is_a_file_or_a_folder_or_an_issue() -> None:
    """With functions at most behind it."""
    source = re.compile(
        r"(Go's |tidb )?[\w*{},.-]+(/[\w*{},.-]+)+((:| and|,)? [\w.]+)*|(tidb )?go\.mod|t\w+ issues? .*|tidb.*\d+|TiDB .*"
    )
    assert [cited for behaviour in behaviours() for cited in behaviour.sources if not source.fullmatch(cited)] == []


def test_every_release_has_one_value_of_each_behaviour() -> None:
    """Some other release has another one."""
    every = {(release.architecture, release.name) for release in EVERY}
    for behaviour in behaviours():
        found = [release for ranges, _ in behaviour.ranges for release in releases_in(ranges)]
        if behaviour.values:
            assert (len(behaviour.values) > 1, sorted(found)) == (True, sorted(every)), behaviour.name
        else:
            assert set(found) <= every, behaviour.name
        assert len({behaviour.value(release) for release in every}) > 1, behaviour.name


@pytest.mark.parametrize("text", ["", "6.7", "4.0.6-6.1", "new 4.0", "v6.5", "6.5,6.6", "new 8.5.4–9.0.0-beta.1"])
def test_a_text_that_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is n"):
        releases_in(text)


def test_ranges_are_of_versions() -> None:
    assert {tag for _, tag in releases_in("6.5.11–6.6")} == {"v6.5.11", "v6.5.12", "v6.6.0"}
    assert releases_in("8.5.8; new 8.5.4, 26.3.4+, 9.0.0-beta.1") == {
        ("classic", "v8.5.8"),
        *(("new", tag) for tag in ("v8.5.4", "v26.3.4", "v9.0.0-beta.1")),
    }
    assert releases_in("classic; new") == {(release.architecture, release.name) for release in EVERY}


@pytest.mark.slow
def test_every_field_is_read_by_what_it_is_about() -> None:
    """Code outside of releases/ reads each field; otherwise it would have no effect."""
    files = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "releases"]
    read = {
        node.attr
        for path in files
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }

    assert [name for name in FIELDS if name not in read | {"name"}] == []


def test_documentation_has_values_and_releases_and_sources() -> None:
    by_name = {behaviour.name: behaviour for behaviour in behaviours()}
    assert by_name["primary_is_unique"].documentation == (
        "Whether columns of the primary index also get the UniqueKey bit. 4.0–7.5.1, 7.6 (cdc/model/schema_storage.go)."
    )
    assert by_name["default_dispatcher"].means("table") == "always"
    assert "`4096`: 4.0.9–4.0.12, 5.0.0. " in by_name["max_batch_size"].documentation
    assert "`none`: 6.0+; new (" in by_name["empty_deletes"].documentation
    assert by_name["rename_filter"].means("old-name") == "by the old name, an error where only the new one matches"
    assert by_name["rename_filter"].means("?") == ""


def test_without_arguments_every_line_says_where_behaviours_change() -> None:
    text = shown()

    assert "classic architecture" in text and "new architecture" in text
    assert "v6.5 v6.5.0 – v6.5.12" in text and "v7.3 v7.3.0" in text and "v8.5 v8.5.4 – v8.5.8" in text
    assert {line["line"] for line in document()["lines"]} == {
        ".".join(release.name.split(".")[:2]) for release in EVERY
    }
    assert {line["architecture"] for line in document("--architecture", "new")["lines"]} == {"new"}


def test_a_release_that_is_said_to_change_behaves_otherwise_and_the_others_do_not() -> None:
    for line in lines():
        changed = {release.name: count for release, count in line.changes}
        for before, release in zip(line.releases, line.releases[1:]):
            assert changed.get(release.name, 0) == len(differences(before, release))


@pytest.mark.slow
def test_a_release_is_shown_whole() -> None:
    text = shown("7.1.3")

    assert text.startswith("TiCDC v7.1.3 (classic) ON THE WIRE")
    assert [name for name in FIELDS if name not in OURS and name not in text] == []
    assert "add column (5)" in text and "old-name: by the" in text
    found = document("v7.1.3")
    by_name = {behaviour["name"]: behaviour for behaviour in found["behaviours"]}
    assert (found["release"], found["architecture"]) == ("v7.1.3", "classic")
    assert by_name["flush_rows"]["value"] == 2048
    assert by_name["dispatchers"]["value"] == ["default", "index-value", "rowid", "table", "ts"]
    assert by_name["primary_is_unique"]["sources"] == ["cdc/model/schema_storage.go"]


def test_between_two_releases_only_what_differs_is_shown_what_is_on_the_wire_first() -> None:
    """Does my consumer survive the upgrade from 6.5 to 8.5? The first line says how much of it is on the wire."""
    text = shown("v6.5.0", "v8.5.3")
    found = document("v6.5.0", "v8.5.3")["differences"]
    by_name = {difference["name"]: difference for difference in found}

    wire = [difference["on_the_wire"] for difference in found]
    assert wire == sorted(wire, reverse=True) and any(wire) and not all(wire)
    assert text.startswith(
        f"TiCDC v6.5.0 (classic) → v8.5.3 (classic): {len(found)} behaviours differ, {sum(wire)} on the wire"
        f" on the wire: rows ({sum(difference['section'] == 'rows' for difference in found)}), "
    )
    assert "…" not in text
    assert (by_name["float_widened"]["from"], by_name["float_widened"]["to"]) == (True, False)
    assert (by_name["dispatchers"]["added"], by_name["dispatchers"]["removed"]) == (["columns"], [])
    assert "added: columns" in text and "canal_ddl_in_partition_0" not in by_name


def test_architectures_are_compared_by_their_prefix() -> None:
    found = document("v8.5.4", "new:v8.5.4")

    assert [found[side]["architecture"] for side in ("from", "to")] == ["classic", "new"]
    assert document("classic:8.5.4", "8.5.4", "--architecture", "new") == found
    assert {"dispatch_nulls", "open_escapes_html"} <= {difference["name"] for difference in found["differences"]}
    assert "v8.5.4 (classic) v8.5.4 (new)" in shown("v8.5.4", "new:v8.5.4")


def test_releases_that_behave_alike_differ_in_nothing() -> None:
    assert shown("v7.5.3", "v7.5.4").endswith("(classic): no behaviour differs")
    assert differences(find("v8.5.0"), find("v8.5.0")) == ()


def test_messages_of_a_protocol_that_one_of_the_releases_lacks_are_left_out() -> None:
    def protocols(before: str, after: str) -> set[str]:
        found = differences(find(before), find(after))
        return {protocol for difference in found for protocol in difference.behaviour.concern.protocols}

    assert "debezium" in protocols("v8.1.0", "v8.5.3")
    assert not {"debezium", "debezium-avro"} & protocols("v6.5.6", "v8.5.3")
    assert "open-protocol" in protocols("v5.3.0", "v5.4.0")  # which is called `default` in 5.3


def names(*arguments: object) -> set[str]:
    """The behaviours that are shown of two releases that differ in most of them."""
    return {found["name"] for found in document("v6.1.0", "new:v8.5.7", *arguments)["differences"]}


@pytest.mark.parametrize(
    ("arguments", "shown", "hidden"),
    [
        ((), {"open_sorts_columns", "canal_alters", "avro_key", "topic_rules", "storage_sink"}, set()),
        (("--protocol", "canal-json"), {"canal_alters", "topic_rules", "update_split"}, {"open_", "avro_", "storage_"}),
        (("--protocol", "Open-Protocol"), {"open_sorts_columns", "group_by_partition_key"}, {"canal_", "csv_"}),
        (("--protocol", "avro"), {"avro_key", "update_split"}, {"open_", "canal_", "short_", "group_"}),
        (("--sink-uri", "kafka://h/t?protocol=default"), {"open_sorts_columns"}, {"canal_", "event_", "topic_rules"}),
        (("--sink-uri", "s3://b/p?protocol=canal-json"), {"storage_sink", "canal_alters"}, {"topic_rules", "open_"}),
    ],
)
def test_what_concerns_a_changefeed_is_shown(arguments: tuple[str, ...], shown: set[str], hidden: set[str]) -> None:
    """Its protocol, its sink, its settings; without a sink-uri the sink is Kafka."""
    found = names(*arguments)

    assert shown <= found
    assert [name for name in found if name.startswith(tuple(hidden))] == []


def test_only_what_concerns_a_changefeed_toml_is_shown(tmp_path: Path) -> None:
    """What only settings bring that it lacks is left out, and so is the default of what it sets."""
    file = tmp_path / "changefeed.toml"
    file.write_text(
        "case-sensitive = false\nforce-replicate = true\n[sink]\nprotocol = 'open-protocol'\n"
        "[[sink.dispatchers]]\nmatcher = ['a.*']\npartition = 'ts'\n"
        "[[filter.event-filters]]\nmatcher = ['a.*']\nignore-sql = ['^drop']\n[scheduler]\n"
    )
    found = names("--config", file)
    every = names("--protocol", "open-protocol")

    assert {"dispatchers", "event_filter_rename", "open_sorts_columns", "force_replicate_needs_old_value"} <= found
    assert every - found >= {"topic_rules", "column_selectors", "case_sensitive", "open_old_nameless"}
    assert found <= every
    with_file = document("v6.1.0", "v8.5.3", "--config", file)
    changefeed = with_file["changefeed"]
    assert changefeed["protocol"] == "open-protocol" and "sink.dispatchers" in changefeed["settings"]
    options = next(found for found in with_file["differences"] if found["name"] == "options")
    assert (options["added"], options["removed"]) == (["filter.event-filters", "scheduler"], [])
    told = "Only what concerns open-protocol to Kafka with the settings that were given."
    assert told in shown("v6.1.0", "v8.5.3", "--config", file)


def test_what_hides_more_than_is_meant_is_warned_of(tmp_path: Path) -> None:
    """A sink-uri has precedence over a file, as in TiCDC; a key that no release has would hide what the right one
    shows."""
    file = tmp_path / "changefeed.toml"
    avro = ("--sink-uri", "kafka://h/t?protocol=avro")
    for text, options, warning in (
        ("protocol = 'canal-json'", avro, "protocol differs in sink-uri and [sink] (avro and canal-json)"),
        ("dispatcher = []", (), "unknown key 'dispatcher' in [sink] is ignored. Did you mean 'dispatchers'?"),
    ):
        file.write_text(f"[sink]\n{text}\n")
        code, _, err = said("releases", "v6.5.6", "v8.5.3", "--config", file, *options)
        assert (code, warning in "".join(err)) == (0, True), err


def test_one_release_and_all_lines_are_restricted_too() -> None:
    found = {behaviour["name"] for behaviour in document("v8.5.3", "--protocol", "simple")["behaviours"]}
    counts = [
        sum(change["behaviours"] for line in document(*arguments)["lines"] for change in line["changes"])
        for arguments in ((), ("--protocol", "simple"))
    ]

    assert "simple_location" in found and not [name for name in found if name.startswith(("open_", "canal_", "csv_"))]
    assert counts[0] > counts[1] > 0


@pytest.mark.parametrize("protocol", CODECS)
def test_a_behaviour_that_a_protocols_code_reads_concerns_the_protocol(protocol: str) -> None:
    """So that nothing is missing from what --protocol shows."""
    files = (PACKAGE / "ticdc" / "codecs" / protocol.replace("-", "_")).rglob("*.py")
    read = {
        node.attr
        for path in files
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "release"
    }
    concerned = {
        behaviour.name for behaviour in behaviours() if protocol in (behaviour.concern.protocols or {protocol: ""})
    }

    assert read & set(FIELDS) - OURS <= concerned


def test_settings_that_behaviours_concern_exist() -> None:
    """In a sink-uri or a changefeed.toml; a misspelt one would hide a behaviour always."""
    known = {f".{option(place, key)}".replace("?", "") for place, keys in KEYS.items() for key in keys}
    named = {
        setting
        for behaviour in behaviours()
        for setting in (*behaviour.concern.settings, behaviour.concern.default_of)
        if setting
    }

    assert [name for name in named if not any(full.endswith(f".{name}") for full in known)] == []


@pytest.mark.slow
def test_no_color_is_respected_on_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bold and dim may stay, colours do not. A file gets neither."""
    coloured = re.compile("\x1b\\[(?:\\d;)*(?:3[0-7]|38)")
    for arguments in ((), ("v8.5.3",), ("v4.0.9", "new:v8.5.7")):
        assert "\x1b" not in output(*arguments)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert coloured.search(said("releases", "v8.5.3").out)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured.search(said("releases", "v8.5.3").out)
