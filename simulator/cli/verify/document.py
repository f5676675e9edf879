"""A verification as JSON (docs/verify.md). Names and meanings do not change without a new `version`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from simulator.reader.replay.outcome import TableCompared
from simulator.reader.verify.verification import Failure, PartitionRead, Verification

VERSION = 1
EXAMPLE = ("topic", "partition", "offset", "what")


def document(verification: Verification) -> dict[str, Any]:
    """Return the whole document."""
    return {
        "version": VERSION,
        "verdict": verification.verdict,
        "source": verification.source or None,
        "against": verification.against or None,
        "expected": verification.expected or None,
        "started": f"{datetime.fromtimestamp(verification.began, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "seconds": round(verification.seconds, 3),
        "engine": verification.engine,
        "watermark": verification.watermark or None,
        "wanted_watermark": verification.wanted or None,
        "records": verification.records,
        "rows": verification.rows,
        "wrong": verification.wrong,
        "settings": {
            setting.name: {"value": setting.value, "told_by": setting.told_by} for setting in verification.settings
        },
        "failures": [_failure(failure) for failure in verification.failures],
        "compared": [_compared(table) for table in verification.compared],
        "tables": {name: dict(kinds) for name, kinds in verification.tables.items()},
        "partitions": [_partition(place) for place in verification.partitions],
        "not_checked": [asdict(each) for each in verification.not_checked],
        "notes": list(verification.notes),
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "check": failure.check,
        "point": failure.point,
        "says": failure.says,
        "of": failure.of or None,
        "count": failure.count,
        "tables": dict(failure.tables),
        "examples": [
            {**{name: getattr(example, name) for name in EXAMPLE}, **({"file": example.at} if example.at else {})}
            for example in failure.examples
        ],
    }


def _compared(table: TableCompared) -> dict[str, Any]:
    members = asdict(table) | {"of": table.of or None}
    del members["untouched"]
    return members


def _partition(place: PartitionRead) -> dict[str, Any]:
    members = asdict(place)
    del members["moments"]
    return members | {name: members[name] or None for name in ("watermark", "newest")}
