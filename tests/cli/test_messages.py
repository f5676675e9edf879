"""What is said: the settings of changefeed.toml count, lists hold what the release takes, charsets and files are named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.playing import play

from simulator.quantities import counted, sized

STORY = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 5);"
Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def said(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Said:
    """Plays a command in a directory with `story.sql`; exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    Path("story.sql").write_text(STORY)

    def run(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = play(*arguments)
        return code, *capfd.readouterr()

    return run


# -- changefeed.toml without --sink-uri ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ("run", "story.sql", "--console"),
        ("explain", "ddl", "CREATE TABLE t (id INT PRIMARY KEY)"),
        ("load", "--preset", "shop", "--console", "--duration", "1ms", "--master", "none"),
    ],
)
def test_the_protocol_of_the_file_counts_without_a_sink_uri(said: Said, command: tuple[str, ...]) -> None:
    Path("changefeed.toml").write_text('[sink]\nprotocol = "canal-json"\n[sink.kafka-config]\npartition-num = 1\n')

    code, out, err = said(*command, "--config", "changefeed.toml")

    assert (0, False) == (code, "warning" in err), err
    assert "[CREATE]" in out or "canal-json    partition 0" in out


def test_verify_takes_from_the_messages_what_the_file_does_not_say(said: Said) -> None:
    """The file has no protocol, or the stream's."""
    Path("canal.toml").write_text('[sink]\nprotocol = "canal-json"\n')
    Path("other.toml").write_text("memory-quota = 1\n")
    assert said("run", "story.sql", "--fixtures", "out", "--config", "canal.toml")[0] == 0

    for config in ("canal.toml", "other.toml"):
        assert said("verify", "out", "--config", config)[1].startswith("RIGHT"), config


# -- what a release takes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "uri", "words", "not_words"),
    [
        ("v6.5.6", "kafka://h/t?protocol=debezium", "TiCDC has it since v7.6.0. Accepted: protocol=open-pro", "=debez"),
        ("v6.5.6", "kafka://h/t?protocol=debezium", "or protocol=avro", "protocol=csv"),
        ("v7.5.0", "file:///s?protocol=open-protocol", "accepted: canal-json, csv", "avro"),
        ("v7.5.0", "kafka://h/t?protocol=csv", "accepted: open-protocol, canal-json, avro (csv is for", "simple"),
        ("v6.1.0", "mysql://h", "accepted: kafka, kafka+ssl", "file"),
        ("v8.5.3", "mysql://h", "accepted: kafka, kafka+ssl, file, s3, gcs, azure", "noop"),
        (
            "v6.1.0",
            "kafka://h/t?protocol=canal-json&sasl-mechanism=OAUTHBEARER",
            "unknown OAUTHBEARER SASL mechanism; accepted: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI",
            "GSSAPI, OAUTHBEARER",
        ),
        (
            "v6.5.6",
            "kafka://h/t?protocol=avro&schema-registry=http://127.0.0.1:8081",
            'accepted: schema-registry = "http://host:port" in [sink] of changefeed.toml; sink-uri: schema-registry is '
            "ignored: TiCDC v6.5.6 does not have it",
            "or the sink-uri",
        ),
        ("v8.5.3", "kafka://h/t?protocol=avro", "in [sink] of changefeed.toml or the sink-uri", "ignored"),
        ("v8.5.3", "kafka://h/t?protcol=avro", "unknown key 'protcol' is ignored. Did you mean 'protocol'?", "csv"),
    ],
)
def test_lists_hold_what_the_release_takes(said: Said, release: str, uri: str, words: str, not_words: str) -> None:
    code, _, err = said("explain", "ddl", "CREATE DATABASE d", "--release", release, "--sink-uri", uri)

    assert (2, True, False, 1) == (code, words in err, not_words in err, err.count("\n")), err


# -- charsets and files -------------------------------------------------------------------------------------------

UTF_16 = "is not UTF-8: it is UTF-16, little-endian; accepted: UTF-8"
OF_EXPORTS = f"{UTF_16}, or with --charset latin1, gbk, gb18030, utf16"


def written(charset: str, text: str) -> bytes:
    marks = {"utf-8-sig": b"", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
    return marks.get(charset, b"") + text.encode(charset)


def bare_utf_16(text: str) -> bytes:
    return text.encode("utf-16-le")


@pytest.mark.parametrize("name", ["shop.t.csv", "shop.t.sql", "shop.t-schema.sql"])
def test_charsets_of_an_export_are_named_and_a_mark_is_dropped(said: Said, name: str) -> None:
    texts = {
        "shop.t.csv": '"id","v"\n1,"ä"\n',
        "shop.t.sql": "INSERT INTO `t` VALUES (1,'ä');\n",
        "shop.t-schema.sql": "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9) COMMENT 'ä');\n",
    }
    after = Path("after")
    after.mkdir()
    Path("before").mkdir()
    Path("before/shop.t-schema.sql").write_text(texts["shop.t-schema.sql"])
    for file in (name, "shop.t-schema.sql", *(["shop.t.csv"] if name.endswith("schema.sql") else [])):
        (after / file).write_text(texts[file])

    def compared(data: bytes) -> tuple[int, str, str]:
        (after / name).write_bytes(data)
        return said("diff", "before", "after", "--console", "--master", "none")

    assert " v=ä" in compared(written("utf-8-sig", texts[name]))[1]
    assert OF_EXPORTS in compared(written("utf-16-le", texts[name]))[2]
    assert "UTF-16, big-endian" in compared(written("utf-16-be", texts[name]))[2]
    assert OF_EXPORTS in compared(bare_utf_16(texts[name]))[2]
    code, _, err = compared(written("latin-1", texts[name]))
    assert code == 2 and "is of another charset, such as latin1" in err and "--charset latin1, gbk" in err


@pytest.mark.parametrize("kind", ["sql", "toml", "changefeed", "plan", "truth", "fixtures"])
def test_charsets_of_other_files_are_named(said: Said, kind: str) -> None:
    """A UTF-8 mark is dropped in them, too."""
    texts = {
        "sql": f"-- ä\n{STORY}",
        "toml": f"# ä\n[[step]]\nsql = '{STORY}'\n",
        "changefeed": "# ä\n[sink]\nprotocol = 'canal-json'\n",
        "plan": "# ä\n[[table]]\ndefinition = 'CREATE TABLE t (id INT PRIMARY KEY)'\n[table.mix]\ninserts = 1\n",
    }
    file, command = {
        "sql": ("x.sql", ("run", "x.sql", "--console")),
        "toml": ("x.toml", ("run", "x.toml", "--console")),
        "changefeed": ("c.toml", ("run", "story.sql", "--console", "--config", "c.toml")),
        "plan": ("p.toml", ("load", "p.toml", "--console", "--duration", "1ms", "--master", "none")),
        "truth": ("truth/truth.json", ("verify", "out", "--truth", "truth")),
        "fixtures": ("out/ticdc/1.jsonl", ("inspect", "out")),
    }[kind]
    said("run", "story.sql", "--fixtures", "out", "--truth", "truth")
    text = texts[kind] if kind in texts else Path(file).read_text()

    Path(file).write_bytes(written("utf-8-sig", text))
    assert said(*command)[0] == 0
    Path(file).write_bytes(written("utf-16-le", text))
    code, _, err = said(*command)
    assert (2, True) == (code, UTF_16 in err)


def test_what_cannot_be_read_is_not_missing(said: Said) -> None:
    said("run", "story.sql", "--fixtures", "out", "--truth", "truth")
    os.rename("truth/truth.json", "truth/kept")
    assert "truth is no truth: it has no truth.json" in said("verify", "out", "--truth", "truth")[2]
    Path("truth/truth.json").mkdir()

    assert "cannot read truth/truth.json: Is a directory" in said("verify", "out", "--truth", "truth")[2]
    assert "cannot read story.sql: Not a directory; a fixtures directory, kafka://" in said("inspect", "story.sql")[2]
    assert "no such directory: nowhere" in said("verify", "nowhere")[2]


def test_a_directory_is_not_walked_to_see_whether_it_has_fixtures(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only itself and its topics are looked at."""
    Path("disk/a/b/c").mkdir(parents=True)
    seen: set[str] = set()
    listed = Path.iterdir

    def noted(path: Path) -> Iterator[Path]:
        seen.add(path.name)
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", noted)

    assert "holds something else (a/b)" in said("run", "story.sql", "--fixtures", "disk")[2]
    assert not {"b", "c"} & seen


# -- how it is said -----------------------------------------------------------------------------------------------


def test_counts_and_sizes_are_right_in_english() -> None:
    assert ["1 row change", "2 row changes", "1,000 rows"] == [
        *(counted(count, "row change") for count in (1, 2)),
        counted(1000, "row"),
    ]
    assert ["0 entries", "1 entry", "2 checks", "2 matches"] == [
        counted(0, "entry"),
        counted(1, "entry"),
        counted(2, "check"),
        counted(2, "match"),
    ]
    assert ["0 bytes", "1 byte", "1,023 bytes", "1.0 KiB", "0.1 MiB", "2.2 MiB", "190.0 MiB", "19.5 GiB"] == [
        sized(number) for number in (0, 1, 1023, 1024, 60_000, 2_300_000, 190 << 20, 20_000 << 20)
    ]


def test_a_small_run_says_its_size(said: Said) -> None:
    code, out, _ = said("run", "story.sql", "--fixtures", "out")

    assert code == 0 and "\n1 row change in " in out and "0.0 MB" not in out and " bytes, " in out


def test_long_sql_is_shortened(said: Said) -> None:
    rows = ",".join(f"({number},{number})" for number in range(3000))
    name = "x" * 5000
    Path("long.sql").write_text(f"CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES {rows},(1,1);")
    Path("name.sql").write_text(f"CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t (`{name}`) VALUES (1);")

    for file, words in (("long.sql", "Duplicate entry '1' for key"), ("name.sql", "Unknown column 'xxx")):
        code, _, err = said("run", file, "--console")
        assert (2, True) == (code, words in err) and max(map(len, err.splitlines())) < 600


def test_inspect_names_what_it_skips_and_quotes_names(said: Said) -> None:
    Path("names.sql").write_text(
        "CREATE DATABASE `a.b`; CREATE TABLE `a.b`.`c d` (id INT PRIMARY KEY, `x.y` INT, `z w` INT);"
        "INSERT INTO `a.b`.`c d` VALUES (1, 2, 3);"
    )
    said("run", "names.sql", "--fixtures", "out")
    Path("out/notes.txt").touch()
    Path("out/ticdc/zero.jsonl").touch()

    code, out, err = said("inspect", "out")

    assert code == 0 and 'INSERT "a.b"."c d" id=1 "x.y"=2 "z w"=3\n' in out
    assert "warning: not read, as no changefeed gives files such names: 'out/notes.txt', 'out/ticdc/zero.jsonl'" in err


def test_piped_tables_are_not_wrapped(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    table = "a_table_whose_name_" + "is_long_" * 5
    Path("wide.sql").write_text(f"CREATE TABLE {table} (id INT PRIMARY KEY); INSERT INTO {table} VALUES (1);")

    out = said("run", "wide.sql", "--fixtures", "out")[1]

    assert any(line.split() == [f"test.{table}", "1", "0", "0"] for line in out.splitlines()), out


@pytest.mark.parametrize(
    ("provider", "hint"),
    [
        ("e_mail", "Faker has no provider 'e_mail'. Did you mean 'email'? `python -m faker` lists them; a fixed text"),
        ("internet.email", "Did you mean 'email'?"),
        ("seed", "Faker has no provider 'seed'. `python -m faker` lists them"),
        (
            "profile",
            "Faker's profile gives a dict, and a text, a number or a time is accepted; `python -m faker` lists",
        ),
    ],
)
def test_fakers_hint_names_what_helps(said: Said, provider: str, hint: str) -> None:
    Path("p.toml").write_text(
        "[[table]]\ndefinition = 'CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(99))'\n"
        f"columns = {{ v = '{provider}' }}\n"
    )

    code, _, err = said("load", "p.toml", "--console", "--duration", "1ms", "--master", "none")

    assert (2, True) == (code, hint in err), err
