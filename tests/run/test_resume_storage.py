"""A run to a storage that is killed at any of its files, and goes on: nothing is lost, no file is overwritten."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.cut_short import killed_at

from simulator import releases
from simulator.engines import in_process
from simulator.errors import DeliveryError, UserError
from simulator.reader.storage.directory import open_directory
from simulator.reader.storage.events import FileEvent, events
from simulator.run import checkpoint, outputs, plan, scenario
from simulator.run.checkpoint import CheckpointWriter
from simulator.run.execute import PlannedRun
from simulator.settings import Settings
from simulator.sinks.records import require_delivered
from simulator.ticdc.changefeed import load

STORY = """
CREATE DATABASE shop;
CREATE TABLE shop.item (id INT PRIMARY KEY, stock INT);
CREATE TABLE shop.sale (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2;
INSERT INTO shop.item VALUES (1, 5), (2, 6);
INSERT INTO shop.sale VALUES (1), (2);
UPDATE shop.item SET stock = 4 WHERE id = 1;
ALTER TABLE shop.item ADD COLUMN price INT;
INSERT INTO shop.item VALUES (3, 7, 1);
TRUNCATE TABLE shop.sale;
INSERT INTO shop.sale VALUES (4);
"""


FILES_BEFORE_INDEX = 7
"""All up to the first file of rows."""


class Story:
    """A scenario in the files of a release."""

    def __init__(self, home: Path, release: str, directory: str = "out") -> None:
        kind, _, name = release.rpartition(":")
        self.release, self.home, self.out = releases.find(name, kind or None), home, home / directory
        uri = f"{self.out.as_uri()}?protocol=canal-json&enable-tidb-extension=true&flush-interval=2s"
        self.changefeed = load(uri, "", self.release)
        (home / "story.sql").write_text(STORY)
        script = scenario.load(home / "story.sql").run_spec(Settings(resolved_interval_ms=6))
        self.plan = plan.plan(script, self.changefeed, self.release)

    def play(self, resume: bool = False) -> None:
        output = outputs.StorageOutput(self.changefeed, self.release).for_plan(self.plan)
        run = checkpoint.identity(self.plan, 0, self.release, self.changefeed, output.destinations)
        writer = CheckpointWriter.open(self.home / "stands", run, self.plan, resume)
        try:
            result = PlannedRun(self.plan, output, self.release).send(in_process.run, writer)
            require_delivered(result.delivered)
            writer.file.end()
        finally:
            writer.file.close()

    def files(self) -> dict[str, bytes]:
        """The files of rows."""
        return {str(path): path.read_bytes() for path in self.out.rglob("CDC*.json")}

    def events(self) -> Counter[str]:
        """All rows and statements, and the checkpoint."""
        read: list[FileEvent] = list(events(open_directory(str(self.out))))
        assert not [each for each in read if isinstance(each.event, UserError)]
        return Counter(repr(each.event) for each in read if "TableSchema" not in repr(each.event))


@pytest.mark.slow
@pytest.mark.parametrize("release", ["v6.5.0", "v6.5.2", "v8.5.3", "new:v8.5.7"])
def test_a_killed_run_goes_on_in_the_next_files(tmp_path: Path, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (whole := Story(tmp_path, release, "whole")).play()
    expected, again = whole.events(), 0
    files = sum(1 for path in whole.out.rglob("*") if path.is_file())
    for number in range(4, files, 2):
        story = Story(tmp_path, release, f"killed at {number}")
        with killed_at(monkeypatch, number):
            story.play()
        before = story.files()
        story.play(resume=True)

        found = story.events()
        assert found.keys() == expected.keys()
        assert before.items() <= story.files().items(), "no file is overwritten"
        again += found.total() - expected.total()
    assert again


@pytest.mark.parametrize("release", ["new:v8.5.5", "new:v8.5.6"])
def test_new_8_5_5_overwrites_and_8_5_6_hangs(tmp_path: Path, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the first file of rows and before its index."""
    story = Story(tmp_path, release)
    with killed_at(monkeypatch, FILES_BEFORE_INDEX):
        story.play()
    assert len(story.files()) == 1 and not [*story.out.rglob("*.index")]
    if release == "new:v8.5.5":
        story.play(resume=True)
        assert max(story.events().values()) == 1
        return
    with pytest.raises(DeliveryError, match=r"TiCDC v8.5.6 hangs: .* has CDC0*1.json, which its index does not name"):
        story.play(resume=True)


def test_a_run_goes_on_in_its_own_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(tmp_path, "v8.5.3")
    with killed_at(monkeypatch, 3):
        story.play()
    with pytest.raises(UserError, match="is of another run: sink-uri was file://.*/out.*, now it is file://.*/other"):
        Story(tmp_path, "v8.5.3", "other").play(resume=True)
