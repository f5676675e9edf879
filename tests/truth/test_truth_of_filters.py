"""What event filters keep back, a consumer does not have, and so its truth has it not either."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.playing import State, play, state

from simulator.api.session import TiCDC
from simulator.errors import UserError
from simulator.reader.truth_metadata import read
from simulator.run import open_changefeed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URI = "kafka://127.0.0.1:9092/all?protocol=open-protocol&partition-num=1"


def rows(found: State, table: str) -> list[str]:
    return sorted("-".join(cell.decode() for cell in image.split(b"\xff")) for image in found["test", table])


def truth_of(sql: str, config: str, directory: Path) -> State:
    with TiCDC(sink_uri=URI, config=config) as ticdc:
        ticdc.execute(sql)
        ticdc.truth(directory)
    return state(directory)


DELETES_KEPT = '[filter]\n[[filter.event-filters]]\nmatcher = ["test.t"]\nignore-event = ["delete"]\n'


IGNORED = '[filter]\n[[filter.event-filters]]\nmatcher = ["test.t"]\n'

KEPT_BACK = {
    "rows whose delete is kept back stay": (
        DELETES_KEPT,
        "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3); "
        "DELETE FROM t WHERE id < 3; INSERT INTO t VALUES (2, 22); UPDATE t SET v = 33 WHERE id = 3",
        ["1-1", "2-22", "3-33"],
    ),
    "an UPDATE that is kept back by its value leaves the row as it was": (
        IGNORED + 'ignore-update-new-value-expr = "v > 10"\nignore-insert-value-expr = "v = 7"\n',
        "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 7), (3, 3); "
        "UPDATE t SET v = v * 9; UPDATE t SET v = 4 WHERE id = 1",
        ["1-4", "3-3"],
    ),
    "what a TRUNCATE takes that is kept back stays": (
        IGNORED + 'ignore-event = ["truncate table"]\n',
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); TRUNCATE TABLE t; INSERT INTO t VALUES (2)",
        ["1", "2"],
    ),
    "a table that leaves the filter is renamed, and stays as it was": (
        "[filter]\nrules = ['test.t']\n",
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); RENAME TABLE t TO other; "
        "INSERT INTO other VALUES (2)",
        ["1"],
    ),
}


LEFT = (
    "CREATE DATABASE shop; CREATE DATABASE ware; CREATE TABLE shop.t (id INT PRIMARY KEY); INSERT INTO shop.t VALUES (1); "
    "RENAME TABLE shop.t TO ware.r; "
)

UNSENT = [
    "DROP TABLE ware.r",
    "TRUNCATE TABLE ware.r",
    "DROP DATABASE ware",
    "RENAME TABLE ware.r TO ware.q",
    "RENAME TABLE ware.r TO ware.q; DROP TABLE ware.q",
    "DROP TABLE ware.r; CREATE TABLE ware.r (id INT PRIMARY KEY); INSERT INTO ware.r VALUES (2)",
    "ALTER TABLE ware.r ADD COLUMN z INT; DROP TABLE ware.r",
    "ALTER TABLE ware.r ADD COLUMN z INT; UPDATE ware.r SET z = 3",
]


@pytest.mark.parametrize("unsent", UNSENT)
@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol", "simple", "avro", "debezium"])
def test_a_table_that_left_the_filter_stays_whatever_becomes_of_it(
    unsent: str, protocol: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A consumer is told of no statement on it."""
    (tmp_path / "s.sql").write_text(f"{LEFT}{unsent};")
    (tmp_path / "c.toml").write_text(
        "[filter]\nrules = ['shop.*']\n[sink]\nschema-registry = 'http://127.0.0.1:8081'\n"
    )
    uri = f"kafka://127.0.0.1:9092/all?protocol={protocol}&partition-num=1"
    uri += "&enable-tidb-extension=true" if protocol in ("canal-json", "avro") else ""
    uri += "&avro-enable-watermark=true" if protocol == "avro" else ""
    run = "run", tmp_path / "s.sql", "--sink-uri", uri, "--config", tmp_path / "c.toml", "--fixtures", tmp_path / "o"
    assert play(*run, "--truth", tmp_path / "truth") == 0
    found = state(tmp_path / "truth")
    assert {table: sorted(images) for table, images in found.items()} == {("ware", "r"): [b"1"]}
    assert play("verify", tmp_path / "o", "--truth", tmp_path / "truth", "--master", "none") == 0, capsys.readouterr()


def test_of_several_renames_those_in_the_filter_reach_a_consumer(tmp_path: Path) -> None:
    made = "CREATE TABLE shop.c (id INT PRIMARY KEY); INSERT INTO shop.c VALUES (5); "
    found = truth_of(
        f"{LEFT}{made}RENAME TABLE ware.r TO ware.q, shop.c TO shop.d",
        "[filter]\nrules = ['shop.*']\n",
        tmp_path / "truth",
    )
    assert {table: sorted(images) for table, images in found.items()} == {("ware", "r"): [b"1"], ("shop", "d"): [b"5"]}


def test_a_name_that_a_consumer_still_has_is_said(tmp_path: Path) -> None:
    again = "DROP TABLE ware.r; CREATE TABLE shop.t (id INT PRIMARY KEY); RENAME TABLE shop.t TO ware.r"
    with pytest.raises(UserError, match="no truth after 'RENAME.*a consumer still has ware.r, because it left"):
        truth_of(LEFT + again, "[filter]\nrules = ['shop.*']\n", tmp_path / "truth")


@pytest.mark.parametrize("why", KEPT_BACK)
def test_what_filters_keep_back_a_consumer_does_not_have(why: str, tmp_path: Path) -> None:
    config, sql, expected = KEPT_BACK[why]
    found = truth_of(sql, config, tmp_path / "truth")
    assert rows(found, "other" if "RENAME" in sql else "t") == expected


def test_rows_that_nobody_can_take_are_said(tmp_path: Path) -> None:
    """Their columns came by a statement that is kept back."""
    config = IGNORED + 'ignore-event = ["add column"]\n'
    with pytest.raises(UserError, match="no truth of test.t: its rows are sent, and event filters keep back"):
        truth_of(
            "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t ADD COLUMN v INT; INSERT INTO t VALUES (1, 1)",
            config,
            tmp_path / "truth",
        )
    assert not (tmp_path / "truth").exists()


def test_a_diff_under_a_filter_holds_what_was_sent(spark: SparkSession, tmp_path: Path) -> None:
    for side, text in (("before", "1,1\n2,2\n3,3\n"), ("after", "2,22\n3,3\n4,4\n")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "test.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY, v INT);\n")
        (tmp_path / side / "test.t.csv").write_text(text)
    (tmp_path / "changefeed.toml").write_text(DELETES_KEPT)
    run = "diff", tmp_path / "before", tmp_path / "after", "--config", tmp_path / "changefeed.toml", "--sink-uri", URI
    for master in ("none", "local[*]"):
        assert play(*run, "--master", master, "--truth", tmp_path / "truth", "--at", "1m") == 0
        assert rows(state(tmp_path / "truth"), "t") == ["1-1", "2-22", "3-3", "4-4"]


def test_python_says_the_truth_at_any_watermark(tmp_path: Path) -> None:
    with TiCDC(sink_uri=URI) as ticdc:
        ticdc.execute("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)")
        ticdc.messages()
        then = ticdc.watermark
        ticdc.execute("INSERT INTO t VALUES (2)")
        assert ticdc.truth(tmp_path / "now", "parquet") == {"test.t": 2}
        assert ticdc.truth(tmp_path / "then", at=then) == {"test.t": 1}
        with pytest.raises(UserError, match="no truth at 1: the stream so far goes from"):
            ticdc.truth(tmp_path / "before", at=1)
        with pytest.raises(UserError, match="holds something else"):
            (tmp_path / "mine").mkdir()
            (tmp_path / "mine" / "letter").write_text("dear")
            ticdc.truth(tmp_path / "mine")
        assert ticdc.watermark == read(tmp_path / "now").watermark
    about = read(tmp_path / "then")
    assert (about.command, about.watermark, about.topics) == ("TiCDC", then, {"all": 1})
    assert rows(state(tmp_path / "then"), "t") == ["1"]


@pytest.mark.slow
def test_what_a_session_keeps_for_a_truth_is_kept_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the truth at any watermark is what it was."""
    monkeypatch.setattr(open_changefeed, "JOINED", 4)
    with TiCDC(sink_uri=URI) as ticdc:
        ticdc.execute("CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE gone (id INT PRIMARY KEY)")
        watermarks = []
        for number in range(1, 14):
            ticdc.execute(f"INSERT INTO t (id) VALUES ({number})")
            if number == 6:
                ticdc.execute("DROP TABLE gone; ALTER TABLE t ADD COLUMN v INT DEFAULT 3")
            ticdc.execute(f"DELETE FROM t WHERE id = {number - 3}")
            ticdc.messages()
            watermarks.append(ticdc.watermark)
        assert len(ticdc._live.played().positions) < 14
        for number in (2, 5, 6, 9, 13):
            ticdc.truth(tmp_path / str(number), at=watermarks[number - 1])
            ids = range(max(1, number - 2), number + 1)
            added = "-3" if number >= 6 else ""
            assert rows(state(tmp_path / str(number)), "t") == sorted(f"{row}{added}" for row in ids)


def test_a_truth_that_cannot_be_told_is_refused_at_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "changefeed.toml").write_text(DELETES_KEPT.replace("test.t", "shop.t"))
    story = f'sink-uri = "{URI}"\nconfig = "changefeed.toml"\n'
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "shop.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY);\n")
        (tmp_path / name / "shop.t.csv").write_text("1\n")
        story += f'[[step]]\nsnapshot = "{name}"\n'
    (tmp_path / "story.toml").write_text(f'{story}[[step]]\nsql = "DELETE FROM shop.t"\n')
    assert play("run", tmp_path / "story.toml", "--console", "--master", "none", "--truth", tmp_path / "truth") == 2
    found = capsys.readouterr()
    assert "no truth of a run in which event filters or soft deletes keep rows back before or after" in found.err
    assert (found.out, "sending" in found.err) == ("", False)
