"""The values of a stream's rows: what a column holds, by key and version, and what is refused."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Mapping
from datetime import date
from functools import cache
from statistics import mean, stdev

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upstreams import played

from simulator.columns import row_image
from simulator.errors import UserError
from simulator.generate.model import Mix, Model, ProbeTimes, TableModel, TableRows
from simulator.generate.values.generators import TableGenerators
from simulator.generate.values.reading import parse_columns
from simulator.generate.values.table_values import TableValues, table_values
from simulator.tidb.datums.cast import convert_text
from simulator.tidb.model.table import Table, visible_columns

EVERY = """CREATE TABLE every (id BIGINT PRIMARY KEY AUTO_RANDOM, a BIGINT UNSIGNED, b TINYINT, c FLOAT, d DOUBLE(6, 2),
  e DECIMAL(65, 30), f BIT(9), g YEAR, h DATE, i TIME(3), j DATETIME, k TIMESTAMP(6), l CHAR(2), m BINARY(3), n TEXT,
  o BLOB, p ENUM('x', 'y'), q SET('x', 'y'), r JSON, s VARCHAR(40), t DECIMAL(12, 2), u BIT(64), v VECTOR(3),
  w DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), x TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, y INT AS (LENGTH(s)) STORED)"""
SHOP = """CREATE TABLE customer (id BIGINT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(60), email VARCHAR(80) UNIQUE);
CREATE TABLE product (code CHAR(10) PRIMARY KEY, price DECIMAL(8, 2));
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id BIGINT NOT NULL, earlier BIGINT, note VARCHAR(20),
  FOREIGN KEY (customer_id) REFERENCES customer (id), FOREIGN KEY (earlier) REFERENCES orders (id));
CREATE TABLE pair (customer BIGINT, product CHAR(10), PRIMARY KEY (customer, product),
  FOREIGN KEY (customer) REFERENCES customer (id), FOREIGN KEY (product) REFERENCES product (code))"""
ONE = "CREATE TABLE t (id BIGINT PRIMARY KEY, v {}, w INT, z INT)"


def modelled(tables: list[Table], rows: int = 1000) -> Model:
    mixes = (Mix(20, 0, 10) if table.name == "pair" else Mix(20, 70, 10) for table in tables)
    return Model(7, tuple(TableModel(table.schema, table.name, rows, mix=mix) for table, mix in zip(tables, mixes)))


def valued(text: str, wanted: Mapping[str, TableGenerators] | None = None, rows: int = 1000) -> dict[str, TableValues]:
    tables = list(played(text).upstream.catalog.tables.values())
    asked = [(wanted or {}).get(table.name, TableGenerators()) for table in tables]
    return {each.table.name: each for each in table_values(tables, asked, modelled(tables, rows))}


def one(type_: str, spec: object) -> TableValues:
    return valued(ONE.format(type_), {"t": TableGenerators(parse_columns({"v": spec}))})["t"]


def rows(count: int = 5000, version: int = 0, first: int = 0, place: int = 0) -> TableRows:
    keys = np.arange(first, first + count)
    tables = tuple(TableModel("test", str(number), 1000) for number in range(4))
    return TableRows(keys, np.full(count, version), 0, ProbeTimes(Model(7, tables)), place)


def texts(values: TableValues, name: str = "v", version: int = 0, count: int = 5000) -> list[str | None]:
    found = values.texts([name], rows(count, version))[name]
    return [None if cell is None else cell.decode() for cell in found.to_pylist()]


@cache
def of_every_type() -> TableValues:
    return valued(EVERY)["every"]


@pytest.mark.slow
@given(st.integers(0, 10**9), st.integers(0, 300), st.integers(0, 300), st.integers(0, 10**6))
@settings(max_examples=10)
def test_rows_that_are_asked_for_alone_are_those_among_others(first: int, ahead: int, count: int, version: int) -> None:
    whole = of_every_type().images(rows(ahead + count + 1, version, first))
    assert whole.slice(ahead).equals(of_every_type().images(rows(count + 1, version, first + ahead)))


def test_every_column_of_every_type_is_as_tidb_keeps_it_and_another_process_makes_the_same() -> None:
    values = of_every_type()
    asked = rows(500, 3)
    names = [column.name for column in visible_columns(values.table)]
    found = values.texts(names, asked)
    for column in visible_columns(values.table):
        text = found[column.name]
        assert text.null_count == 0 and text.equals(convert_text(column.type, column.type, text).cast(pa.binary()))
    assert row_image.pack(list(found.values())).equals(values.images(asked))
    again = pickle.loads(pickle.dumps(values))
    assert again.images(asked).equals(values.images(asked)) and len(pickle.dumps(values)) < 20_000
    assert len(set(values.handles(asked).to_pylist())) == 500


def test_an_update_touches_its_group_of_columns_and_nothing_else() -> None:
    """Two columns at a time, in turn, each of which differs; never the key; generated ones follow."""
    columns = "id BIGINT PRIMARY KEY, a VARCHAR(20), b INT, c DATE, d DECIMAL(9, 2), e DATETIME, f ENUM('x', 'y')"
    values = valued(f"CREATE TABLE t ({columns})", {"t": TableGenerators({}, 2)})["t"]
    names = list("abcdef")
    groups = set()
    for version in range(6):
        before, after = (values.texts(["id", *names], rows(300, version + add)) for add in (0, 1))
        changed = tuple(name for name in ["id", *names] if not before[name].equals(after[name]))
        for name in changed:
            assert not any(np.asarray(pc.equal(before[name], after[name])))
        groups.add(changed)
    assert sorted(groups) == [("a", "d"), ("b", "e"), ("c", "f")]
    named = valued(f"CREATE TABLE t ({columns})", {"t": TableGenerators({}, ("b",))})["t"]
    assert named.texts(["a"], rows(9, 1))["a"].equals(named.texts(["a"], rows(9, 2))["a"])


def test_rows_refer_to_rows_that_were_there() -> None:
    values = valued(SHOP, {"customer": TableGenerators(parse_columns({"email": "email"}))})
    customers = set(texts(values["customer"], "id", count=1000))
    assert set(texts(values["orders"], "customer_id")) <= customers
    earlier = texts(values["orders"], "earlier")
    assert earlier[0] is None and all(int(at or 0) <= place for place, at in enumerate(earlier[1:], 1))
    pairs = list(zip(texts(values["pair"], "customer"), texts(values["pair"], "product")))
    assert len(set(pairs)) == len(pairs) == 5000 and {first for first, _ in pairs} == customers
    emails = texts(values["customer"], "email")
    assert len(set(emails)) == len(emails)


def test_two_columns_that_refer_to_one_table_refer_to_rows_of_their_own() -> None:
    spec = parse_columns({"payer": {"reference": "test.account.id"}, "payee": {"reference": "test.account.id"}})
    transfer = valued(
        "CREATE TABLE account (id INT PRIMARY KEY, v INT);"
        "CREATE TABLE transfer (id INT PRIMARY KEY, payer INT, payee INT, v INT)",
        {"transfer": TableGenerators(spec)},
    )["transfer"]
    alike = sum(payer == payee for payer, payee in zip(texts(transfer, "payer"), texts(transfer, "payee")))
    assert alike < 5000 / 100


def test_a_column_that_is_new_has_its_default_and_others_stay() -> None:
    outcome = played(
        "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT, b VARCHAR(9)); ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT "
        "7 AFTER id, DROP COLUMN a, CHANGE b c VARCHAR(20)"
    )
    table = outcome.upstream.catalog.tables[("test", "t")]
    before = valued("CREATE TABLE t (id BIGINT PRIMARY KEY, a INT, b VARCHAR(9))")["t"]
    after = before.altered(table)
    found = after.texts(["id", "n", "c"], rows(50))
    assert set(found["n"].to_pylist()) == {b"7"}
    assert found["c"].equals(before.texts(["b"], rows(50))["b"])
    assert row_image.pack(list(found.values())).equals(after.images(rows(50)))


@pytest.mark.slow
@pytest.mark.parametrize("row_size", [600, 4096, 200_000])
def test_a_row_is_about_as_long_as_asked(row_size: int) -> None:
    text = "CREATE TABLE t (id BIGINT PRIMARY KEY, a VARCHAR(100), b MEDIUMTEXT, c JSON, d INT)"
    values = valued(text, {"t": TableGenerators({}, None, row_size)})["t"]
    sizes = [len(image) for image in values.images(rows(200)).to_pylist()]
    assert 0.9 * row_size < mean(sizes) < 1.1 * row_size


def test_a_choice_has_its_weights_and_an_update_another_value_where_it_can() -> None:
    values = one("VARCHAR(5)", {"choice": ["new", "paid", "sent"], "weights": [2, 1, 1], "null": 0.1})
    for version in (0, 1, 6):
        counts = Counter(texts(values, version=version))
        assert counts[None] == pytest.approx(500, abs=80)
        assert counts["new"] == pytest.approx(2250, abs=160) and counts["paid"] == pytest.approx(1125, abs=140)
    alike = [old == new for old, new in zip(texts(values, version=4), texts(values, version=5))]
    assert not any(alike)


@pytest.mark.parametrize(
    ("spec", "average", "spread"),
    [
        ({"min": 0, "max": 1_000_000}, 500_000, 288_700),
        ({"min": 1, "max": 9}, 5, 2.58),
        ({"distribution": "normal", "mean": 50, "deviation": 5}, 50, 5),
        ({"distribution": "lognormal", "mean": 50, "deviation": 20}, 50, 20),
        ({"distribution": "exponential", "mean": 20}, 20, 20),
        ({"distribution": "normal", "mean": 0, "deviation": 5, "min": 0}, 3.99, 3.01),
    ],
)
def test_numbers_are_distributed_as_asked_in_every_version(spec: object, average: float, spread: float) -> None:
    values = one("DOUBLE", spec)
    for version in (0, 7):
        found = [float(text or 0) for text in texts(values, version=version, count=10_000)]
        assert mean(found) == pytest.approx(average, rel=0.05) and stdev(found) == pytest.approx(spread, rel=0.08)


def test_ranks_of_zipf_come_as_often_as_they_should() -> None:
    counts = Counter(texts(one("INT", {"distribution": "zipf", "exponent": 1, "min": 1, "max": 100}), count=20_000))
    assert counts["1"] / counts["2"] == pytest.approx(2, rel=0.1)
    assert counts["1"] / counts["10"] == pytest.approx(10, rel=0.2)


def test_values_lie_between_their_bounds() -> None:
    days = texts(one("DATE", {"min": date(2024, 1, 1), "max": date(2024, 1, 31)}))
    assert (min(map(str, days)), max(map(str, days))) == ("2024-01-01", "2024-01-31")
    assert {len(str(text)) for text in texts(one("VARCHAR(60)", {"text": {"min": 10, "max": 40}}))} == set(
        range(10, 41)
    )
    assert texts(one("BIGINT", {"sequence": 100, "step": 5})) == [str(number) for number in range(100, 25_100, 5)]


def test_templates_times_and_versions_follow_the_row() -> None:
    columns = parse_columns({"v": {"template": "{{{w}}}.{id}"}, "w": {"version": True}, "z": {"time": "changed"}})
    values = valued(ONE.format("VARCHAR(20)"), {"t": TableGenerators(columns)})["t"]
    assert texts(values, "v", 3, 2) == ["{3}.1", "{3}.2"]
    assert texts(values, "z", 3000, 1) == [str(1735689600 + 3)]


def test_another_life_of_a_table_has_other_values() -> None:
    values = one("VARCHAR(60)", "name")
    asked = rows(200)
    later = TableRows(asked.keys, asked.versions, 77, asked.lives, 0)
    assert not values.images(asked).equals(values.images(later))


UNIQUE_TINYINT = "'v': tinyint counts from 1 to 127, which is 127 rows"


@pytest.mark.parametrize(
    ("type_", "spec", "words"),
    [
        ("VARCHAR(3)", ["long"], ["test.t", "'v'", "'long'", "at most 3 characters"]),
        ("TINYINT", {"min": 1, "max": 300}, ["'v'", "'128'", "-128 to 127"]),
        ("TINYINT", {"min": 1, "max": 100_000}, ["'v'", "'100000'", "-128 to 127"]),
        ("ENUM('a', 'b')", ["c"], ["'v'", "'c'", "'a', 'b'"]),
        ("INT NOT NULL", {"value": 1, "null": 0.1}, ["'v'", "NOT NULL"]),
        ("INT", {"reference": "test.u.id"}, ["refers to test.u", "not there"]),
        ("INT", {"reference": "test.t.nid"}, ["no column 'nid'", "Did you mean 'id'?"]),
        ("INT", {"reference": "test.t.v"}, ["lead back to itself"]),
        ("VARCHAR(9)", {"template": "{idd}"}, ["no column 'idd'", "Did you mean 'id'?"]),
        ("TINYINT", {"sequence": 1}, [f"{UNIQUE_TINYINT}, and the table begins with 1,000"]),
        ("TINYINT UNIQUE", None, [UNIQUE_TINYINT]),
        ("INT UNIQUE", [1, 2], ["unique key v", "nothing tells rows apart"]),
        ("DATE", "name", ["'v'", "date does not take", "YYYY-MM-DD"]),
        ("VARCHAR(20)", TableGenerators({}, ("id",)), ["update-columns", "'id'", "accepted: v, w, z"]),
        ("VARCHAR(20)", TableGenerators({}, ("y",)), ["update-columns", "no column 'y'"]),
        ("VARCHAR(20)", TableGenerators({}, 0), ["update-columns", "1 or more"]),
        ("VARCHAR(20)", TableGenerators({}, None, 5000), ["row-size", "hold 20: v"]),
        ("VARCHAR(20)", TableGenerators(parse_columns({"x": 1})), ["columns: the table has no column 'x'"]),
    ],
)
def test_what_no_row_could_hold_is_refused_in_a_line(type_: str, spec: object, words: list[str]) -> None:
    """`spec` is of column v, or of the table."""
    if not isinstance(spec, TableGenerators):
        spec = TableGenerators(parse_columns({} if spec is None else {"v": spec}))
    with pytest.raises(UserError) as caught:
        valued(ONE.format(type_), {"t": spec})
    assert len(caught.value.args) == 1
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_updates_of_a_table_that_is_all_key_are_refused() -> None:
    with pytest.raises(UserError, match="no column outside of its keys to change"):
        valued("CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b), UNIQUE KEY (b))")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"faker": "nmae"}, ["no provider 'nmae'. Did you mean 'name'?"]),
        ({"choice": [1, 2], "weights": [1]}, ["there are 1 for 2 values"]),
        ({"choice": [1], "weight": [1]}, ["choice takes no 'weight'. Did you mean 'weights'?"]),
        ({"min": 2, "max": 1}, ["min is 2"]),
        ({"min": 2}, ["expected min and max"]),
        ({"null": 2, "value": 1}, ["null: expected a share from 0 to 1, got 2"]),
        ({"sequence": 1, "step": 0}, ["step"]),
        ({"distribution": "nrmal", "mean": 1}, ["normal, lognormal, exponential, zipf", "Did you mean 'normal'?"]),
        ({"distribution": "normal", "mean": 1}, ["normal needs deviation"]),
        ({"distribution": "zipf", "exponent": -1, "min": 1, "max": 3}, ["exponent"]),
        ({"text": -1}, ["text: expected a whole number"]),
        ({"reference": "customer.id"}, ["'shop.customer.id'"]),
        ({"template": "{a"}, ["a brace stands alone"]),
        ({"time": "never"}, ["'born' or 'changed'"]),
        ({"version": False}, ["version: expected true"]),
        ({"text": 1, "value": 1}, ["text and value: a column has one generator"]),
        ({"txt": 1}, ["Did you mean 'text'?"]),
    ],
)
def test_a_mistake_in_a_generator_is_a_line(given: object, words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        parse_columns({"v": given})
    assert len(caught.value.args) == 1
    assert [word for word in ["v: ", *words] if word not in str(caught.value)] == [], str(caught.value)
