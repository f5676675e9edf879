"""One run: a command is started, harmed at a random moment, resumed until it is complete, and looked at."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from random import Random
from typing import ClassVar

from support.cut_short import count, of
from support.processes import kill, members

from cluster.faults import FAULTS, Fault, Harm
from cluster.machines import Machines
from cluster.results import Attempt, Outcome
from cluster.streams import PROGRAM, SECONDS, Read, Sent, call, verdict
from simulator.sinks.kafka.admin import delete_topics

LIMIT = 400.0
"""Seconds after which a command that has not ended hangs."""

ATTEMPTS = 5
LOOK = 0.05

EARLY = 0.2
"""Share of the faults that come before the first watermark is sent."""

FIRST_GUESS = 12.0
"""Seconds from the start to the first watermark, or to a verdict, before there was one."""

DEFECTS = (1, 2)
"""Exit codes of wrong streams and mistaken users, which there are none here."""


class Run:
    """A run of a command that `stream` describes."""

    usual: ClassVar[dict[type, float]] = {}
    """Seconds to the first watermark, or to the verdict, in the run before this one."""

    def __init__(self, machines: Machines, stream: Sent | Read, name: str, number: int, random: Random) -> None:
        self._machines, self._stream, self._random, self._number = machines, stream, random, number
        self.topic = name
        self.directory = machines.home / name
        self.directory.mkdir()
        self._checkpoint = machines.checkpoints / name
        self._harm: Harm | None = None
        self._began = self._struck = 0.0
        self._advances: list[float] = []
        """When watermarks advanced."""

        self._attempts: list[Attempt] = []

    def play(self, kind: str) -> Outcome:
        """The outcome; what it was played on is whole again."""
        self._began = time.monotonic()
        wrong = self._run(FAULTS[kind])
        ended = time.monotonic()
        first = self._advances[0] if self._advances else ended
        self.usual[type(self._stream)] = first - self._began
        self._undo()
        self._machines.mend([self.topic] if not wrong and isinstance(self._stream, Sent) else [])
        outcome = Outcome(
            what=self._harm.what if self._harm else "came too late",
            at=round(self._struck - self._began, 2) if self._struck else None,
            attempts=self._attempts,
            seconds=round(ended - self._began, 2),
            recovered=round(self._stalled(ended), 2) if self._struck else None,
            wrong=wrong,
        )
        if not wrong:
            self._look(outcome)
        if not outcome.wrong:
            shutil.rmtree(self.directory)
            delete_topics(self._machines.brokers.address, [self.topic])
        return outcome

    def _run(self, fault: Fault) -> str:
        """Run and resume until the command is complete; what is wrong with that."""
        moment = self._moment()
        for _ in range(ATTEMPTS):
            if self._harm and self._harm.ends_first:
                while self._harm.lasts > time.monotonic() - self._struck:
                    time.sleep(LOOK)
                self._undo()
            code, said = self._attempt(fault, moment)
            self._attempts.append(Attempt(code, said[-1] if said else ""))
            text = "\n".join(said)
            if code is None:
                return f"hangs: {text[-500:]}"
            full = "No space left on device" in text and self._harm is not None and self._harm.what.startswith("disk")
            mistaken = code in DEFECTS and isinstance(self._stream, Sent) and not full
            if "Traceback" in text or "defect of ticdc-sim" in text or mistaken:
                return f"ended with {code}: {text[-2000:]}"
            if code == 0 or (code == 1 and isinstance(self._stream, Read)):
                return ""
        return f"not complete after {ATTEMPTS} attempts"

    def _attempt(self, fault: Fault, moment: Iterator[bool]) -> tuple[int | None, list[str]]:
        """The exit code, None if it hung, and the lines of standard error."""
        command = [*self._stream.command(self.topic, self.directory, self._number), "--master", self._machines.url]
        if isinstance(self._stream, Sent):
            command += ["--checkpoint", self._checkpoint]
            command += ["--resume"] if (self._checkpoint / "checkpoint.json").exists() else []
        out, err = (self.directory / name for name in ("out", f"err-{len(self._attempts)}"))
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                [*PROGRAM, *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        limit, position = time.monotonic() + LIMIT, self._position()
        try:
            while process.poll() is None and time.monotonic() < limit:
                if self._harm is None and next(moment):
                    self._harm = fault(self._random, self._machines, process.pid)
                    self._struck = time.monotonic() if self._harm else 0.0
                if self._harm and time.monotonic() - self._struck > self._harm.lasts:
                    self._undo()
                before, position = position, self._position()
                if before and position not in ("", before):  # the first one is where the run begins
                    self._advances.append(time.monotonic())
                time.sleep(LOOK)
            code = process.poll()
        finally:
            kill(members(process.pid))
            process.wait()
        lines = err.read_text("utf-8", "replace").splitlines()
        return code, [line for line in lines if line.strip() and not line.endswith(" …")]

    def _moment(self) -> Iterator[bool]:
        """Whether the moment has come, asked again and again while the command runs."""
        share, early = self._random.random(), self._random.random() < EARLY
        began = self._began
        if isinstance(self._stream, Read) or early:
            wait = share * self.usual.get(type(self._stream), FIRST_GUESS)
        else:
            while not self._advances:
                yield False
            began, wait = time.monotonic(), share * (SECONDS - 3)
        while True:
            yield time.monotonic() - began > wait

    def _undo(self) -> None:
        if self._harm is not None:
            self._harm.undo()
            self._harm = Harm(self._harm.what)

    def _position(self) -> str:
        """The checkpoint's watermark."""
        with suppress(OSError):
            return str(json.loads((self._checkpoint / "checkpoint.json").read_text())["watermark"])
        return ""

    def _stalled(self, ended: float) -> float:
        """The longest time without a new watermark since the fault; of a verification, until the verdict."""
        if isinstance(self._stream, Read):
            return ended - self._struck
        times = [self._struck, *(each for each in self._advances if each > self._struck), ended]
        return max(later - earlier for earlier, later in zip(times, times[1:]))

    def _look(self, outcome: Outcome) -> None:
        """Compare what came out with what should have, by two programs that share nothing."""
        if isinstance(self._stream, Read):
            found = verdict((self.directory / "out").read_text())
            if found != self._stream.expected[self._number % 2]:
                outcome.wrong = f"another verdict: {json.dumps(found)[:2000]}"
            return
        source = f"kafka://{self._machines.brokers.address}/{self.topic}"
        truth = self.directory / "truth"
        # A load lasts so long by the clock: one that stood still comes less far.
        last = int(json.loads((truth / "truth.json").read_text())["watermark"])
        expected = [message for message in self._stream.expected if message.commit_ts <= last]
        outcome.counts = asdict(count(of(source), expected))
        command = "verify", source, "--truth", truth, "--json", "--master", "none"
        found = verdict(call(*command, codes=(0, 1)))
        if found["verdict"] != "right":
            outcome.wrong = f"verify: {found['verdict']}: {json.dumps(found['failures'])[:2000]}"
        elif any(outcome.counts[name] for name in ("lost", "misordered", "again_below")):
            outcome.wrong = "verify is content with it"
