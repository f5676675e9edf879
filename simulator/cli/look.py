"""`inspect`: what is in a stream."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from simulator.cli.lines import show_lines
from simulator.errors import UserError
from simulator.read import lines as reading
from simulator.read.records import read


def inspect(source: str, as_json: bool, raw: bool, follow: bool, protocol: str | None, limit: int | None) -> None:
    if raw and (as_json or protocol):
        raise UserError("--raw shows bytes as they are: --json and --protocol say how to decode them")
    records = read(source, follow, _warn)
    show_lines(islice(reading.raw_lines(records) if raw else reading.lines(records, as_json, protocol), limit))


def _warn(lines: Iterable[str]) -> None:
    from simulator.cli.terminal import Terminal  # rich takes longer than most streams

    Terminal(stderr=True).warn(lines)
