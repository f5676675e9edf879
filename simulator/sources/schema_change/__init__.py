"""Tables whose definition changes between two snapshots: their rows after the statements, and their row changes in the
definition of each change's time.

A change precedes the statements exactly if its time does and the old definition can hold it. The statements then turn
the row into the result of the change.
"""

from simulator.sources.schema_change.row_changes import placed_row_changes
from simulator.sources.schema_change.transition import SchemaChangePoint, Transition, altered_rows, cut_unaltered

__all__ = ["SchemaChangePoint", "Transition", "altered_rows", "cut_unaltered", "placed_row_changes"]
