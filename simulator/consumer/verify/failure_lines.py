"""The failures of a verification as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.consumer.verify.verification import Failure, Verification

MANY = 40
"""Number of tables that are listed."""


def failure_lines(verification: Verification) -> Iterator[str]:
    """Yield all failures, a line each."""
    for failure in verification.failures:
        yield failure_heading(failure)
        yield from failure_details(failure)


def failure_heading(failure: Failure) -> str:
    point = f"point {failure.point} of the contract" if failure.point else "no message of the changefeed"
    where = f" in {failure.of}" if failure.of else ""
    return f"{failure.check} ({point}){where}: {failure.says}: {failure.count:,}"


def failure_details(failure: Failure) -> Iterator[str]:
    """Yield the tables and examples of a failure, a line each."""
    named = [(table, count) for table, count in failure.tables.items() if table]
    if named:
        listed = ", ".join(f"{table} {count:,}" for table, count in named[:MANY])
        yield f"  by table: {listed}{f' and {len(named) - MANY} more tables' if len(named) > MANY else ''}"
    for example in failure.examples:
        yield f"  {example.place}: {example.what}" if example.place else f"  {example.what}"
    if failure.count > len(failure.examples):
        yield f"  … {failure.count - len(failure.examples):,} more"
