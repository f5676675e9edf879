"""An explained statement as lines for people, or as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from simulator.explain.ddl import DdlExplained, EventExplained, JobExplained, MessageExplained
from simulator.explain.schema_differences import TableDifference

OUTCOMES = {
    "send": "sent",
    "ignore": "not sent, TiCDC's schema changes (an event filter ignores it)",
    "discard": "not sent, TiCDC's schema stays as it was",
    "ineligible": "not sent, the table is not eligible",
    "error": "TiCDC stops the changefeed",
}


def ddl_as_dict(explanation: DdlExplained) -> dict[str, Any]:
    """Return everything as JSON members, message bytes in hex and as text."""
    result = asdict(explanation)
    for job in result["jobs"]:
        for event in job["events"]:
            event["messages"] = [
                {**message, "key": _bytes(message["key"]), "value": _bytes(message["value"])}
                for message in event["messages"]
            ]
    return result


def statements_lines(explanation: Sequence[DdlExplained], total: int) -> Iterator[str]:
    """Yield each statement under its number and text."""
    for number, explained in enumerate(explanation, 1):
        if number > 1:
            yield ""
        yield f"statement {number} of {total}: {explained.statement}"
        yield from ddl_lines(explained)


def ddl_lines(explanation: DdlExplained) -> Iterator[str]:
    """Yield each job with its decision and messages, then the changes of tables."""
    many = f"{len(explanation.jobs)} jobs" if len(explanation.jobs) != 1 else "one job"
    yield f"{many} of TiDB, under TiCDC {explanation.release} ({explanation.architecture})"
    for note in explanation.notes:
        yield f"note         {note}"
    for job in explanation.jobs:
        yield ""
        yield from _job(job)
    for change in explanation.schema_changes:
        yield ""
        yield from _change(change)


def _job(job: JobExplained) -> Iterator[str]:
    yield f"action       {job.action}, type code {job.type_code} ({job.text})"
    if job.sub_jobs:
        yield f"parts        {', '.join(job.sub_jobs)}"
    if job.renamed:
        yield f"tables       {', '.join(f'{old} → {new}' for old, new in job.renamed)}"
    elif job.table:
        other = f" with {job.exchanged}" if job.exchanged else ""
        yield f"table        {job.schema}.{job.table}{other}"
    elif job.schema:
        yield f"database     {job.schema}"
    yield f"decision     {OUTCOMES[job.outcome]}"
    yield f"why          {job.why}"
    for event in job.events:
        yield from _event(event)


def _event(event: EventExplained) -> Iterator[str]:
    name = f"{event.schema}.{event.table}" if event.table else event.schema
    yield f"event        {event.action}, type code {event.type_code}, of {name}"
    yield f"text         {event.query or '(nothing is left of it)'}"
    if event.sent_as:
        yield f"sent as      {event.sent_as}"
    yield f"topic        {event.topic}"
    yield f"holds back   later rows of {event.holds_back}"
    for message in event.messages:
        yield from _message(message)


def _message(message: MessageExplained) -> Iterator[str]:
    where = f"partition{'s' * (len(message.partitions) > 1)} {', '.join(map(str, message.partitions))}"
    yield f"{message.protocol:<13} {where}{'' if message.chosen else ' (not the protocol of this changefeed)'}"
    for name, data in (("key", message.key), ("value", message.value)):
        if data is not None:
            yield f"  {name:<11} {len(data)} bytes: {data.decode('utf-8', 'backslashreplace')}"


def _change(change: TableDifference) -> Iterator[str]:
    table = change.after or change.before
    assert table is not None
    yield f"schema       {table.schema}.{table.table}"
    for line in change.lines or ("nothing that rows or keys show",):
        yield f"  {line}"


def _bytes(data: bytes | None) -> dict[str, str] | None:
    return None if data is None else {"hex": data.hex(), "text": data.decode("utf-8", "backslashreplace")}
