"""A verification as text: the verdict, the partitions and tables read, the failures, and the checks not made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from rich.table import Table

from simulator import tso
from simulator.cli.run_report import MANY, by_table, plain_table
from simulator.cli.terminal import Terminal
from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.limits import counted
from simulator.reader.replay.outcome import TableCompared
from simulator.reader.verify.verification import (
    RIGHT,
    UNFINISHED,
    UNPROVED,
    PartitionRead,
    Verification,
    failure_details,
    failure_heading,
)

STYLES = {RIGHT: "green", UNPROVED: "yellow", UNFINISHED: "yellow"}
"""Colours by verdict; others are red."""

OPS = {"INSERT": INSERT, "UPDATE": UPDATE, "DELETE": DELETE}


def show(verification: Verification) -> None:
    out = Terminal()
    out.print(verdict(verification), style=STYLES.get(verification.verdict, "red"), soft_wrap=True)
    if verification.partitions:
        out.print("", by_partition(verification.partitions))
    if verification.tables:
        out.print("", by_table({name: _by_op(kinds) for name, kinds in verification.tables.items()}))
    if verification.compared:
        out.print("", comparison(verification.compared))
    if verification.settings:
        out.print()
    for line in settings(verification):
        out.print(line, style="dim", soft_wrap=True)
    for failure in verification.failures:
        out.print()
        out.print(failure_heading(failure), style="bold", soft_wrap=True)
        out.print(*failure_details(failure), sep="\n", soft_wrap=True)
    if verification.not_checked:
        out.print()
        out.print("not checked:", style="bold")
        out.print(*(f"  {each.what}: {each.why}" for each in verification.not_checked), sep="\n", soft_wrap=True)
    for note in verification.notes:
        out.print(f"note: {note}", style="yellow", soft_wrap=True)


def verdict(verification: Verification) -> str:
    """Return the verdict in one line."""
    if verification.verdict == RIGHT:
        return f"RIGHT: {_right(verification)}"
    if verification.verdict == UNPROVED:
        open_ones = verification.unproved
        more = f", and {counted(len(open_ones) - 1, 'more thing')} below" if len(open_ones) > 1 else ""
        proved = _right(verification)
        return f"UNPROVED: nothing is wrong, but {open_ones[0].what} could not be compared{more}; {proved}"
    if verification.verdict == UNFINISHED:
        return (
            f"UNFINISHED: nothing is wrong so far, but the stream is complete only {_until(verification)}, and "
            f"{tso.describe(verification.wanted)} is expected"
        )
    checks = ", ".join(f"{failure.check} ({failure.count:,})" for failure in verification.failures)
    return f"WRONG: {checks}"


def _right(verification: Verification) -> str:
    """Describe a correct stream, and correct rows of a consumer."""
    parts = []
    if verification.source:
        changes = counted(verification.rows, "row change")
        partitions = counted(len(verification.partitions), "partition")
        complete = f", complete {_until(verification)}" if verification.watermark else ""
        parts.append(f"{changes} in {partitions} keep the contract{complete}")
    for of in dict.fromkeys(("", verification.against)):
        tables = [table for table in verification.compared if table.of == of]
        if tables:
            rows = sum(table.proved for table in tables)
            untouched = sum(table.expected for table in tables) - rows
            whose = f"{of} has" if of else "they lead to"
            others = f"; no row change is about {untouched:,} others" if untouched else ""
            parts.append(
                f"{whose} {'' if untouched else 'the '}{counted(rows, 'row')} of {verification.expected}{others}"
            )
    return "; ".join(parts)


def _until(verification: Verification) -> str:
    return f"up to watermark {tso.describe(verification.watermark)}" if verification.watermark else "up to no watermark"


def by_partition(every: tuple[PartitionRead, ...]) -> Table:
    """Return a table of the partitions."""
    shown = plain_table("partition", "last offset", "rows", "again", "watermarks", "complete up to")
    for place in every[:MANY]:
        last = "-" if place.first_offset is None else f"{place.next_offset - 1:,}"
        shown.add_row(f"{place.topic}/{place.partition}", last, *_amounts([place]), str(place.watermark or "-"))
    if len(every) > MANY:
        shown.add_row(f"… {counted(len(every) - MANY, 'more partition')}", "", *_amounts(list(every[MANY:])), "")
    return shown


def offsets(place: PartitionRead) -> str:
    """Return `first-last`, or `-` for an empty partition."""
    return "-" if place.first_offset is None else f"{place.first_offset}-{place.next_offset - 1}"


def _amounts(places: list[PartitionRead]) -> Iterator[str]:
    for name in ("rows", "repeated", "watermarks"):
        yield f"{sum(getattr(place, name) for place in places):,}"


def settings(verification: Verification) -> Iterator[str]:
    """Yield the settings with which the stream was verified."""
    for setting in verification.settings:
        yield f"{setting.name}: {setting.value} (by {setting.told_by})"


def comparison(every: tuple[TableCompared, ...]) -> Table:
    """Return a table of actual and expected row counts; differing tables come first."""
    shown = plain_table("table", "expected", "found", "missing", "left", "different")
    ordered = sorted(every, key=lambda table: (not table.differences, table.table))
    for table in ordered[:MANY]:
        shown.add_row(named(table), *figures(table))
    if len(ordered) > MANY:
        rest = ordered[MANY:]
        wrong = sum(bool(table.differences) for table in rest)
        shown.add_row(f"… {counted(len(rest), 'more table')}, {wrong} of them wrong", *("" for _ in range(5)))
    return shown


def named(table: TableCompared) -> str:
    """Return a table's name, with the consumer's snapshot or database if it is compared with one."""
    return f"{table.table} in {table.of}" if table.of else table.table


def figures(table: TableCompared) -> Iterator[str]:
    """Yield the rows expected, found, missing, left and different."""
    yield f"{table.expected:,}"
    yield "?" if table.found is None else f"{table.found:,}"
    for count in (table.missing, table.left, table.different):
        yield f"{count:,}"


def _by_op(kinds: Mapping[str, int]) -> Counter[int]:
    return Counter({op: kinds.get(name, 0) for name, op in OPS.items()})
