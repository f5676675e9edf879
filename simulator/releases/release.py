"""What a TiCDC release is to the rest: a name, an architecture and observable behaviours, one field each.

One law: a field names what a consumer or an operator can see, and its metadata says where TiCDC decides it, as
`ticdc-sim releases` shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache

from simulator.releases.behaviour import Behaviour
from simulator.releases.messages import Messages
from simulator.releases.rows import Rows
from simulator.releases.settings import Settings
from simulator.releases.sql import Sql
from simulator.releases.statements import Statements


@dataclass(frozen=True)
class Release(Settings, Sql, Statements, Messages, Rows):
    """The observable behaviours of one TiCDC release: its fields come in the order of the bases, the last one first."""

    name: str
    """Its tag: `v8.5.3`."""

    architecture: str
    """`classic` (pingcap/tiflow) or `new` (pingcap/ticdc); for people, nothing is decided by it."""

    @property
    def title(self) -> str:
        """For people: `v8.5.4 (new)`."""
        return f"{self.name} ({self.architecture})"


@cache
def behaviours() -> tuple[Behaviour, ...]:
    """Every field that is a behaviour, what is on the wire first."""
    return tuple(replace(field.metadata["behaviour"], name=field.name) for field in fields(Release) if field.metadata)
