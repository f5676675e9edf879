"""What is said: the settings of changefeed.toml count, lists hold what the release takes, charsets and files are named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.playing import Said, said

from simulator.limits import counted, sized

STORY = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 5);"
RUN = ("run", "story.sql", "--fixtures", "out", "--truth", "truth")
CONSOLE = ("--console", "--master", "none")


@pytest.fixture(autouse=True)
def _story(here: Path) -> None:
    (here / "story.sql").write_text(STORY)


# -- changefeed.toml ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("run", "story.sql", "--console"),
        ("explain", "ddl", "CREATE TABLE t (id INT PRIMARY KEY)"),
        ("load", "--preset", "shop", "--duration", "1ms", *CONSOLE),
    ],
)
def test_the_protocol_of_the_file_counts_without_a_sink_uri(command: tuple[str, ...]) -> None:
    Path("changefeed.toml").write_text('[sink]\nprotocol = "canal-json"\n[sink.kafka-config]\npartition-num = 1\n')
    code, out, err = said(*command, "--config", "changefeed.toml")
    assert (code, "warning" in "".join(err)) == (0, False), err
    assert "[CREATE]" in out or "canal-json    partition 0" in out


def test_verify_takes_from_the_messages_what_the_file_does_not_say() -> None:
    Path("canal.toml").write_text('[sink]\nprotocol = "canal-json"\n')
    Path("other.toml").write_text("memory-quota = 1\n")
    assert said(*RUN, "--config", "canal.toml").code == 0
    for config in ("canal.toml", "other.toml"):
        assert said("verify", "out", "--config", config).out.startswith("RIGHT"), config


@pytest.mark.parametrize(
    "command",
    [
        ("explain", "row", '{"after": {"id": 1}}', "--schema", "before/shop.item-schema.sql"),
        ("explain", "ddl", "drop table t"),
        ("explain", "table", "item", "--schema", "before/shop.item-schema.sql"),
        ("diff", "before", "before", "--sink-uri", "kafka://h:1/t?protocol=open-protocol", "--fixtures", "full"),
    ],
)
def test_what_ticdc_takes_and_then_cannot_use_is_a_warning(command: tuple[str, ...]) -> None:
    """An event filter that classic TiCDC only logs. `diff` then stops, for it would overwrite files."""
    export("before")
    export("full")
    Path("feed.toml").write_text(
        "[[filter.event-filters]]\nmatcher = ['*.*']\nignore-event = ['insert']\nignore-sql = ['(']\n"
    )
    (line,) = (line for line in said(*command, "--config", "feed.toml").err if line.startswith("warning: "))
    assert "filter.event-filters[1]: ignore-event and ignore-sql have no effect, TiCDC only logs: " in line


# -- what a release takes -----------------------------------------------------------------------------------------

GSSAPI = "unknown OAUTHBEARER SASL mechanism; accepted: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI"
REGISTRY = (
    'accepted: schema-registry = "http://host:port" in [sink] of changefeed.toml; sink-uri: schema-registry is '
    "ignored: TiCDC v6.5.6 does not have it"
)


@pytest.mark.parametrize(
    ("release", "uri", "words", "not_words"),
    [
        ("v6.5.6", "kafka://h/t?protocol=debezium", "TiCDC has it since v7.6.0. Accepted: protocol=open-pro", "=debez"),
        ("v6.5.6", "kafka://h/t?protocol=debezium", "or protocol=avro", "protocol=csv"),
        ("v7.5.0", "file:///s?protocol=open-protocol", "accepted: canal-json, csv", "avro"),
        (
            "v7.5.0",
            "kafka://h/t?protocol=csv",
            "accepted: open-protocol, canal-json, avro, maxwell (csv is for",
            "simple",
        ),
        ("v6.1.0", "mysql://h", "accepted: kafka, kafka+ssl", "file"),
        ("v8.5.3", "mysql://h", "accepted: kafka, kafka+ssl, file, s3, gcs, azure", "noop"),
        ("v6.1.0", "kafka://h/t?protocol=canal-json&sasl-mechanism=OAUTHBEARER", GSSAPI, "GSSAPI, OAUTHBEARER"),
        ("v6.5.6", "kafka://h/t?protocol=avro&schema-registry=http://127.0.0.1:8081", REGISTRY, "or the sink-uri"),
        ("v8.5.3", "kafka://h/t?protocol=avro", "in [sink] of changefeed.toml or the sink-uri", "ignored"),
        ("v8.5.3", "kafka://h/t?protcol=avro", "unknown key 'protcol' is ignored. Did you mean 'protocol'?", "csv"),
    ],
)
def test_lists_hold_what_the_release_takes(release: str, uri: str, words: str, not_words: str) -> None:
    code, _, err = said("explain", "ddl", "CREATE DATABASE d", "--release", release, "--sink-uri", uri)
    assert (code, [(words in line, not_words in line) for line in err]) == (2, [(True, False)]), err


# -- charsets and files -------------------------------------------------------------------------------------------

UTF_16 = "is not UTF-8: it is UTF-16, little-endian; accepted: UTF-8"
OF_EXPORTS = f"{UTF_16}, or with --charset latin1, gbk, gb18030, utf16"
MARKS = {"utf-8-sig": b"", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}


def written(charset: str, text: str) -> bytes:
    return MARKS.get(charset, b"") + text.encode(charset)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shop.t.csv", "shop.t.sql", "shop.t-schema.sql"])
def test_charsets_of_an_export_are_named_and_a_mark_is_dropped(name: str) -> None:
    texts = {
        "shop.t.csv": '"id","v"\n1,"ä"\n',
        "shop.t.sql": "INSERT INTO `t` VALUES (1,'ä');\n",
        "shop.t-schema.sql": "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9) COMMENT 'ä');\n",
    }
    for directory, files in (("before", ()), ("after", (name, "shop.t.csv") if "schema" in name else (name,))):
        Path(directory).mkdir()
        for file in ("shop.t-schema.sql", *files):
            Path(directory, file).write_text(texts[file])

    def compared(data: bytes) -> Said:
        Path("after", name).write_bytes(data)
        return said("diff", "before", "after", *CONSOLE)

    assert " v=ä" in compared(written("utf-8-sig", texts[name])).out
    for data, words in (
        (written("utf-16-le", texts[name]), OF_EXPORTS),
        (written("utf-16-be", texts[name]), "UTF-16, big-endian"),
        (texts[name].encode("utf-16-le"), OF_EXPORTS),
        (written("latin-1", texts[name]), "is of another charset, such as latin1"),
        (written("latin-1", texts[name]), "--charset latin1, gbk"),
    ):
        code, _, err = compared(data)
        assert (code, words in "".join(err)) == (2, True), err


OTHERS = {
    "x.sql": (f"-- ä\n{STORY}", ("run", "x.sql", "--console")),
    "x.toml": (f"# ä\n[[step]]\nsql = '{STORY}'\n", ("run", "x.toml", "--console")),
    "c.toml": ("# ä\n[sink]\nprotocol = 'canal-json'\n", ("run", "story.sql", "--console", "--config", "c.toml")),
    "p.toml": (
        "# ä\n[[table]]\ndefinition = 'CREATE TABLE t (id INT PRIMARY KEY)'\n[table.mix]\ninserts = 1\n",
        ("load", "p.toml", "--duration", "1ms", *CONSOLE),
    ),
    "truth/truth.json": ("", ("verify", "out", "--truth", "truth")),
    "out/ticdc/1.jsonl": ("", ("inspect", "out")),
}
"""By file: its text, if no run writes it, and the command that reads it."""


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_charsets_of_other_files_are_named(name: str) -> None:
    text, command = OTHERS[name]
    assert said(*RUN).code == 0
    text = text or Path(name).read_text()
    Path(name).write_bytes(written("utf-8-sig", text))
    assert said(*command).code == 0
    Path(name).write_bytes(written("utf-16-le", text))
    code, _, err = said(*command)
    assert (code, UTF_16 in "".join(err)) == (2, True)


def test_a_truth_that_cannot_be_read_is_not_missing() -> None:
    said(*RUN)
    os.rename("truth/truth.json", "truth/kept")
    assert "truth is no truth: it has no truth.json" in said("verify", "out", "--truth", "truth").err[-1]
    Path("truth/truth.json").mkdir()
    assert "cannot read truth/truth.json: Is a directory" in said("verify", "out", "--truth", "truth").err[-1]


def test_a_directory_is_not_walked_to_see_whether_it_has_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("disk/a/b/c").mkdir(parents=True)
    seen: set[str] = set()
    listed = Path.iterdir

    def noted(path: Path) -> Iterator[Path]:
        seen.add(path.name)
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", noted)
    assert "holds something else (a/b)" in said("run", "story.sql", "--fixtures", "disk").err[-1]
    assert not {"b", "c"} & seen


# -- how it is said -----------------------------------------------------------------------------------------------


def test_counts_and_sizes_are_right_in_english() -> None:
    counts = {(1, "row change"): "1 row change", (2, "row change"): "2 row changes", (1000, "row"): "1,000 rows"}
    irregular = {(0, "entry"): "0 entries", (1, "entry"): "1 entry", (2, "check"): "2 checks", (2, "box"): "2 boxes"}
    assert {given: counted(*given) for given in counts | irregular} == counts | irregular
    sizes = {0: "0 bytes", 1: "1 byte", 1023: "1,023 bytes", 1024: "1.0 KiB", 60_000: "0.1 MiB", 2_300_000: "2.2 MiB"}
    sizes |= {190 << 20: "190.0 MiB", 20_000 << 20: "19.5 GiB"}
    assert {number: sized(number) for number in sizes} == sizes


def test_a_small_run_says_its_size() -> None:
    code, out, _ = said(*RUN)
    assert code == 0 and "\n1 row change in " in out and "0.0 MB" not in out and " bytes, " in out
    assert "nothing differs" not in out  # SQL is no comparison


def export(name: str, rows: str = "1,pen\n2,cup\n", more: str = "") -> None:
    """An export of shop.item, and perhaps of an empty table."""
    Path(name).mkdir()
    Path(name, "shop.item-schema.sql").write_text("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20));")
    Path(name, "shop.item.csv").write_text(rows)
    if more:
        Path(name, f"shop.{more}-schema.sql").write_text(f"CREATE TABLE {more} (id INT PRIMARY KEY);")


EQUAL = "nothing differs: the snapshots have the same tables and rows"
DELETES = "[[filter.event-filters]]\nmatcher = ['*.*']\nignore-event = ['delete']\n"


@pytest.mark.parametrize(
    ("rows", "more", "protocol", "config", "line"),
    [
        ("1,pen\n2,cup\n", "", "open-protocol", "", EQUAL),
        ("2,cup\n1,pen\n", "", "canal-json", "", EQUAL),
        ("1,pen\n2,cup\n", "", "debezium", "", EQUAL),
        ("1,pen\n", "", "open-protocol", "", ""),
        ("1,pen\n2,cup\n", "box", "open-protocol", "", ""),
        ("1,pen\n2,cup\n", "box", "debezium", "", ""),
        ("1,pen\n", "", "open-protocol", DELETES, f"{EQUAL}, as far as the changefeed takes them"),
    ],
)
def test_one_line_says_that_nothing_differs(rows: str, more: str, protocol: str, config: str, line: str) -> None:
    """Not where a row or a table differs, whether its statement is sent or not. Rows that an event filter drops differ,
    and are no rows of the stream."""
    export("before")
    export("after", rows, more)
    Path("feed.toml").write_text(config)
    uri = f"kafka://127.0.0.1:9092/shop?protocol={protocol}"
    code, out, _ = said("diff", "before", "after", "--sink-uri", uri, "--config", "feed.toml", "--fixtures", "out")
    assert (code, [said for said in out.splitlines() if said.startswith(EQUAL)]) == (0, [line] if line else [])


@pytest.mark.slow
def test_long_sql_is_shortened() -> None:
    rows = ",".join(f"({number},{number})" for number in range(3000))
    for text, words in (
        (
            f"CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES {rows},(1,1);",
            "Duplicate entry '1' for key",
        ),
        (f"CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t (`{'x' * 5000}`) VALUES (1);", "Unknown column 'xxx"),
    ):
        Path("long.sql").write_text(text)
        code, _, err = said("run", "long.sql", "--console")
        assert (code, words in "".join(err)) == (2, True) and max(map(len, err)) < 600


def test_inspect_names_what_it_skips_and_quotes_names() -> None:
    Path("story.sql").write_text(
        "CREATE DATABASE `a.b`; CREATE TABLE `a.b`.`c d` (id INT PRIMARY KEY, `x.y` INT, `z w` INT);"
        "INSERT INTO `a.b`.`c d` VALUES (1, 2, 3);"
    )
    said(*RUN)
    Path("out/notes.txt").touch()
    Path("out/ticdc/zero.jsonl").touch()
    code, out, err = said("inspect", "out")
    assert code == 0 and 'INSERT "a.b"."c d" id=1 "x.y"=2 "z w"=3\n' in out
    words = "warning: not read, as no changefeed gives files such names: 'out/notes.txt', 'out/ticdc/zero.jsonl'"
    assert words in "".join(err)


def test_piped_tables_are_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    table = "a_table_whose_name_" + "is_long_" * 5
    Path("story.sql").write_text(f"CREATE TABLE {table} (id INT PRIMARY KEY); INSERT INTO {table} VALUES (1);")
    assert [f"test.{table}", "1", "0", "0"] in [line.split() for line in said(*RUN).out.splitlines()]


@pytest.mark.parametrize(
    ("provider", "hint"),
    [
        ("e_mail", "Faker has no provider 'e_mail'. Did you mean 'email'? `python -m faker` lists them; a fixed text"),
        ("internet.email", "Did you mean 'email'?"),
        ("seed", "Faker has no provider 'seed'. `python -m faker` lists them"),
        ("profile", "Faker's profile gives a dict, and a text, a number or a time is accepted"),
    ],
)
def test_fakers_hint_names_what_helps(provider: str, hint: str) -> None:
    definition = "definition = 'CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(99))'"
    Path("p.toml").write_text(f"[[table]]\n{definition}\ncolumns = {{ v = '{provider}' }}\n")
    code, _, err = said("load", "p.toml", "--duration", "1ms", *CONSOLE)
    assert (code, hint in "".join(err)) == (2, True), err
