"""What a run will do across a schema change, decided before any row is read: statements, versions, topics, mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulator import releases, tso
from simulator.errors import UserError
from simulator.run import scenario
from simulator.run.plan import Plan, plan
from simulator.run.steps.derivation import SchemaChangeOptions
from simulator.ticdc.changefeed import load
from simulator.tidb.ddl.column_definitions import FromDefault

URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=2"


def write(directory: Path, **definitions: str) -> Path:
    """A snapshot of empty tables of `shop`; `db__t` is a table of another database."""
    directory.mkdir(exist_ok=True)
    for name, definition in definitions.items():
        schema, _, table = name.rpartition("__")
        text = f"CREATE TABLE `{table}` {definition};\n"
        (directory / f"{schema or 'shop'}.{table}-schema.sql").write_text(text)
    return directory


ID, WITH_X = "(id int primary key)", "(id int primary key, x int)"
NAMED, TITLED = "(id int primary key, name int)", "(id int primary key, title int)"
PARTED = "(id int primary key) partition by range (id) ({})"


class Shop:
    """Two snapshots; the second defines tables anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def before(self, **definitions: str) -> Shop:
        write(self.folder / "before", **definitions)
        return self

    def after(self, **definitions: str) -> Shop:
        write(self.folder / "after", **definitions)
        return self

    def plan(self, ddl: str = "", at: str = "middle", renamed: tuple[str, ...] = (), config: str = "") -> Plan:
        file = self.folder / "change.sql"
        file.write_text(ddl)
        change = SchemaChangeOptions(file if ddl else None, at, renamed)
        script = scenario.diff(self.folder / "before", self.folder / "after", change).run_spec()
        return plan(script, load(URI, config), releases.V8_5)

    def statement_texts(self, ddl: str = "", renamed: tuple[str, ...] = (), config: str = "") -> list[str]:
        """The text of every statement that is sent."""
        return [event.query for event in self.plan(ddl, renamed=renamed, config=config).statements]

    def refused(self, ddl: str = "", renamed: tuple[str, ...] = (), config: str = "") -> str:
        with pytest.raises(UserError) as caught:
            self.plan(ddl, renamed=renamed, config=config)
        return str(caught.value)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_statements_of_a_file_are_played_as_they_stand(shop: Shop) -> None:
    """USE chooses the database; several jobs of one statement each have a commit-ts."""
    shop.before(a=ID, b=ID).after(a=WITH_X)
    ddl = "-- first\nUSE shop;\nALTER TABLE a /* here */ add x int;\ndrop table b;"
    planned = shop.plan(ddl)
    texts = [event.query for event in planned.statements]
    assert texts == ["ALTER TABLE `a` ADD COLUMN `x` INT", "DROP TABLE `shop`.`b`"]
    assert [line.partition(": ")[2] for line in planned.notes] == ["ALTER TABLE a /* here */ add x int", "drop table b"]


def test_statements_stand_at_the_place_that_is_asked_for(shop: Shop) -> None:
    """A column that defaults to the time has that of the statement in rows that were there."""
    shop.before(a=ID).after(a="(id int primary key, at datetime(3) default current_timestamp(3))")
    for at, expected in {"start": 0, "middle": 0.5, "end": 0.9}.items():
        planned = shop.plan(at=at)
        begin, end, commit_ts = planned.timeline.start_ms, planned.timeline.end_ms, planned.statements[0].commit_ts
        assert (tso.physical(commit_ts) - begin) / (end - begin) == pytest.approx(expected, abs=0.001)
        (changed,) = planned.snapshot_pairs[0].changed
        assert changed.transition.sources[-1] == FromDefault(tso.sql_time(commit_ts)[:-3])


def test_a_column_that_the_user_says_is_renamed_keeps_its_values(shop: Shop) -> None:
    shop.before(item=NAMED).after(item=TITLED)
    for renamed in ("name=title", "item.name=title", "shop.item.name=shop.item.title"):
        rename = "ALTER TABLE `shop`.`item` RENAME COLUMN `name` TO `title`"
        assert shop.statement_texts(renamed=(renamed,)) == [rename]
    assert shop.statement_texts() == [
        "ALTER TABLE `shop`.`item` DROP COLUMN `name`",
        "ALTER TABLE `shop`.`item` ADD COLUMN `title` INT",
    ]


def test_a_table_that_the_user_says_is_renamed_keeps_its_rows_and_its_ids(shop: Shop) -> None:
    shop.before(item="(id int primary key, n int)").after(goods="(id int primary key, m int)")
    planned = shop.plan(renamed=("item=goods", "n=m"))
    assert [event.query for event in planned.statements] == [
        "RENAME TABLE `shop`.`item` TO `shop`.`goods`",
        "ALTER TABLE `shop`.`goods` RENAME COLUMN `n` TO `m`",
    ]
    assert [(physical.table.name, physical.table_id) for physical in planned.tables] == [("item", 100), ("goods", 100)]
    [changed] = planned.snapshot_pairs[0].changed
    assert (changed.before, changed.after) == (("shop", "item"), ("shop", "goods"))


def test_a_renamed_table_has_its_statement_in_the_topic_of_its_old_name(shop: Shop) -> None:
    shop.before(item=ID).after(goods=ID)
    config = '[sink]\ndispatchers = [{matcher = ["*.*"], topic = "of_{table}", partition = "table"}]\n'
    planned = shop.plan(renamed=("item=goods",), config=config)
    renamed_at = planned.statements[0].commit_ts
    assert planned.statement_topics == ("of_item",)
    assert dict(zip(planned.topics, planned.active)) == {
        "shop": (0, tso.FOREVER),
        "of_item": (0, renamed_at),
        "of_goods": (renamed_at, tso.FOREVER),
    }


def test_what_is_not_replicated_runs_and_is_not_sent(shop: Shop) -> None:
    shop.before(a=ID).after(a=WITH_X)
    planned = shop.plan("ALTER TABLE a CACHE; ALTER TABLE a NOCACHE; ALTER TABLE a ADD x int")
    assert [event.query for event in planned.statements] == ["ALTER TABLE `a` ADD COLUMN `x` INT"]
    assert re.search(r"ALTER TABLE a CACHE; not sent: .*allow-list", planned.notes[0])


def test_what_filters_leave_out_changes_all_the_same(shop: Shop) -> None:
    """Tables that the filter leaves out may differ in anything."""
    shop.before(a=ID, b="(id int primary key clustered)").after(a=WITH_X, b="(id int primary key nonclustered, y json)")
    rules, ignored = 'rules = ["shop.a"]', 'event-filters = [{matcher = ["shop.a"], ignore-event = ["add column"]}]'
    planned = shop.plan(config=f"[filter]\n{rules}\n{ignored}\n")
    assert planned.statements == ()
    assert [len(physical.table.columns) for physical in planned.tables] == [1, 2]


def test_statements_that_lead_elsewhere_are_refused_with_what_is_missing(shop: Shop) -> None:
    shop.before(a=ID).after(a="(id int primary key, x int, y int)")
    assert shop.refused("ALTER TABLE a ADD x int").endswith("still needed: ALTER TABLE `shop`.`a` ADD COLUMN `y` int")


@pytest.mark.parametrize(
    ("ddl", "code", "words"),
    [
        ("ALTER TABLE b ADD x int", "schema:1146", "Table 'shop.b' doesn't exist"),
        ("ALTER TABLE a DROP COLUMN z", "ddl:1091", "z"),
        ("ALTER TABLE a ADD COLUM x int", "parser:1064", "line 1, column"),
        ("SELECT 1", "", "SELECT"),
        ("", "", "no statement"),
    ],
)
def test_a_statement_that_tidb_refuses_is_refused_in_its_words(shop: Shop, ddl: str, code: str, words: str) -> None:
    shop.before(a=ID).after(a=WITH_X)
    said = shop.refused(ddl or "-- nothing")
    assert words in said and "change.sql" in said and said.startswith(f"[{code}] " if code else "")


def test_a_change_that_stops_the_changefeed_stops_the_run_in_its_words(shop: Shop) -> None:
    """A table that a rename brings into the filter. Statements before it are sent."""
    shop.before(a=ID, side=ID).after(a=WITH_X, b=ID)
    statements = "ALTER TABLE a ADD x int; RENAME TABLE side TO b"
    planned = shop.plan(statements, config='[filter]\nrules = ["shop.a", "shop.b"]\n')
    assert [event.query for event in planned.statements] == ["ALTER TABLE `a` ADD COLUMN `x` INT"]
    assert str(planned.stopped).startswith("[CDC:ErrSyncRenameTableFailed]")
    assert str(planned.stopped).endswith("TiDB executes it, and the changefeed stops")


def test_a_rename_that_means_nothing_is_refused(shop: Shop) -> None:
    shop.before(item=NAMED).after(item=TITLED)
    for renamed, words in {
        "name": "expected OLD=NEW",
        "nope=title": "no table has a column 'nope' only before",
        "name=nope": "'nope' only after",
    }.items():
        assert words in shop.refused(renamed=(renamed,))
    shop.before(b=NAMED).after(b=TITLED)
    assert "could mean a column of shop.b, shop.item" in shop.refused(renamed=("name=title",))


def test_exchanged_partitions_are_refused(shop: Shop) -> None:
    parted = PARTED.format("partition p0 values less than (9)")
    shop.before(a=parted, b=ID).after(a=parted, b=ID)
    assert "EXCHANGE PARTITION moves rows" in shop.refused("ALTER TABLE a EXCHANGE PARTITION p0 WITH TABLE b")


def test_rows_of_what_is_emptied_or_dropped_go_with_the_statement(shop: Shop) -> None:
    """A partition that is emptied has another id afterwards, the others keep theirs."""
    parted = PARTED.format("partition p0 values less than (9), partition p1 values less than (99)")
    shop.before(a=ID, p=parted).after(a=ID, p=parted)
    planned = shop.plan("TRUNCATE TABLE a; ALTER TABLE p TRUNCATE PARTITION p1")
    lost = {
        changed.after[1]: [planned.tables[index].partition_id for index in changed.transition.lost]
        for changed in planned.snapshot_pairs[0].changed
    }
    assert lost == {"a": [None], "p": [103]}
    ids = [physical.partition_id for physical in planned.tables if physical.table.name == "p"]
    assert ids == [102, 103, 102, 104]


def test_a_table_that_a_statement_creates_has_no_rows_before_it(shop: Shop) -> None:
    planned = shop.before(a=ID).after(a=ID, b=ID).plan("CREATE TABLE b LIKE a")
    changed = planned.snapshot_pairs[0].changed
    assert [(found.before, found.after) for found in changed] == [(None, ("shop", "b"))]
    assert changed[0].transition.lost == frozenset(changed[0].transition.after.indexes)
