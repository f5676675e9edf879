"""`ticdc-sim load` as it is, but into a sink that only counts.

python tests/benchmarks/load_into.py load --preset wide-124 --sink-uri ... --duration 20s
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.cli import main
from simulator.run import outputs
from simulator.run.outputs import Output
from simulator.ticdc.changefeed import Changefeed


class Counting(Output):
    """In place of Kafka."""

    def __init__(self, changefeed: Changefeed, topics: Iterable[str], **chosen: object) -> None:
        super().__init__(changefeed)


if __name__ == "__main__":
    outputs.KafkaOutput = Counting  # type: ignore[assignment, misc]
    main()
