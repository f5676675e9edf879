"""Long VALUES lists: what is read without tokens is what the parser makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import SqlError
from simulator.tidb.parser import sql
from simulator.tidb.parser.sql import parse_sql

VALUES = st.sampled_from(
    [
        "1",
        "-5",
        "0",
        "-0",
        "null",
        "NULL",
        "'a'",
        "'a, b) (c'",
        "''",
        "1.50",
        "-2.25",
        "123456789012345678",
        "'é'",
        "'x\ny'",
    ]
)
OTHERS = st.sampled_from(
    ["007", "'it''s'", "1e3", "x'00'", r"'a\\'", "true", "DEFAULT", "'a' 'b'", "99999999999999999999", "+1", "a"]
)
HEADS = st.sampled_from(
    ["INSERT INTO t VALUES ", "insert `d`.`t` (a, b) values", "REPLACE t VALUE", "INSERT /* x */ t VALUES "]
)
TAILS = st.sampled_from(
    ["", " ;", " ON DUPLICATE KEY UPDATE a = VALUES(a) + 1", " ON DUPLICATE KEY UPDATE", ",", "; SELECT 1"]
)


def read(text: str) -> object:
    try:
        return parse_sql(text)
    except SqlError as error:
        return str(error)


@given(HEADS, st.lists(st.lists(VALUES, min_size=1, max_size=3), min_size=1, max_size=5), OTHERS | VALUES, TAILS)
def test_a_list_without_tokens_is_read_as_with_them(head: str, rows: list[list[str]], last: str, tail: str) -> None:
    text = head + ",\n".join(f"( {' ,'.join(values)})" for values in [*rows, [last]]) + tail
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sql, "LEAST", 0)
        without_tokens = read(text)
        patched.setattr(sql, "LEAST", 1 << 40)
        assert without_tokens == read(text)
