"""What a verification found wrong, in words."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.consumer.verify.verification import Failure, Verification

MANY = 40
"""Tables that are named."""


def failure_lines(found: Verification) -> Iterator[str]:
    """Everything that is wrong, a line each; nothing where nothing is."""
    for failure in found.failures:
        yield failure_heading(failure)
        yield from failure_details(failure)


def failure_heading(failure: Failure) -> str:
    point = f"point {failure.point} of the contract" if failure.point else "no message of the changefeed"
    where = f" in {failure.of}" if failure.of else ""
    return f"{failure.check} ({point}){where}: {failure.says}: {failure.count:,}"


def failure_details(failure: Failure) -> Iterator[str]:
    """Its tables and examples, a line each."""
    named = [(table, count) for table, count in failure.tables.items() if table]
    if named:
        listed = ", ".join(f"{table} {count:,}" for table, count in named[:MANY])
        yield f"  by table: {listed}{f' and {len(named) - MANY} more tables' if len(named) > MANY else ''}"
    for example in failure.examples:
        yield f"  {example.place}: {example.what}" if example.place else f"  {example.what}"
    if failure.count > len(failure.examples):
        yield f"  … {failure.count - len(failure.examples):,} more"
