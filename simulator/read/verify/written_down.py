"""What a consumer wrote down, held against the rows that it should have."""

from __future__ import annotations

from pathlib import Path

from simulator import tso
from simulator.errors import UserError, masked, shown
from simulator.read.replay.against import against
from simulator.read.replay.halves import Unreplayed
from simulator.read.replay.outcome import Outcome, outcome
from simulator.read.verify.asked import Asked
from simulator.read.verify.engine import engine_of, master_of
from simulator.read.verify.told import Told
from simulator.run.truth.about import TruthAbout
from simulator.sources import snapshots
from simulator.sources.snapshots import Snapshot

DATABASE = "jdbc:"


def written_down(asked: Asked, truth: TruthAbout | None, told: Told) -> tuple[Outcome, tuple[str, ...]]:
    """What differs, and what of the two was not compared; raises UserError for rows of another watermark."""
    place, right = asked.against or "", snapshots.open(str(asked.truth or asked.after))
    told.stage(f"comparing {name_of(place)}")
    found = snapshots.open(place)
    _check_watermark(asked.truth, truth, found)
    both = against(right, found)
    size = right.size + found.size
    batches = engine_of(master_of(asked.master, size), size)(
        both.sources, both.expected, asked.show, lambda value: None)
    return outcome(batches, both.timeline, both.expected, Unreplayed(), (), asked.show), both.notes


def name_of(place: str) -> str:
    """For people."""
    return masked(place) if place.startswith(DATABASE) else shown(place)


def _check_watermark(directory: Path | None, truth: TruthAbout | None, found: Snapshot) -> None:
    if truth is not None and found.start_ts is not None and found.start_ts != truth.watermark:
        raise UserError(
            f"{found.path} says that it is of {tso.describe(found.start_ts)}, and {directory} is the truth of "
            f"{tso.describe(truth.watermark)}: give the truth of the same watermark (--truth with --at "
            f"{found.start_ts} writes it)")
