"""Behaviours of row messages in all protocols."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.releases.behaviour import ON_THE_WIRE, section

ROWS = section(ON_THE_WIRE, "rows")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RowBehaviours:
    """Messages of rows in all protocols."""

    short_control_escapes: bool = field(
        metadata=ROWS(
            r"""Whether Open Protocol writes U+0008 and U+000C as `\b` and `\f` (%s from Go 1.22: classic 8.4+).""",
            "encoding/json",
        )
    )

    primary_is_unique: bool = field(
        metadata=ROWS(
            """Whether columns of the primary index also get the UniqueKey bit (classic before 7.5.2, and 7.6: %s).""",
            "cdc/model/schema_storage.go",
        )
    )

    float_widened: bool = field(
        metadata=ROWS(
            "Whether a FLOAT becomes a 64-bit number, with the digits that it has as one, in rows and dispatch hashes "
            "(4.0.6–6.1.5, 6.2–6.5.1, 6.6: %s); elsewhere it stays the 32-bit number.",
            "cdc/entry/mounter.go formatColVal",
        )
    )

    zerofill_bit: bool = field(
        metadata=ROWS(
            "Whether columns with ZEROFILL, and every YEAR, have the bit 0x100 in Open Protocol's `f` (6.5.6+ of 6.5 "
            "and 7.5.3+ of 7.5: %s).",
            "cdc/model/schema_storage.go initColumnsFlag",
        )
    )

    generated_get_key_bits: bool = field(
        metadata=ROWS(
            "Whether a generated column gets the bits of every index it is in (classic); elsewhere it keeps what "
            "TiDB's own column flags say (new: %s).",
            "pkg/sink/codec/open/message.go initColumnFlags",
        )
    )

    handle_may_be_virtual: bool = field(
        metadata=ROWS(
            "Whether a unique key with a virtual generated column may be the handle key (new 8.5.6–8.5.8: %s).",
            "pkg/common/table_info_helper.go initIndexColumns",
        )
    )

    handle_joins_unique: bool = field(
        metadata=ROWS(
            "Whether the handle key is a nonclustered primary key and the best unique key together, where the table "
            "has the unique key first (new 8.5.4, 9.0.0-beta.2: %s).",
            "pkg/common/table_info_helper.go initIndexColumns",
        )
    )

    update_without_old_value: bool = field(
        metadata=ROWS(
            "Whether enable-old-value = false leaves an UPDATE its new values alone (4.0.5 to 6.5.4, 6.6, 7.0 to "
            "7.1.1, 7.2, 7.3: %s, %s); elsewhere the old ones stay.",
            "cdc/entry/mounter.go",
            "cdc/processor/sinkmanager",
        )
    )

    delete_without_old_value: bool = field(
        metadata=ROWS(
            "Whether enable-old-value = false leaves a DELETE its handle key alone (4.0.5 to 6.6, 7.0, 7.1: %s, from "
            "6.5.3 and 7.1.1 %s).",
            "cdc/entry/mounter.go",
            "pkg/sink/codec/common/config.go",
        )
    )

    claim_check_by_row: bool = field(
        metadata=ROWS(
            "Whether claim-check's files are called by day and row, "
            "`{date}/{schema}-{table}-{commitTs}-{startTs}-{handle key}.json`, and messages say that name alone "
            "(7.3.0: %s); elsewhere they are called by UUIDs, and messages say the storage, too.",
            "pkg/sink/codec/common/message.go",
        )
    )
