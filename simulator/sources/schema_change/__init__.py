"""Tables whose definitions change between two snapshots: their rows as the statements leave them, and their row changes
in the definition of each change's time.

One law: a change stands before the statements exactly if its time does and the old definition can hold it, so that what
the statements then make of the row is what the change leads to.
"""

from simulator.sources.schema_change.altered import altered_rows
from simulator.sources.schema_change.row_changes import placed_row_changes, row_changes
from simulator.sources.schema_change.transition import SchemaChangePoint, Transition, cut_unaltered

__all__ = ["SchemaChangePoint", "Transition", "altered_rows", "cut_unaltered", "placed_row_changes", "row_changes"]
