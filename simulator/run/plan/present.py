"""The replicated tables that there are when a changefeed starts, or starts again from a checkpoint."""

from __future__ import annotations

from simulator.run.plan import Plan
from simulator.tidb.ddl.catalog import object_key


def present_tables(plan: Plan, since: int = 0) -> tuple[int, ...]:
    """Return the physical tables at a checkpoint, 0 for the start of the plan, as indexes of `plan.tables`."""
    first = plan.positions[0]
    catalogs = [first.catalog, *(job.applied.after for job in plan.jobs if job.commit_ts <= since)]
    last, found = since or first.start_ts, dict[tuple[str, str], tuple[int, ...]]()
    for place in plan.places:
        name = object_key(place.table.schema, place.table.name)
        if name in catalogs[-1].tables and plan.tables[place.indexes[0]].snapshot_version <= last:
            found[name] = place.indexes
    return tuple(index for indexes in found.values() for index in indexes)
