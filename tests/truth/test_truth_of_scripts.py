"""The truth of scripted SQL: at every watermark it is what a consumer has that replays the stream."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.playing import play
from support.truths import assert_truth, marks, replayed

from simulator import tso
from simulator.ticdc.changefeed import load

URI = "kafka://127.0.0.1:9092/all?protocol=open-protocol&partition-num=2&max-batch-size=1"
TABLES = """\
CREATE TABLE a (id INT PRIMARY KEY, v INT);
CREATE TABLE b (id INT NOT NULL, v INT, UNIQUE KEY (id));
CREATE TABLE c (v INT);
"""
CONFIG = "force-replicate = true\n"

NUMBER = st.integers(0, 4)
STATEMENT = st.one_of(
    st.builds("REPLACE INTO {} VALUES ({}, {});".format, st.sampled_from("ab"), NUMBER, NUMBER),
    st.builds("INSERT INTO c VALUES ({}), ({});".format, NUMBER, NUMBER),
    st.builds("DELETE FROM c WHERE v = {} LIMIT 1;".format, NUMBER),
    st.builds("UPDATE {} SET v = v + {} WHERE id > {};".format, st.sampled_from("ab"), NUMBER, NUMBER),
    st.builds("UPDATE {} SET id = id + 1 WHERE id >= {} ORDER BY id DESC;".format, st.sampled_from("ab"), NUMBER),
    st.builds("DELETE FROM {} WHERE id = {};".format, st.sampled_from("ab"), NUMBER),
    st.sampled_from(
        [
            "BEGIN;",
            "COMMIT;",
            "ROLLBACK;",
            "TRUNCATE TABLE a;",
            "DROP TABLE IF EXISTS d;",
            "CREATE TABLE IF NOT EXISTS d (id INT PRIMARY KEY, v INT); REPLACE INTO d VALUES (1, 2);",
            "ALTER TABLE b MODIFY v BIGINT;",
            "ALTER TABLE a ALTER COLUMN v SET DEFAULT 3;",
        ]
    ),
)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STATEMENT, min_size=3, max_size=12), st.data())
def test_it_is_what_a_consumer_has_then(statements: list[str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "changefeed.toml").write_text(CONFIG)
        (place / "story.sql").write_text(TABLES + "\n".join(statements))
        run = ("run", place / "story.sql", "--sink-uri", URI, "--config", place / "changefeed.toml")
        assert play(*run, "--fixtures", place / "out", "--truth", place / "last") == 0
        changefeed = load(URI, CONFIG)
        times = marks(place / "out", changefeed)
        assert_truth(place / "last", replayed(place / "out", changefeed, {}, {}, times[-1]))
        asked = data.draw(st.sampled_from(times))
        at = tso.compose(tso.physical(asked))
        assert play(*run, "--truth", place / "then", "--at", at) == 0
        assert_truth(place / "then", replayed(place / "out", changefeed, {}, {}, at))
