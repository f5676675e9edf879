"""Which texts are equal, and in which order: the same to handles, expressions, partitions, ENUMs and SETs."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upstreams import cases

from simulator.ticdc.filters.row_expressions import is_ignored
from simulator.ticdc.table_info import handles_of_rows
from simulator.tidb import collations
from simulator.tidb.datums.cast import tidb_text
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table
from simulator.tidb.storage.tables import locate_partition

COLLATIONS = sorted({*collations.WEIGHTS, "utf8mb4_bin", "utf8mb4_0900_bin", "latin1_bin", "ascii_bin"})
TEXTS = st.lists(
    st.text("aAáÁbßsSøØǾæ\u0301\0\x01 \tᲿ中国😀😁ⅷⅧかガ가ᄀÿıİςΣй%％_\\,?", max_size=4), min_size=1, max_size=6
)
BOUNDS = ("A", "á b", "ß", "o", "か", "中")


@cache
def table(collation: str, rest: str = "", options: str = "") -> Table:
    return create_table(f"CREATE TABLE d.t (a VARCHAR(9) COLLATE {collation}{rest}) {options}")


def of_pairs(condition: str, collation: str, left: list[str], right: list[str]) -> list[bool]:
    """Whether a condition is true of each a and b."""
    texts = {"a": pa.array(left, pa.string()), "b": pa.array(right, pa.string())}
    found: list[bool] = is_ignored(
        condition, table(collation, f", b VARCHAR(9) COLLATE {collation}"), texts
    ).to_pylist()
    return found


def handles(collation: str, texts: list[str]) -> list[bytes]:
    keyed = table(collation, ", PRIMARY KEY (a) CLUSTERED")
    found: list[bytes] = handles_of_rows(keyed, {"a": pa.array(texts, pa.string())}).to_pylist()
    return found


def partitions(collation: str, rule: str, texts: list[str]) -> list[int | None]:
    parted = table(collation, options=f"PARTITION BY {rule}")
    found: list[int | None] = locate_partition(parted, {"a": pa.array(texts, pa.string())}).to_pylist()
    return found


def bounded(kind: str, words: str, bounds: list[str]) -> str:
    parts = ", ".join(f"PARTITION p{place} VALUES {words} ('{bound}')" for place, bound in enumerate(bounds))
    return f"{kind} COLUMNS (a) ({parts})"


@pytest.mark.slow
@pytest.mark.parametrize("collation", COLLATIONS)
@settings(max_examples=4)
@given(texts=TEXTS)
def test_equal_texts_have_one_handle_and_lie_in_one_partition(collation: str, texts: list[str]) -> None:
    """And the order of handles is that of `<` and of RANGE COLUMNS."""
    texts += [texts[0] + " ", texts[0].upper()]
    found = handles(collation, texts)
    left, right = map(list, zip(*product(texts, texts), strict=True))
    pairs = list(product(found, found))

    assert of_pairs("a = b", collation, left, right) == [first == second for first, second in pairs]
    assert of_pairs("a < b", collation, left, right) == [first < second for first, second in pairs]
    bounds = dict(sorted(zip(handles(collation, list(BOUNDS)), BOUNDS, strict=True)))
    ranges = bounded("RANGE", "LESS THAN", list(bounds.values()))
    assert partitions(collation, ranges, texts) == [
        place if (place := bisect_right(list(bounds), handle)) < len(bounds) else None for handle in found
    ]
    lists = bounded("LIST", "IN", list(bounds.values()))
    assert partitions(collation, lists, texts) == [
        list(bounds).index(handle) if handle in bounds else None for handle in found
    ]


@pytest.mark.slow
@pytest.mark.parametrize("collation", COLLATIONS)
@settings(max_examples=4)
@given(texts=TEXTS)
def test_members_are_known_by_their_collation(collation: str, texts: list[str]) -> None:
    """Of ENUM and SET alike."""
    members = dict(zip(handles(collation, list(BOUNDS)), BOUNDS, strict=True))
    listed = ", ".join(f"'{member}'" for member in members.values())
    kinds = (f"{kind}({listed}) COLLATE {collation}" for kind in ("ENUM", "SET"))
    members_table = create_table("CREATE TABLE d.t (e {}, s {})".format(*kinds))
    texts = [text for text in texts if text and "," not in text]
    known = [members.get(handle) for handle in handles(collation, texts)]

    for column in members_table.columns:
        assert tidb_text(column.type, pa.array(texts, pa.string())).to_pylist() == known


CONDITIONS = cases(r"""
    utf8mb4_general_ci => a LIKE b => Élan => e% => true
    utf8mb4_bin => a LIKE b => Élan => e% => false
    utf8mb4_general_ci => a LIKE 'É_%' => elan => (empty) => true
    utf8mb4_general_ci => a LIKE 'ß' => s => (empty) => true
    utf8mb4_unicode_ci => a LIKE 'ß' => ss => (empty) => false
    utf8mb4_unicode_ci => a LIKE '％' => a => (empty) => false
    utf8mb4_unicode_ci => a LIKE '％' => % => (empty) => true
    utf8mb4_unicode_ci => a LIKE '\\%' => ％ => (empty) => true
    utf8mb4_unicode_ci => a LIKE '😀' => 😁 => (empty) => false
    utf8mb4_unicode_ci => a = '😀' => 😁 => (empty) => true
    utf8mb4_general_ci => a LIKE '😀' => 😁 => (empty) => true
    utf8mb4_general_ci => a LIKE 'a ' => a => (empty) => false
    utf8mb4_unicode_ci => find_in_set(a, b) = 2 => SS  => a,ß,b => true
    utf8mb4_general_ci => find_in_set(a, b) = 2 => (empty) => a,,b => true
    utf8mb4_general_ci => find_in_set(a, b) = 0 => (empty) => (empty) => true
    utf8mb4_0900_ai_ci => locate(a, b) = 2 => E => xe => true
    utf8mb4_0900_ai_ci => locate(a, b) => E => xÉ => false
    utf8mb4_unicode_ci => a = b => æ => ae => false
    utf8mb4_unicode_ci => a = b => æ => Ǽ => true
    gbk_chinese_ci => locate(a, b) = 2 => E => xe => true
""")


@pytest.mark.parametrize(("collation", "condition", "left", "right", "expected"), CONDITIONS)
def test_what_goes_by_single_characters_goes_by_their_weights(
    collation: str, condition: str, left: str, right: str, expected: str
) -> None:
    """LIKE one character each, FIND_IN_SET whole members (tidb: pkg/util/collate); LOCATE looks at small letters (tidb:
    pkg/expression/builtin_string.go)."""
    texts = ([text.replace("(empty)", "")] for text in (left, right))
    assert of_pairs(condition, collation, *texts) == [expected == "true"]
