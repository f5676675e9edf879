"""A verification as JSON (docs/verify.md). Names and meanings do not change without a new `version`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from simulator.consumer.verify.verification import Failure, PartitionRead, Verification

VERSION = 1


def document(found: Verification) -> dict[str, Any]:
    """Return the whole document."""
    return {
        "version": VERSION,
        "verdict": found.verdict,
        "source": found.source or None,
        "against": found.against or None,
        "expected": found.expected or None,
        "started": f"{datetime.fromtimestamp(found.began, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "seconds": round(found.seconds, 3),
        "engine": found.engine,
        "watermark": found.watermark or None,
        "wanted_watermark": found.wanted or None,
        "records": found.records,
        "rows": found.rows,
        "wrong": found.wrong,
        "settings": {setting.name: {"value": setting.value, "told_by": setting.told_by} for setting in found.settings},
        "failures": [_failure(failure) for failure in found.failures],
        "compared": [asdict(table) | {"of": table.of or None} for table in found.compared],
        "tables": {name: dict(kinds) for name, kinds in found.tables.items()},
        "partitions": [_partition(place) for place in found.partitions],
        "not_checked": [asdict(each) for each in found.not_checked],
        "notes": list(found.notes),
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "check": failure.check,
        "point": failure.point,
        "says": failure.says,
        "of": failure.of or None,
        "count": failure.count,
        "tables": dict(failure.tables),
        "examples": [asdict(example) for example in failure.examples],
    }


def _partition(place: PartitionRead) -> dict[str, Any]:
    told = asdict(place)
    del told["moments"]
    return told | {name: told[name] or None for name in ("watermark", "newest")}
