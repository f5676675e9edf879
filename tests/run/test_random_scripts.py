"""Scripts of random SQL: whatever they write, their stream keeps what a consumer may rely on."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.playing import play

from simulator.consumer.decode import RowEvent, decode
from simulator.consumer.records import read_records

TABLES = "CREATE TABLE a (id INT PRIMARY KEY, v INT); CREATE TABLE b (id INT NOT NULL, v INT, UNIQUE KEY (id));\n"

NUMBER = st.integers(0, 5)
STATEMENT = st.one_of(
    st.builds("REPLACE INTO {} VALUES ({}, {});".format, st.sampled_from("ab"), NUMBER, NUMBER),
    st.builds("INSERT IGNORE INTO {} VALUES ({}, {});".format, st.sampled_from("ab"), NUMBER, NUMBER),
    st.builds("UPDATE {} SET v = v + {} WHERE id > {};".format, st.sampled_from("ab"), NUMBER, NUMBER),
    st.builds("UPDATE {} SET id = id + 10 WHERE id = {};".format, st.sampled_from("ab"), NUMBER),
    st.builds("DELETE FROM {} WHERE id = {};".format, st.sampled_from("ab"), NUMBER),
    st.sampled_from(["BEGIN;", "COMMIT;", "ROLLBACK;"]),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STATEMENT, min_size=1, max_size=15))
def test_each_change_begins_with_what_the_one_before_left(statements: list[str]) -> None:
    """A row's changes, in the order of commit-ts and a DELETE before an INSERT, make a chain."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "story.sql")
        path.write_text(TABLES + "\n".join(statements))
        assert play("run", path, "--fixtures", Path(place, "out")) == 0
        events = [event for each in read_records(f"{place}/out") for event in decode(each.key, each.value)]
    there: dict[tuple[str, object], dict[str, object]] = {}
    rows = [event for event in events if isinstance(event, RowEvent)]
    for event in sorted(rows, key=lambda event: (event.commit_ts or 0, event.op)):
        where = event.table, (event.after or event.before or {})["id"]
        assert there.pop(where, None) == (None if event.before is None else {**event.before})
        if event.after is not None:
            there[where] = {**event.after}
