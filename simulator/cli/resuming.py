"""The options `--checkpoint` and `--resume` of `diff` and `run`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simulator.cli.run_report import Display
from simulator.cli.sending import check_checkpoint
from simulator.errors import DeliveryError, UserError
from simulator.run import checkpoint
from simulator.run.checkpoint import CheckpointWriter
from simulator.run.execute import PlannedRun
from simulator.run.plan import Plan
from simulator.signals import Stopped
from simulator.ticdc.changefeed import Changefeed


def check(options: Mapping[str, Any]) -> None:
    """Check that the options fit each other and the output; raises UserError."""
    check_checkpoint(options)
    if options["resume"] and options["checkpoint"] is None:
        raise UserError("--resume goes on where a run with --checkpoint DIR ended: give that directory, too")


def check_plan(options: Mapping[str, Any], planned: Plan) -> None:
    """Check that a checkpoint can hold the progress of the plan, which has no faults then; raises UserError."""
    if options["checkpoint"] is not None and planned.faults:
        name = planned.faults[0].name
        raise UserError(
            f"--checkpoint does not go with faults (the scenario has {name!r}): what one has done so far is nowhere "
            "written down; without --checkpoint it plays"
        )


@contextmanager
def with_checkpoint(
    options: Mapping[str, Any], planned_run: PlannedRun, changefeed: Changefeed, display: Display
) -> Iterator[CheckpointWriter | None]:
    """Yield the checkpoint writer of the run, or None without `--checkpoint`; a run that ends early says how to resume.

    Raises UserError if there is a checkpoint of another run, or none to resume from.
    """
    directory: Path | None = options["checkpoint"]
    if directory is None:
        yield None
        return
    display.stage("looking at what the run is, for --checkpoint")
    try:
        run = checkpoint.identity(
            planned_run.plan, planned_run.seed, planned_run.release, changefeed, planned_run.output.destinations
        )
    except OSError as error:
        raise UserError(f"cannot read {error.filename}: {error.strerror or error}") from error
    checkpoint_writer = CheckpointWriter.open(directory, run, planned_run.plan, options["resume"])
    try:
        yield checkpoint_writer
    except DeliveryError as error:
        raise DeliveryError(*error.args, checkpoint_writer.resume_hint) from error
    except Stopped:
        display.error(checkpoint_writer.resume_hint)
        raise
    finally:
        checkpoint_writer.file.close()
