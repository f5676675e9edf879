"""Behaviours of messages in Maxwell's format, which classic TiCDC has from 4.0.6 on."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

MAXWELL = section(ON_THE_WIRE, "rows and statements in Maxwell", "maxwell")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MaxwellBehaviours:
    """Messages in Maxwell's format."""

    maxwell_lengths: bool = MAXWELL(
        "Whether Maxwell has lengths before its keys and values, all old values, and texts in base64; not simulated",
        "cdc/sink/codec/maxwell.go AppendRowChangedEvent",
        when="4.0–4.0.9",
    )
    maxwell_batches: bool = MAXWELL(
        "Whether the rows of a flush that have one partition key share a message in Maxwell, one object after "
        "the other and however many; before, each row is a message",
        "pkg/sink/codec/maxwell/maxwell_encoder.go Build",
        when="6.0+; new",
    )
    maxwell_crashes_on_databases: bool = MAXWELL(
        "Whether TiCDC crashes in Maxwell at a statement on a database, which has no table",
        "pkg/sink/codec/maxwell/maxwell_message.go ddlEventToMaxwellMsg",
        when="6.4+; new",
    )
