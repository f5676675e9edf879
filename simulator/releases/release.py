"""A TiCDC release: a name, an architecture and one field for each observable behaviour.

The metadata of a field says in which releases it has which value, and where TiCDC implements it; `ticdc-sim releases`
shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache

from simulator.releases.avro import AvroBehaviours, AvroSchemaBehaviours
from simulator.releases.behaviour import Behaviour
from simulator.releases.checksums import ChecksumBehaviours
from simulator.releases.debezium import DebeziumBehaviours
from simulator.releases.maxwell import MaxwellBehaviours
from simulator.releases.messages import MessageBehaviours
from simulator.releases.rows import RowBehaviours
from simulator.releases.settings import SettingBehaviours
from simulator.releases.simple import SimpleBehaviours
from simulator.releases.statement_texts import StatementTextBehaviours
from simulator.releases.statements import StatementBehaviours
from simulator.releases.storage import StorageBehaviours


@dataclass(frozen=True, kw_only=True)
class Release(
    AvroSchemaBehaviours,
    ChecksumBehaviours,
    SimpleBehaviours,
    StorageBehaviours,
    SettingBehaviours,
    StatementBehaviours,
    StatementTextBehaviours,
    MessageBehaviours,
    MaxwellBehaviours,
    DebeziumBehaviours,
    AvroBehaviours,
    RowBehaviours,
):
    """The observable behaviours of one TiCDC release. Fields are in the order of the bases, the last base first."""

    name: str
    """Its tag: `v8.5.3`."""

    architecture: str
    """`classic` (pingcap/tiflow) or `new` (pingcap/ticdc); shown to users, no code depends on it."""

    @property
    def title(self) -> str:
        """The name for users: `v8.5.4 (new)`."""
        return f"{self.name} ({self.architecture})"

    @property
    def older_rows_differ(self) -> bool:
        """Whether old values of rows that are older than a column may be others than TiDB reads."""
        return self.older_rows != "typed" or self.older_timestamps_in_utc


@cache
def behaviours() -> tuple[Behaviour, ...]:
    """Return every field that is a behaviour, those on the wire first."""
    return tuple(replace(field.metadata["behaviour"], name=field.name) for field in fields(Release) if field.metadata)
