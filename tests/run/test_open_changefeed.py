"""A changefeed that stays open: steps played one at a time, and messages of statements that wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.playing import play

from simulator import TiCDC, releases
from simulator.errors import EncodeError, SqlError, UserError
from simulator.reader.decode import DdlEvent, RowEvent, Watermark, decode
from simulator.reader.records import read_records
from simulator.run import open_changefeed
from simulator.run.open_changefeed import OpenChangefeed
from simulator.run.outputs import FilesOutput, KafkaOutput, MemoryOutput
from simulator.run.steps.kind import WaitStep
from simulator.run.steps.snapshot import SnapshotStep
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import load

DATA = Path(__file__).parent.parent.parent / "scenarios" / "data"
BEFORE, AFTER = DATA / "airports-20250224", DATA / "airports-20260905"
URI = "kafka://127.0.0.1:9/airports?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
SCENARIO = f"""
[[step]]
snapshot = "{BEFORE}"
[[step]]
wait = "2500ms"
[[step]]
snapshot = "{AFTER}"
over = "3s"
"""
STEPS = (SnapshotStep(BEFORE), WaitStep(2500), SnapshotStep(AFTER, 3000))
RELEASE = releases.V8_5
TOPICS = '[sink]\ndispatchers = [{matcher = ["*.*"], topic = "{schema}_{table}"}]\n'


def opened_into(messages: list[Message]) -> OpenChangefeed:
    return OpenChangefeed(MemoryOutput(load(URI), messages), RELEASE)


def played(opened: OpenChangefeed, steps: Sequence[SnapshotStep | WaitStep] = STEPS) -> OpenChangefeed:
    """Play the steps one at a time, then send a watermark."""
    for step in steps:
        opened.play(step)
    opened.resolve()
    return opened


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    """What the steps send, one at a time."""
    found = list[Message]()
    opened = played(opened_into(found))
    count = len(found)
    opened.resolve()
    assert len(found) == count, "a second watermark at one time is not sent"
    opened.close()
    return found


@pytest.mark.slow
def test_steps_played_one_at_a_time_give_what_a_run_of_them_gives(tmp_path: Path, messages: list[Message]) -> None:
    """Byte for byte, where a message is an event; protocols that batch end a batch with each step."""
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO)
    assert play("run", scenario, "--sink-uri", URI, "--master", "none", "--fixtures", tmp_path / "out") == 0
    records = ((each.topic, each.partition, each.offset, each.timestamp, each.key, each.value) for each in messages)
    assert sorted(records, key=lambda each: each[:3]) == [
        (each.topic, each.partition, each.offset, each.timestamp, each.key, each.value)
        for each in read_records(str(tmp_path / "out"))
    ]
    assert len(messages) > 1000


def test_messages_lie_in_order_of_time(messages: list[Message]) -> None:
    """In all partitions together, no watermark comes before a row below it."""
    watermark = 0
    for message in messages:
        if b"TIDB_WATERMARK" in (message.value or b""):
            watermark = max(watermark, message.commit_ts)
        else:
            assert message.commit_ts > watermark
    assert watermark == max(message.commit_ts for message in messages)


def test_fixtures_appear_when_it_is_closed(tmp_path: Path) -> None:
    directory = tmp_path / "out"
    for complete, format in ((False, "parquet"), (True, "jsonl")):
        messages = list[Message]()
        output = FilesOutput(load(URI), directory, format, messages)
        opened = played(OpenChangefeed(output, RELEASE), STEPS[:2])
        assert not directory.exists()
        opened.close(complete=complete)
        assert [path.name for path in tmp_path.iterdir()] == ["out"] * complete
    assert len(list(read_records(str(directory)))) == len(messages)


def test_a_step_that_cannot_be_played_leaves_everything_as_it_was(tmp_path: Path) -> None:
    messages = list[Message]()
    opened = played(opened_into(messages), STEPS[:2])
    stood, count = opened.position, len(messages)
    with pytest.raises(UserError, match="no such directory"):
        opened.play(SnapshotStep(tmp_path / "nowhere"))
    assert (opened.position, len(messages)) == (stood, count)
    played(opened, STEPS[2:]).close()
    assert len(messages) > count


@pytest.mark.kafka
def test_topics_of_kafka_come_as_they_are_met(kafka: str) -> None:
    """The messages of a step are in their topics as soon as it is played."""
    uri = f"kafka://{kafka}/live?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
    changefeed, messages = load(uri, TOPICS), list[Message]()
    opened = OpenChangefeed(KafkaOutput(changefeed, messages=messages), RELEASE)
    opened.play(WaitStep(1000))
    assert {each.topic for each in messages} == {"live"}
    played(opened)
    topics = {each.topic for each in messages}
    assert len(topics) > 1
    for topic in topics:
        records = list(read_records(f"kafka://{kafka}/{topic}"))
        assert [(each.partition, each.offset, each.value) for each in records] == [
            (each.partition, each.offset, each.value)
            for each in sorted(messages, key=lambda each: (each.partition, each.offset))
            if each.topic == topic
        ]
    opened.close()


CONFIG = '[sink]\ndispatchers = [{matcher = ["test.*"], partition = "index-value", topic = "{schema}-{table}"}]'
STATEMENTS = [
    "USE test",
    "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9) UNIQUE, b INT UNSIGNED)",
    "CREATE TABLE u (id INT PRIMARY KEY, a VARCHAR(9))",
    *(f"INSERT INTO {'tu'[n % 2]} (id, a) VALUES ({n}, 'a{n}'), ({n + 100}, 'b{n}')" for n in range(9)),
    "BEGIN",
    "UPDATE t SET a = 'c' WHERE id = 2",
    "INSERT INTO u VALUES (900, NULL)",
    "COMMIT",
    "SELECT * FROM t",
    "ALTER TABLE u ADD COLUMN c INT DEFAULT 7",
    "DELETE FROM u WHERE id < 6",
    "UPDATE t SET id = id + 50 WHERE id > 3",
    *(f"REPLACE INTO t VALUES ({n % 7}, 'x{n}', {n})" for n in range(9)),
]


def messages_of(protocol: str, tag: str, prompt: bool) -> list[Message]:
    release = releases.find(tag)
    uri = f"kafka://127.0.0.1:9092/t?protocol={protocol}&partition-num=3&enable-tidb-extension=true&max-batch-size=4"
    changefeed = load(uri, CONFIG, release)
    sent: list[Message] = []
    opened = OpenChangefeed(MemoryOutput(changefeed, sent), release, resolved_interval_ms=10)
    for number, text in enumerate(STATEMENTS):
        opened.execute(text, prompt)
        if number == 10:
            opened.play(WaitStep(25))
    opened.resolve()
    return sent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "tag"),
    [("open-protocol", "v8.5.3"), ("open-protocol", "v6.5.6"), ("canal-json", "v8.5.3"), ("simple", "v8.5.3")],
)
def test_messages_that_wait_are_the_same(protocol: str, tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_changefeed, "MOST_WAITING", 12)
    waited, prompt = (messages_of(protocol, tag, prompt) for prompt in (False, True))
    assert len(prompt) > len(STATEMENTS)
    assert waited == prompt


def test_messages_wait_until_they_are_delivered() -> None:
    sent: list[Message] = []
    opened = opened_into(sent)
    opened.execute("CREATE TABLE test.t (id INT PRIMARY KEY)")
    before = len(sent)
    opened.execute("INSERT INTO test.t VALUES (1)", prompt=False)
    waiting = len(sent)
    opened.deliver()
    assert waiting == before < len(sent)


@pytest.mark.parametrize("release", ["v5.4.0", "v6.1.0", "v7.5.7", "v8.0.0"])
def test_tidb_renames_twice_and_the_changefeed_stops(release: str, tmp_path: Path) -> None:
    """What is before the statement is sent, with a watermark; TiDB has its rows by their new names."""
    with TiCDC(release, databases=()) as ticdc:
        ticdc.execute(
            "CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO t VALUES (1)"
        )
        with pytest.raises(SqlError, match="changefeed has stopped.*ErrSnapshotTableNotFound.*table 0 not found"):
            ticdc.execute("BEGIN; INSERT INTO u VALUES (2); RENAME TABLE t TO tmp, u TO t, tmp TO u")
        assert (ticdc.rows("test.t"), ticdc.rows("test.u")) == ([{"id": 2}], [{"id": 1}])
        with pytest.raises(SqlError, match="RENAME TABLE t TO tmp"):
            ticdc.execute("INSERT INTO t VALUES (3)")
        assert ticdc.execute("SELECT * FROM t").rows == (("2",),)
        events = ticdc.events()
        rows = [(event.table, event.after) for event in events if isinstance(event, RowEvent)]
        assert rows == [("t", {"id": "1"}), ("u", {"id": "2"})]
        assert not [event for event in events if isinstance(event, DdlEvent) and "RENAME" in event.query]
        assert events[-1] == Watermark(ticdc.watermark)
        assert ticdc.events() == []
        ticdc.truth(tmp_path / "truth")


@pytest.mark.parametrize("commit", ["CREATE TABLE z (id INT PRIMARY KEY)", "COMMIT"])
def test_a_commit_after_the_changefeed_has_stopped_rolls_its_transaction_back(commit: str) -> None:
    """It is refused, whatever commits; the next statement is answered."""
    with TiCDC("v8.5.3", databases=()) as ticdc:
        ticdc.execute("CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u (id INT PRIMARY KEY)")
        with pytest.raises(SqlError, match="changefeed has stopped"):
            ticdc.execute("RENAME TABLE t TO tmp, u TO t, tmp TO u")
        for number in (1, 2):
            with pytest.raises(SqlError, match="RENAME TABLE t TO tmp"):
                ticdc.execute(f"BEGIN; INSERT INTO t VALUES ({number}); {commit}")
            assert ticdc.execute("SELECT * FROM t").rows == ()


RENAMED_TWICE = "RENAME TABLE t TO a, a TO b"
STORY = "CREATE TABLE t (id INT PRIMARY KEY);\nCREATE TABLE u (id INT PRIMARY KEY);\nINSERT INTO t VALUES (1);\n{};\nCREATE TABLE v (id INT);"


@pytest.mark.parametrize("stop", [RENAMED_TWICE, f"BEGIN; INSERT INTO u VALUES (2); {RENAMED_TWICE}"])
@pytest.mark.parametrize(
    "uri", ["kafka://a:9/t?protocol=canal-json&enable-tidb-extension=true", "{}?protocol=canal-json"]
)
def test_a_run_sends_what_is_before_the_statement_at_which_ticdc_stops(
    uri: str, stop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (script := tmp_path / "story.sql").write_text(STORY.format(stop))
    files = tmp_path / "files"
    output = ("--fixtures", files) if uri.startswith("kafka") else ()
    options = "--release", "v8.0.0", "--sink-uri", uri.format(files.as_uri()), *output, "--truth", tmp_path / "truth"
    assert play("run", script, *options) == 2
    said = capsys.readouterr()
    line = said.err.strip().splitlines()[-1]
    assert "story.sql:4: RENAME TABLE t" in line and line.endswith("TiDB executes it, and the changefeed stops")
    rows = 1 + stop.count("INSERT")
    assert f"{rows} row change" in said.out
    assert play("verify", files, "--truth", tmp_path / "truth") == 0
    assert "RENAME" not in "".join(path.read_text("latin1") for path in files.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("at", ["start", "middle", "end"])
def test_a_diff_sends_what_is_before_the_statement_at_which_ticdc_stops(
    at: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table that a rename brings into the filter; a run of several steps sends nothing of later ones."""
    for name, tables in (("0", ("a", "side")), ("1", ("a", "b")), ("2", ("a", "b"))):
        (tmp_path / name).mkdir()
        for table in tables:
            key = ", KEY k (v)" if table == "a" and name != "0" else ""
            (tmp_path / name / f"s.{table}-schema.sql").write_text(
                f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT{key});"
            )
            ids = range(60) if table == "a" else range(0)
            (tmp_path / name / f"s.{table}.csv").write_text("".join(f"{id},{name}\n" for id in ids))
    (tmp_path / "config.toml").write_text('[filter]\nrules = ["s.a", "s.b"]\n')
    (tmp_path / "change.sql").write_text("ALTER TABLE s.a ADD KEY k (v); RENAME TABLE s.side TO s.b;")
    (tmp_path / "run.toml").write_text(
        f'[[step]]\nsnapshot = "0"\n[[step]]\nsnapshot = "1"\nddl = "change.sql"\nddl-at = "{at}"\nover = "1s"\n'
        '[[step]]\nsnapshot = "2"\n'
    )
    uri = "kafka://a:9/t?protocol=canal-json&enable-tidb-extension=true"
    told = "--sink-uri", uri, "--config", tmp_path / "config.toml", "--fixtures", tmp_path / "out"
    assert play("run", tmp_path / "run.toml", *told, "--truth", tmp_path / "truth") == 2
    said = capsys.readouterr()
    assert said.err.splitlines()[-1].endswith("TiDB executes it, and the changefeed stops")
    assert said.err.splitlines()[-1].startswith("ticdc-sim: [CDC:ErrSyncRenameTableFailed]")
    events = [event for record in read_records(str(tmp_path / "out")) for event in decode(record.key, record.value)]
    rows = [event for event in events if isinstance(event, RowEvent)]
    (statement,) = {event.commit_ts: event for event in events if isinstance(event, DdlEvent)}.values()
    assert statement.commit_ts and max((row.commit_ts or 0 for row in rows), default=0) < statement.commit_ts
    assert len(rows) in {"start": range(1), "middle": range(15, 45), "end": range(60, 61)}[at]
    assert play("verify", tmp_path / "out", *told[:4], "--before", tmp_path / "0") == 0
    assert play("verify", tmp_path / "out", "--truth", tmp_path / "truth") != 1


ZERO = "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a')); SET sql_mode = ''; INSERT INTO t VALUES ({}); BEGIN; INSERT INTO t VALUES ({}); INSERT INTO t VALUES (4, 'a'); COMMIT; INSERT INTO t VALUES (5, 'a')"
UNSIGNED = "CREATE TABLE t (id INT PRIMARY KEY, e INT UNSIGNED); INSERT INTO t VALUES ({}); BEGIN; INSERT INTO t VALUES ({}); INSERT INTO t VALUES (4, 7); COMMIT; INSERT INTO t VALUES (5, 7)"
OLDER = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES ({}); ALTER TABLE t ADD d VARCHAR(9) NOT NULL DEFAULT 1; DELETE FROM t"


@pytest.mark.parametrize(
    ("release", "uri", "story", "words"),
    [
        (
            "v8.0.0",
            "kafka://a:9/t?partition-num=3&protocol=avro&schema-registry=memory://",
            ZERO.format("1, 'a'), (2, 'a'", "3, 0"),
            "number 0",
        ),
        ("v8.0.0", "{}?protocol=csv", ZERO.format("1, 'a'), (2, 'a'", "3, 0"), "number 0"),
        (
            "v5.4.0",
            "kafka://a:9/t?partition-num=3&protocol=canal-json",
            UNSIGNED.format("1, 7), (2, 7", "3, NULL"),
            "not in type uint64",
        ),
        ("v6.5.8", "kafka://a:9/t?partition-num=3&protocol=maxwell", OLDER.format("1), (2"), "older than its column d"),
    ],
)
def test_a_run_sends_what_commits_before_a_row_that_ticdc_cannot_encode(
    release: str, uri: str, story: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a protocol that batches, too. The transaction of the row is not sent, nor anything behind it."""
    (script := tmp_path / "story.sql").write_text(story)
    files = tmp_path / "files"
    output = ("--fixtures", files) if uri.startswith("kafka") else ()
    options = "--release", release, "--sink-uri", uri.format(files.as_uri()), *output, "--truth", tmp_path / "truth"
    assert play("run", script, *options) == 2
    said = capsys.readouterr()
    assert words in said.err.splitlines()[-1]
    assert "2 row changes in" in said.out
    assert any(path.stat().st_size for path in files.rglob("*") if path.is_file())
    assert "no truth was written" in said.err and not (tmp_path / "truth").exists()


def test_a_row_that_ticdc_cannot_encode_stops_the_changefeed() -> None:
    """The ENUM of value 0, in TiCDC and in `serve`: TiDB has the row, and later commits are refused."""
    uri = "kafka://a:9/t?protocol=avro&schema-registry=memory://"
    with TiCDC("v8.0.0", architecture="classic", sink_uri=uri) as ticdc:
        ticdc.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a')); SET sql_mode = ''; INSERT INTO t VALUES (1, 'a')"
        )
        for id in (2, 3):
            with pytest.raises(EncodeError, match="convert to MySQL enum failed: number 0"):
                ticdc.execute(f"INSERT INTO t VALUES ({id}, {id - 2 and 'NULL'})")
        assert len(ticdc.execute("SELECT * FROM t").rows) == 2
        assert [event.after["id"] for event in ticdc.events() if isinstance(event, RowEvent) and event.after] == ["1"]
        assert ticdc.events() == []
