"""Tables whose definitions change between two snapshots: their rows as the statements leave them, and their row changes
in the definition of each change's time.

One law: a change stands before the statements exactly if its time does and the old definition can say it, so that what
the statements then make of the row is what the change leads to.
"""

from simulator.sources.schema_change.events import events
from simulator.sources.schema_change.model import Transition, Turn
from simulator.sources.schema_change.prior import prior

__all__ = ["Transition", "Turn", "events", "prior"]
