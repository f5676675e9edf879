"""Old values of rows that are older than a column, found in a stream from what it says itself."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from simulator.consumer.records import Record

NUMBERS = (1, 2, 3, 8, 9, 13)
"""The codes of types of which a value is a number in JSON."""


def parts(value: bytes) -> list[Any]:
    """The parts of a key or value in Open Protocol."""
    found = []
    while value:
        end = 8 + int.from_bytes(value[:8], "big")
        found.append(json.loads(value[8:end]))
        value = value[end:]
    return found


def count_older(records: Iterable[Record], older: type) -> tuple[int, int]:
    """Hold the old values of numbers in added columns: those of rows that no message wrote since have the type `older`.
    Return how many of these there are, and of others."""
    messages = [
        pair
        for each in records
        if (each.value or b"")[8:]
        for pair in zip(parts((each.key or b"")[8:]), parts(each.value or b""), strict=True)
    ]
    added: dict[str, dict[str, int]] = defaultdict(dict)
    written: dict[tuple[str, int], int] = {}
    lacking: list[bool] = []
    for key, value in sorted(messages, key=lambda message: int(message[0]["ts"])):
        table, ts = key["tbl"], key["ts"]
        if "q" in value:
            added[table] |= dict.fromkeys(re.findall(r"ADD COLUMN `?(\w+)", value["q"]), ts)
            continue
        row = value.get("u") or value["d"]
        last = written.get((table, row["id"]["v"]), 0)
        for name, cell in (value.get("d") or value.get("p") or {}).items():
            if name in added[table] and cell["t"] in NUMBERS and cell["v"] is not None:
                lacking.append(last < added[table][name])
                assert type(cell["v"]) is (older if lacking[-1] else int), (key, name)
        written[table, row["id"]["v"]] = ts
    return lacking.count(True), lacking.count(False)
