"""Which statements are replicated, by their type and by the keys of their table; against the published docs' table."""

from __future__ import annotations

import pytest
from support.vectors.ddl import BARE, CODES, KEYED, check_docs

from simulator.errors import DdlError
from simulator.releases import RELEASES, Release, find
from simulator.ticdc.ddl.allow import is_eligible, is_sent
from simulator.tidb.ddl.actions import SCHEMA_ACTIONS, Action
from simulator.tidb.ddl.definitions.from_sql import create_table

AFTER, ERROR, SILENT, STAYS = find("v6.5.3"), find("v8.5.3"), find("v8.5.7", "new"), find("v5.4.0")

DOCS = """
    CREATE DATABASE               CreateSchema                   Y Y Y
    DROP DATABASE                 DropSchema                     Y Y Y
    ALTER DATABASE CHARACTER SET  ModifySchemaCharsetAndCollate  Y Y Y
    CREATE INDEX                  AddIndex                       Y Y Y
    ADD INDEX                     AddIndex                       Y Y Y
    DROP INDEX                    DropIndex                      Y N Y
    ADD PRIMARY KEY               AddPrimaryKey                  Y Y Y
    DROP PRIMARY KEY              DropPrimaryKey                 Y N Y
    CREATE TABLE                  CreateTable                    Y N Y
    DROP TABLE                    DropTable                      Y N Y
    ADD COLUMN                    AddColumn                      Y N Y
    DROP COLUMN                   DropColumn                     Y N Y
    TRUNCATE TABLE                TruncateTable                  Y N Y
    MODIFY COLUMN                 ModifyColumn                   Y N Y
    RENAME TABLE                  RenameTable                    Y N Y
    ALTER COLUMN DEFAULT VALUE    SetDefaultValue                Y N Y
    ALTER TABLE COMMENT           ModifyTableComment             Y N Y
    RENAME INDEX                  RenameIndex                    Y N Y
    ADD PARTITION                 AddTablePartition              Y N Y
    DROP PARTITION                DropTablePartition             Y N Y
    TRUNCATE PARTITION            TruncateTablePartition         Y N Y
    CREATE VIEW                   CreateView                     Y N Y
    DROP VIEW                     DropView                       Y N Y
    ALTER TABLE CHARACTER SET     ModifyTableCharsetAndCollate   Y N Y
    RECOVER TABLE                 RecoverTable                   Y N Y
    REBASE AUTO ID                RebaseAutoID                   Y N Y
    ALTER TABLE INDEX VISIBILITY  AlterIndexVisibility           Y N Y
    EXCHANGE PARTITION            ExchangeTablePartition         Y N Y
    REORGANIZE PARTITION          ReorganizePartition            Y N Y
    ALTER TABLE TTL               AlterTTLInfo                   Y N Y
    ALTER TABLE REMOVE TTL        AlterTTLRemove                 Y N Y
"""
"""Statement, action, and whether it is replicated: with a valid index, without one, without one by force-replicate."""

ROWS = [(line[:30].strip(), *line[30:].split()) for line in (row[4:] for row in DOCS.strip("\n").splitlines())]


@pytest.mark.parametrize("release", [ERROR, find("v8.5.7"), SILENT], ids=lambda of: f"{of.architecture} {of.name}")
@pytest.mark.parametrize(("statement", "action", "valid", "none", "forced"), ROWS, ids=lambda cell: cell)
def test_the_docs_table_holds_but_for_what_the_code_does_otherwise(
    statement: str, action: str, valid: str, none: str, forced: str, release: Release
) -> None:
    """Every statement of the docs, with a valid index, without one, and with force-replicate."""
    check_docs(statement, CODES[action], (valid, none, forced), release)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (a INT PRIMARY KEY)",
        "CREATE TABLE t (a INT, b VARCHAR(9), PRIMARY KEY (a, b) NONCLUSTERED)",
        "CREATE TABLE t (a INT NOT NULL UNIQUE)",
        "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, UNIQUE KEY (a, b))",
    ],
)
def test_a_primary_key_or_a_unique_key_without_null_is_a_valid_index(statement: str) -> None:
    """Rows can be told apart by it."""
    assert is_eligible(create_table(statement, "test"), force_replicate=False)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (a INT)",
        "CREATE TABLE t (a INT UNIQUE)",
        "CREATE TABLE t (a INT NOT NULL, KEY (a))",
        "CREATE TABLE t (a INT NOT NULL, b INT, UNIQUE KEY (a, b))",
        "CREATE TABLE t (a INT, b INT AS (a + 1) VIRTUAL NOT NULL, UNIQUE KEY (b))",
    ],
)
def test_anything_else_is_none_and_needs_force_replicate(statement: str) -> None:
    """NULL is not unique, and virtual columns are not in rows."""
    table = create_table(statement, "test")

    assert not is_eligible(table, force_replicate=False)
    assert is_eligible(table, force_replicate=True)


def test_taking_the_last_valid_index_away_stops_newer_classic_releases() -> None:
    """In TiCDC's own words, with the statement."""
    with pytest.raises(DdlError, match=r"An eligible table become ineligible after DDL: \[DROP IT\]") as caught:
        is_sent(KEYED, BARE, False, ERROR, "DROP IT")

    assert caught.value.code == "CDC:ErrOwnerUnknown"
    assert is_sent(KEYED, BARE, True, ERROR)


@pytest.mark.parametrize("release", [STAYS, AFTER, SILENT], ids=lambda release: release.name)
def test_taking_the_last_valid_index_away_is_ignored_elsewhere(release: Release) -> None:
    """Older classic releases and the new architecture say nothing."""
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
    assert sorted(set(Action) - everything) == [
        16,
        *range(27, 32),
        34,
        35,
        36,
        39,
        40,
        *range(43, 47),
        *range(48, 60),
        62,
        63,
        *range(68, 71),
        *range(73, 78),
    ]


def test_actions_on_a_database_ask_no_table() -> None:
    """CREATE, DROP and ALTER DATABASE."""
    assert sorted(SCHEMA_ACTIONS) == [1, 2, 26]


def test_names_and_codes_of_actions_are_one_to_one() -> None:
    """No two job types share a code or a constant."""
    assert len({action.constant for action in Action}) == len({int(action) for action in Action}) == 78
