"""Whether a row change is sent, and the rule of the changefeed that decides.

One law: it asks the modules that the pipeline asks, in TiCDC's order: table filter, valid index, ignored transactions,
kinds of changes, values (tiflow v8.5.3: pkg/filter/filter.go ShouldIgnoreDMLEvent).
"""

from __future__ import annotations

from simulator.explain.change import RowChange
from simulator.explain.row import Sending, packed
from simulator.explain.rules import Rules
from simulator.ticdc.ddl.allow import eligible
from simulator.ticdc.filters.event_filters import ignoring_row, reads_values
from simulator.ticdc.filters.replication import filter_rule
from simulator.tidb.model.table import Table
from simulator.tso import BEFORE_COMMIT


def sending(table: Table, change: RowChange, rules: Rules) -> Sending:
    """What the filters make of a row change; its values are asked only where a rule looks at them."""
    name, kind = (table.schema, table.name), change.op.lower()
    passes = filter_rule(rules.replication, *name)
    if not rules.replication.table(*name):
        return Sending(False, passes)
    if not eligible(table, rules.changefeed.force_replicate):
        return Sending(False, "the table has no primary key and no unique key of NOT NULL columns, "
                              "and force-replicate is off")
    start_ts = change.commit_ts - BEFORE_COMMIT
    if start_ts in rules.replication.ignored_start_ts:
        return Sending(False, f"ignore-txn-start-ts has {start_ts}, when its transaction is taken to start")
    rule = ignoring_row(rules.event_filters, *name, kind)
    if rule is not None:
        return Sending(False, f"{rule.where}: ignore-event has {', '.join(sorted(rule.types))}")
    if any(reads_values(rule, table) for rule in rules.event_filters.rules):
        from simulator.ticdc.filters.row_expressions import ignoring_values  # MySQL's functions take long to import

        rule = ignoring_values(rules.event_filters, table, packed(change.before), packed(change.after))
        if rule is not None:
            return Sending(False, f"{rule.where}: an expression on the row's values holds")
    return Sending(True, passes)
