"""TiCDC's errors about changefeeds, with their codes and texts.

Source: tiflow v8.5.4 pkg/errors/cdc_errors.go.
"""

from __future__ import annotations

from simulator.errors import ChangefeedError, CodedError, SimulatorError

TEXTS = {
    "ErrAPIInvalidParam": "{}",
    "ErrChangeFeedAlreadyExists": "changefeed already exists, {}",
    "ErrChangeFeedNotExists": "changefeed not exists, {}",
    "ErrChangefeedUpdateRefused": "changefeed update error: {}",
    "ErrSnapshotLostByGC": (
        "fail to create or maintain changefeed due to snapshot loss caused by GC. checkpoint-ts {} is earlier than or "
        "equal to GC safepoint at {}"
    ),
    "ErrStartTsBeforeGC": (
        "fail to create or maintain changefeed because start-ts {} is earlier than or equal to GC safepoint at {}"
    ),
    "ErrTableIneligible": (
        "some tables are not eligible to replicate({}), if you want to ignore these tables, please set "
        "ignore_ineligible_table to true"
    ),
    "ErrTargetTsBeforeStartTs": "fail to create changefeed because target-ts {} is earlier than start-ts {}",
}


def changefeed_error(name: str, *values: object) -> ChangefeedError:
    """Return the error of that name in TEXTS; its code is `CDC:` and the name."""
    return ChangefeedError(TEXTS[name].format(*values), f"CDC:{name}")


def text_of(error: SimulatorError) -> str:
    """Return an error's text as TiCDC writes it: no blank stands behind the code."""
    return f"[{error.code}]{error.text}" if isinstance(error, CodedError) and error.code else str(error)
