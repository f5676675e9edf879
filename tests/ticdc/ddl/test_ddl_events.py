"""A job as events: behaviours that came with one release are asked each by its own field."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.releases import Release, find
from simulator.ticdc.ddl.events import job_events, sent_query
from simulator.ticdc.ddl.jobs_text import execute_text
from simulator.tidb.ddl.session import Session

NEW = find("v8.5.7", "new")

VIEW = "CREATE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `far`.`v` AS "

SENT = {
    "RENAME TABLE t TO u": "RENAME TABLE `Shop`.`t` TO `Shop`.`u`",
    "ALTER TABLE t EXCHANGE PARTITION `a``b` WITH TABLE u": "ALTER TABLE `Shop`.`t` EXCHANGE PARTITION `a``b` WITH TABLE `Shop`.`u`",
    "CREATE TABLE far.t LIKE u": "CREATE TABLE `far`.`t` LIKE `Shop`.`u`",
    "CREATE VIEW far.v AS SELECT a FROM u": f"{VIEW}SELECT `a` AS `a` FROM `Shop`.`u`",
}
"""What of statements is sent, the current database being Shop."""


def sent(text: str, release: Release) -> str:
    (job,) = execute_text(text, Session("Shop", None, release)).jobs
    (event,) = job_events(job, release)
    return sent_query(event, release)


@pytest.mark.parametrize(
    ("without", "text", "other"),
    [
        (replace(NEW, rename_finds_old_schema=False), "RENAME TABLE t TO u", "RENAME TABLE `shop`.`t` TO `Shop`.`u`"),
        (
            replace(NEW, exchange_keeps_quotes=False),
            "ALTER TABLE t EXCHANGE PARTITION `a``b` WITH TABLE u",
            "ALTER TABLE `Shop`.`t` EXCHANGE PARTITION `ab` WITH TABLE `Shop`.`u`",
        ),
        (replace(NEW, create_like_finds_schema=False), "CREATE TABLE far.t LIKE u", "CREATE TABLE `far`.`t` LIKE `u`"),
        (replace(NEW, view_finds_schemas=False), "CREATE VIEW far.v AS SELECT a FROM u", f"{VIEW}SELECT `a` FROM `u`"),
    ],
)
def test_what_came_with_8_5_7_is_decided_by_a_field_for_each_statement(without: Release, text: str, other: str) -> None:
    """With one of them off, the others' statements are sent as before."""
    assert {text: sent(text, NEW) for text in SENT} == SENT
    assert {text: sent(text, without) for text in SENT} == {**SENT, text: other}


def test_a_statement_that_is_written_anew_is_restored_by_its_own_field() -> None:
    (job,) = execute_text("RENAME TABLE a TO b, c TO d", Session("shop", None, NEW)).jobs

    assert [event.as_is for event in job_events(job, NEW)] == [True, True]
    assert [event.as_is for event in job_events(job, replace(NEW, restores_rebuilt=True))] == [False, False]


def test_the_event_of_an_exchange_is_of_one_table_in_the_topic_of_the_other() -> None:
    (job,) = execute_text("ALTER TABLE s.parts EXCHANGE PARTITION p WITH TABLE r.plain", Session("", None, NEW)).jobs
    (event,), (other,) = (job_events(job, replace(NEW, exchange_event_of_plain=plain)) for plain in (True, False))

    assert (event.schema, event.table, event.old) == ("r", "plain", ("s", "parts"))
    assert (other.schema, other.table, other.old) == ("s", "parts", ("r", "plain"))
