"""Which statements are replicated, by their type and by the keys of their table; against the published docs' table."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.vectors.ddl import BARE, CODES, KEYED, check_docs

from simulator import TiCDC
from simulator.errors import DdlError, SqlError
from simulator.reader.decode import DdlEvent, RowEvent
from simulator.releases import RELEASES, Release, find
from simulator.ticdc.ddl import is_eligible, is_sent
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.table_definitions import create_table

AFTER, ERROR, SILENT, STAYS = find("v6.5.3"), find("v8.5.3"), find("v8.5.7", "new"), find("v5.4.0")

DOCS = {
    "CREATE DATABASE": ("CreateSchema", "YYY"),
    "CREATE INDEX": ("AddIndex", "YYY"),
    "ADD INDEX": ("AddIndex", "YYY"),
    "CREATE TABLE": ("CreateTable", "YNY"),
    "DROP TABLE": ("DropTable", "YNY"),
    "ADD COLUMN": ("AddColumn", "YNY"),
    "ADD PARTITION": ("AddTablePartition", "YNY"),
    "TRUNCATE PARTITION": ("TruncateTablePartition", "YNY"),
    "CREATE VIEW": ("CreateView", "YNY"),
    "ALTER TABLE CHARACTER SET": ("ModifyTableCharsetAndCollate", "YNY"),
    "EXCHANGE PARTITION": ("ExchangeTablePartition", "YNY"),
}
"""Statement, action, and whether it is replicated: with a valid index, without one, without one by force-replicate. The
docs' other statements are in the vectors (facts.allow_list)."""


@pytest.mark.parametrize("release", [ERROR, find("v8.5.7"), SILENT], ids=lambda of: f"{of.architecture} {of.name}")
def test_the_docs_table_holds_but_for_what_the_code_does_otherwise(release: Release) -> None:
    for statement, (action, wanted) in DOCS.items():
        check_docs(statement, CODES[action], (wanted[0], wanted[1], wanted[2]), release)


@pytest.mark.parametrize(
    ("definition", "eligible"),
    [
        ("a INT PRIMARY KEY", True),
        ("a INT, b VARCHAR(9), PRIMARY KEY (a, b) NONCLUSTERED", True),
        ("a INT NOT NULL UNIQUE", True),
        ("a INT NOT NULL, b INT NOT NULL, UNIQUE KEY (a, b)", True),
        ("a INT", False),
        ("a INT UNIQUE", False),
        ("a INT NOT NULL, KEY (a)", False),
        ("a INT NOT NULL, b INT, UNIQUE KEY (a, b)", False),
        ("a INT, b INT AS (a + 1) VIRTUAL NOT NULL, UNIQUE KEY (b)", False),
    ],
)
def test_a_primary_key_or_a_unique_key_without_null_is_a_valid_index(definition: str, eligible: bool) -> None:
    """NULL is not unique, and virtual columns are not in rows; anything else needs force-replicate."""
    table = create_table(f"CREATE TABLE t ({definition})", "test")

    assert is_eligible(table, force_replicate=False) is eligible
    assert is_eligible(table, force_replicate=True)


def test_taking_the_last_valid_index_away_stops_newer_classic_releases() -> None:
    with pytest.raises(DdlError, match=r"An eligible table become ineligible after DDL: \[DROP IT\]") as caught:
        is_sent(KEYED, BARE, False, ERROR, "DROP IT")

    assert caught.value.code == "CDC:ErrOwnerUnknown"
    assert is_sent(KEYED, BARE, True, ERROR)


@pytest.mark.parametrize("release", [STAYS, AFTER, SILENT], ids=lambda release: release.name)
def test_taking_the_last_valid_index_away_is_ignored_elsewhere(release: Release) -> None:
    assert not is_sent(KEYED, BARE, False, release)


@pytest.mark.parametrize(("release", "sent"), [(STAYS, False), (AFTER, True), (ERROR, True), (SILENT, True)])
def test_a_key_that_makes_a_table_eligible_is_sent_from_6_1(release: Release, sent: bool) -> None:
    """Before, a table that once had no valid index is ignored for good."""
    assert is_sent(BARE, KEYED, False, release) == sent


@pytest.mark.parametrize(("release", "sent"), [(STAYS, True), (AFTER, True), (ERROR, True), (SILENT, False)])
def test_dropping_an_ineligible_table_is_sent_by_classic_only(release: Release, sent: bool) -> None:
    """Classic asks the snapshot after the statement, where the table is no more."""
    assert is_sent(BARE, None, False, release) == sent


def test_some_actions_are_replicated_by_no_release() -> None:
    """Locks, sequences, placement, TiFlash, resource groups, … stay upstream."""
    everything = {code for kind in RELEASES.values() for release in kind.values() for code in release.allowed_ddl}

    assert everything <= set(Action)
    ranges = (27, 31), (34, 36), (39, 40), (43, 46), (48, 59), (62, 63), (68, 70), (73, 77), (79, 80)
    kept = {16, *(code for first, last in ranges for code in range(first, last + 1))}
    assert set(Action) - everything == kept


@pytest.mark.parametrize(
    ("release", "waits"),
    [
        ("new:v8.5.4", ""),
        ("new:v8.5.5", "waits for table test.src, which is filtered out, and its checkpoint stays"),
        ("new:v8.5.7", "waits for table test.src, which is filtered out, and its checkpoint stays"),
        ("new:v26.3.4", "waits for table test.src, which is filtered out, and its checkpoint stays"),
        ("new:v8.5.8", ""),
        ("v8.5.7", ""),
    ],
)
def test_a_copy_of_a_table_that_is_filtered_out_waits_for_it(release: str, waits: str) -> None:
    with TiCDC(release, config="[filter]\nrules = ['*.n']") as ticdc:
        ticdc.execute("CREATE TABLE src (a INT KEY)")
        if waits:
            with pytest.raises(SqlError, match=waits):
                ticdc.execute("CREATE TABLE n LIKE src")
        else:
            ticdc.execute("CREATE TABLE n LIKE src; INSERT INTO n VALUES (1)")
            assert {event.table for event in ticdc.events() if isinstance(event, RowEvent)} == {"n"}


PARTS = "CREATE TABLE t (a INT{}) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (9), PARTITION p1 VALUES LESS THAN (19))"
ADD = "ALTER TABLE t ADD PARTITION (PARTITION p2 VALUES LESS THAN (29))"


@pytest.mark.parametrize(
    ("release", "key", "statements", "rows"),
    [
        *((tag, "", ADD, "1") for tag in ("v4.0.15", "v5.0.5", "v5.1.3", "v5.2.1")),
        *((tag, "", ADD, "1 2 12") for tag in ("v4.0.16", "v5.0.6", "v5.1.4", "v5.2.2", "v5.3.0", "new:v8.5.4")),
        ("v4.0.15", " PRIMARY KEY", ADD, "1 2 12"),
        ("v4.0.15", "", "ALTER TABLE t TRUNCATE PARTITION p1", "1"),
        ("v4.0.15", "", "ALTER TABLE t ADD COLUMN b INT", "1 2 12"),
        ("v4.0.15", "", f"{ADD}; ALTER TABLE t ADD COLUMN b INT", "1"),
        ("v4.0.15", "", f"{ADD}; TRUNCATE TABLE t", "1 2 12"),
    ],
)
def test_rows_without_a_key_were_lost_after_a_statement_on_partitions(
    release: str, key: str, statements: str, rows: str, tmp_path: Path
) -> None:
    """The statements themselves are sent."""
    old_value = "" if "v8" in release else "\nenable-old-value = true"
    with TiCDC(release, config=f"force-replicate = true{old_value}") as ticdc:
        ticdc.execute(
            f"{PARTS.format(key)}; INSERT INTO t VALUES (1); {statements}; INSERT INTO t (a) VALUES (2), (12)"
        )
        events = ticdc.events()
        held = ticdc.truth(tmp_path / "truth")["test.t"]
    found = [event.after["a"] for event in events if isinstance(event, RowEvent) and event.after]
    assert sorted(found, key=lambda text: int(str(text))) == rows.split()
    assert held == len(rows.split()) - ("TRUNCATE TABLE" in statements)
    assert len({event.commit_ts for event in events if isinstance(event, DdlEvent)}) == statements.count(";") + 2
