"""Plan files, and the messages for mistakes with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.errors import ScenarioError
from simulator.generate.model import HotSet, Mix, Model, TableModel, Zipf
from simulator.load.load_plan import STATEMENT_KINDS, DdlSchedule, LoadPlan
from simulator.load.plan_file import load_plan, read_plan
from simulator.run import scenario
from simulator.settings import Settings

PLAN = """\
name = "fair"
seed = 7
rate = "0s:1000, 60s:2000"
duration = "1h"
rows-per-second = 500
rows-per-transaction = {min = 2, max = 6}
tables-per-transaction = 2
initial = "present"
sink-uri = "kafka://127.0.0.1:9092/fair?protocol=canal-json"
config = "changefeed.toml"

[[table]]
definition = "CREATE TABLE fair.visit (id BIGINT PRIMARY KEY, visitor BIGINT, note VARCHAR(20))"
rows = 300
weight = 3
mix = {inserts = 3, updates = 1, deletes = 1}
skew = {hot = 0.1, updates = 0.9}
update-columns = ["note"]
[table.columns]
visitor = {reference = "fair.visitor.id"}
note = {text = 12}

[[table]]
definition = '''
CREATE TABLE fair.visitor (id BIGINT PRIMARY KEY, name VARCHAR(80),
    city VARCHAR(80))'''
rows = 100
mix = {updates = 9, inserts = 2, deletes = 1}
skew = {zipf = 1.2}
update-columns = 1

[table.columns]
name = "name"

[table.columns.city]
faker = "city"
null = 0.5

[[ddl]]
every = {min = "2m", max = "10m"}
random = true
[[ddl]]
every = "5m"
table = "fair.visit"
kinds = ["truncate"]
"""


def written(directory: Path, text: str) -> Path:
    file = directory / "some.toml"
    file.write_text(text)
    return file


def mistakes(text: str) -> list[str]:
    """Return the mistakes without their common prefix."""
    with pytest.raises(ScenarioError) as raised:
        read_plan(text, "plan", "some", Path(), Settings())
    assert all(str(each).startswith("plan: ") for each in raised.value.args)
    return [str(each).removeprefix("plan: ") for each in raised.value.args]


@pytest.mark.slow
def test_a_plan_says_tables_rows_and_statements(tmp_path: Path) -> None:
    """Parents come before the tables that refer to them, and keep their initial rows; options win over the file."""
    plan = load_plan(written(tmp_path, PLAN))
    visitor = TableModel("fair", "visitor", 100, 1, Mix(2, 9, 1), Zipf(1.2), kept=True)
    visit = TableModel("fair", "visit", 300, 3, Mix(3, 1, 1), HotSet(0.1, 0.9))

    assert plan.model == Model(7, (visitor, visit), (2, 6), 2, True)
    assert [table.name for table in plan.created] == ["visitor", "visit"]
    assert plan.statements == (
        DdlSchedule((120_000, 600_000), STATEMENT_KINDS, random=True),
        DdlSchedule((300_000, 300_000), ("truncate",), 1),
    )
    found = (plan.name, plan.rate, plan.duration_ms, plan.rows_per_second, plan.text)
    assert found == ("fair", "0s:1000, 60s:2000", 3_600_000, 500, PLAN)
    assert plan.settings.config == tmp_path / "changefeed.toml"
    assert [wanted.update_columns for wanted in plan.tables] == [1, ("note",)]
    assert [set(wanted.columns) for wanted in plan.tables] == [{"name", "city"}, {"visitor", "note"}]
    other = load_plan(written(tmp_path, PLAN), Settings(seed=9, sink_uri="kafka://other/fair"))
    assert (other.model.seed, other.settings.sink_uri) == (9, "kafka://other/fair")


def test_a_table_is_all_that_a_plan_needs(tmp_path: Path) -> None:
    plan = load_plan(written(tmp_path, '[[table]]\ndefinition = "CREATE TABLE t (id INT PRIMARY KEY, a INT)"\n'))

    assert plan.model == Model(0, (TableModel("test", "t", 10_000),))
    assert (plan.name, plan.rate, plan.duration_ms, plan.statements) == ("some", "max", None, ())


def test_every_mistake_is_told_with_its_line() -> None:
    assert mistakes("""\
seed = "seven"
rows-per-sec = 5
rate = "fast"

[[table]]
definition = "CREATE TABLE t (id INT PRIMARY KEY"
rows = -1
mix = {insert = 1}

[[table]]
[table.columns]
price = {min = 9, max = 1}

[[ddl]]
every = "5 minutes"
kinds = ["add-colum"]
""") == [
        "line 1: seed: bad seed 'seven': expected a whole number of 64 bits",
        "line 2: unknown key 'rows-per-sec'. Did you mean 'rows-per-second'? Known: name, sink-uri, config, tz, release, "
        "architecture, start-ts, resolved-interval, seed, rate, duration, rows-per-second, rows-per-transaction, "
        "tables-per-transaction, initial",
        "line 3: rate: bad rate 'fast': 'fast' is no rate; expected rows a second (60000), bytes a second (190MiB), "
        "max, steps ('0s:1000, 60s:20000, 5m:max'), a ramp ('0s:1000..20000, 5m:20000') or bursts "
        "('1000, every 30s: 100000 for 2s')",
        "line 6: table 1: definition: [parser:1064] line 1, column 35: the end of the statement is not expected here. "
        "Accepted: ',' or ')' or an option of column 'id'",
        "line 7: table 1: rows: expected a whole number from 0 to 1,000,000,000, got -1",
        "line 8: table 1: mix: unknown key 'insert'. Did you mean 'inserts'? Known: inserts, updates, deletes",
        "line 10: table 2: a definition is expected, a CREATE TABLE",
        "line 12: table 2: columns: price: min is 9, which is above max, 1",
        "line 15: ddl 1: every: bad duration '5 minutes': expected a number and a unit out of ms, s, m, h, d, such as "
        "500ms or 1m30s",
        "line 16: ddl 1: kinds: unknown statement 'add-colum'. Did you mean 'add-column'? Known: add-column, "
        "drop-column, add-index, drop-index, truncate",
    ]


CITY = '[[table]]\ndefinition = "CREATE TABLE geo.city (id INT PRIMARY KEY, name VARCHAR(8))"\n'
VISIT = '[[table]]\ndefinition = "CREATE TABLE geo.visit (id INT PRIMARY KEY, city INT, stay INT)"\n'
STREET = VISIT.replace("visit", "street") + 'columns = {city = {reference = "geo.city.id"}}\n'
CIRCLE = """
[[table]]
definition = "CREATE TABLE a (id INT PRIMARY KEY, b INT)"
columns = {b = {reference = "test.b.id"}}
[[table]]
definition = "CREATE TABLE b (id INT PRIMARY KEY, a INT)"
columns = {a = {reference = "test.a.id"}}
"""


def defined(text: str) -> str:
    return f'[[table]]\ndefinition = "{text}"'


B = "CREATE TABLE a (id INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES b (id))"
OF_CITY, OF_VISIT = "table 1 (geo.city): ", "table 2 (geo.visit): "


REFUSED = {
    "": "no tables: at least one [[table]] with a definition is expected",
    "table = 1": "table must be a list of tables: write each under [[table]]",
    CITY + CITY: "line 4: table 2 (geo.city): geo.city is defined by table 1 already",
    defined("DROP TABLE t"): "line 2: table 1: definition: expected one CREATE TABLE, got 'DROP TABLE t'",
    defined(
        "CREATE TABLE t LIKE u"
    ): "line 2: table 1: definition: expected one CREATE TABLE with its columns: neither LIKE nor SELECT",
    defined(
        "CREATE TABLE t (id INT PRIMARY KEY, id INT)"
    ): "line 2: table 1 (test.t): definition: [schema:1060] Duplicate column name 'id'",
    defined(B): "line 2: table 1 (test.a): definition: [schema:1824] Failed to open the referenced table 'b'",
    f'{CITY}[[ddl]]\nevery = "5m"\ntable = "geo.citi"': "line 5: ddl 1: table: the plan has no table 'geo.citi'. Did you mean 'geo.city'?",
    f"{CITY}[[ddl]]\n": "line 3: ddl 1: every is expected, such as every = '5m'",
    f'release = "v9.9.9"\n{CITY}': "line 1: release: unknown TiCDC release 'v9.9.9'",
    f"name = '../up'\n{CITY}": "line 1: name: expected letters, digits and _ . - (the checkpoint's directory is called so), got '../up'",
    f"{CITY}skew = {{zipf = 0}}": f"line 3: {OF_CITY}skew: zipf: expected a number above 0 and below 10, got 0",
    f"{CITY}row-size = '2MB'": f"line 3: {OF_CITY}row-size: expected a size up to 16MiB, such as '2KiB', or a number of bytes; got '2MB'",
    f"{CITY}mix = {{inserts = 1, deletes = 2}}": f"line 1: {OF_CITY}2 deletes for 1 inserts exhaust the table after 30,000 changes: expected at most as many",
    f"tables-per-transaction = 20\n{CITY}": "tables-per-transaction 20: expected 1 to 10, which is how many rows a transaction has",
    f"{CITY}[table.columns]\nname = ['Rome', 'Constantinople']": f"line 4: {OF_CITY}column 'name': varchar does not take 'Constantinople'",
    f"{CITY}columns = {{nam = 'city'}}": f"line 3: {OF_CITY}columns: the table has no column 'nam'",
    f"{CITY}{VISIT}columns = {{city = {{reference = 'geo.town.id'}}}}": f"line 3: {OF_VISIT}refers to geo.town, which is not there.",
    f"{CITY}{VISIT}columns = {{city = {{reference = 'geo.city.idd'}}}}": f"line 5: {OF_VISIT}column 'city': reference: geo.city has no column 'idd'. Did you mean 'id'?",
    CIRCLE: "tables refer to each other in a circle: test.",
    f'{CITY}{STREET}[[ddl]]\nevery = "5m"\ntable = "geo.city"\n': "line 8: ddl 1: kinds: geo.city cannot be truncated, as rows of geo.street refer to its rows",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_is_refused(text: str) -> None:
    """Mistakes that show only after the whole file is read are reported, too."""
    mistake = REFUSED[text]
    assert [each[: len(mistake)] for each in mistakes(text)] == [mistake]


@pytest.mark.slow
@pytest.mark.parametrize("name", scenario.preset_names())
def test_every_preset_is_a_plan(name: str) -> None:
    plan: LoadPlan = load_plan(scenario.preset_file(name))

    assert (plan.name, plan.text) == (name, scenario.preset_file(name).read_text("utf-8"))
    assert len(plan.created) == len(plan.model.tables) == len(plan.tables)
