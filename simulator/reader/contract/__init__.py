"""The contract between TiCDC and a consumer (docs/verify.md), checked on a recorded stream.

`checks` reads each partition once, in offset order. `across_partitions` compares the partition summaries.
"""

from __future__ import annotations
