"""`ticdc-sim load` as it is, but into a sink that only counts.

python tests/benchmarks/load_into.py load --preset wide-124 --sink-uri ... --duration 20s
"""

from __future__ import annotations

from simulator.cli import main
from simulator.run import outputs
from simulator.run.outputs import Output
from simulator.run.plan import Plan
from simulator.ticdc.changefeed import Changefeed


def counting(plan: Plan, changefeed: Changefeed, prepared_batches: bool = True, driver: str = "") -> Output:
    """In place of Kafka."""
    return outputs.to_nowhere(plan, changefeed)


if __name__ == "__main__":
    outputs.to_kafka = counting
    main()
