"""Old values of a load's rows that were last written before a column was added (`test_older_rows`)."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any

import pytest
from support.loads import CUSTOMER, OPEN, Run, shop_plan

from simulator.releases.compare import parse_release

FLAGS = "CREATE TABLE shop.flags (id BIGINT PRIMARY KEY, state ENUM('a'), other ENUM('x','y'))"
UPDATES = "update-columns = 1\n"
NUMBERS = (1, 2, 3, 8, 9, 13)
STATEMENTS = """
[[ddl]]
every = {min = "200ms", max = "400ms"}
kinds = ["add-column", "truncate", "add-column", "drop-column", "add-index"]
[[ddl]]
every = "450ms"
kinds = ["add-column"]
table = "shop.flags"
[[ddl]]
at = "950ms"
sql = "ALTER TABLE shop.flags DROP COLUMN other"
[[ddl]]
at = "700ms"
sql = "ALTER TABLE shop.customer ADD COLUMN own INT NOT NULL DEFAULT 5"
"""


def parts(value: bytes) -> list[Any]:
    """The parts of a key or value in Open Protocol."""
    found = []
    while value:
        end = 8 + int.from_bytes(value[:8], "big")
        found.append(json.loads(value[8:end]))
        value = value[end:]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("release", "older"), [("v6.5.8", str), ("v8.5.3", int)])
@pytest.mark.parametrize("initial", ["inserted", "present"])
def test_a_row_of_a_load_is_older_until_it_changes(release: str, older: type, initial: str) -> None:
    """An UPDATE that changes nothing is not sent, and writes nothing: half of those of flags, of which each touches one
    column. One that changes a column that is dropped later writes the row."""
    text = shop_plan(STATEMENTS, 40, FLAGS, CUSTOMER, more=f'seed = 7\ninitial = "{initial}"')
    text = text.replace("mix =", f"{UPDATES}mix =", 1)
    records = [each for each in Run(text, OPEN, parse_release(release)).sent(0, 2_000) if (each.value or b"")[8:]]
    messages = [
        pair for each in records for pair in zip(parts((each.key or b"")[8:]), parts(each.value or b""), strict=True)
    ]
    added: dict[str, dict[str, int]] = defaultdict(dict)
    written: dict[tuple[str, int], int] = {}
    lacking: list[bool] = []
    for key, value in sorted(messages, key=lambda message: int(message[0]["ts"])):
        table, ts = key["tbl"], key["ts"]
        if "q" in value:
            if new := re.search(r"ADD COLUMN `?(\w+)", value["q"]):
                added[table][new[1]] = ts
            continue
        row = value.get("u") or value["d"]
        last = written.get((table, row["id"]["v"]), 0)
        for name, cell in (value.get("d") or value.get("p") or {}).items():
            if name in added[table] and cell["t"] in NUMBERS and cell["v"] is not None:
                lacking.append(last < added[table][name])
                assert type(cell["v"]) is (older if lacking[-1] else int), (key, name)
        written[table, row["id"]["v"]] = ts
    assert lacking.count(True) > 50 and lacking.count(False) > 50
