"""What whole commands cost that play SQL, beside another installation of the program.

    python tests/benchmarks/stories.py [--beside OTHER/bin/ticdc-sim] [--rounds 3] [--case start mixed]

`start` is `run` of one statement; `mixed` has 3,000 INSERTs, 1,000 UPDATEs and 1,000 DELETEs of one row; `singles` 100,000
INSERTs of one row; `million` one INSERT of a million rows in 20 MB; the bulk cases change 100,000 rows with one statement
each, and count what they take more than the story before it. CPU seconds and peak memory are those of the process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import median

from measuring import PROGRAM, beside, in_turn, options
from start import run

TABLE = "CREATE TABLE item (id INT PRIMARY KEY, k INT, name VARCHAR(40), price DECIMAL(10,2), KEY (k));\n"
ROWS = 100_000


def _row(number: int) -> str:
    return f"({number}, {number % 97}, 'pen {number}', {number % 1000}.25)"


def _insert(first: int, last: int) -> str:
    return f"INSERT INTO item VALUES {', '.join(map(_row, range(first, last)))};\n"


def _mixed() -> Iterator[str]:
    yield from (_insert(number, number + 1) for number in range(3000))
    yield from (f"UPDATE item SET k = k + 1 WHERE id = {number};\n" for number in range(0, 3000, 3))
    yield from (f"DELETE FROM item WHERE id = {number};\n" for number in range(1, 3000, 3))


def _filled() -> Iterator[str]:
    yield from (_insert(first, first + 1000) for first in range(0, ROWS, 1000))


def _bulk(statement: str) -> Iterator[str]:
    yield from _filled()
    yield statement


STORIES: Mapping[str, Callable[[], Iterator[str]]] = {
    "start": lambda: iter(["INSERT INTO item VALUES (1, 1, 'pen', 2);\n"]),
    "mixed": _mixed,
    "singles": lambda: (_insert(number, number + 1) for number in range(ROWS)),
    "million": lambda: iter(
        [f"INSERT INTO item (id, k) VALUES {','.join(f'({n},{n % 97})' for n in range(10**6))};\n"]
    ),
    "filled": _filled,
    "INSERT … SELECT": partial(_bulk, f"INSERT INTO item SELECT id + {ROWS}, k, name, price FROM item;\n"),
    "UPDATE": partial(_bulk, "UPDATE item SET k = k + 1, name = CONCAT(name, 'x');\n"),
    "DELETE": partial(_bulk, "DELETE FROM item WHERE k < 90;\n"),
}
BASES = dict.fromkeys(("INSERT … SELECT", "UPDATE", "DELETE"), "filled")
"""The story that a bulk case begins with."""


def main() -> None:
    said = options(__doc__, {"case": STORIES}, case=("start", "mixed"), rounds=3, beside=str)
    programs = {"here": PROGRAM[0], **({"before": said.beside} if said.beside else {})}
    with tempfile.TemporaryDirectory() as name:
        directory, taken = Path(name), dict[str, dict[str, list[tuple[float, float, float]]]]()
        for case in dict.fromkeys([*(BASES[case] for case in said.case if case in BASES), *said.case]):
            story = directory / f"{case}.sql"
            story.write_text("".join([TABLE, *STORIES[case]()]))
            command = ["run", str(story), "--fixtures", str(directory / "out"), "--force", "--release", "v8.5.3"]
            taken[case] = in_turn(
                {each: partial(run, [path, *command], name) for each, path in programs.items()}, said.rounds
            )
            seconds = {each: [used[1] for used in rounds] for each, rounds in taken[case].items()}
            for each, rounds in taken[case].items():
                wall, cpu, megabytes = (median(part) for part in zip(*rounds, strict=True))
                more = cpu - median(used[1] for used in taken[BASES[case]][each]) if case in BASES else cpu
                print(
                    f"{case:16} {each:7} {cpu:7.2f} s of CPU ({more:.2f} of its own), {wall:7.2f} s, {megabytes:6.0f} MB"
                )
            if said.beside:
                print(f"{case:16} here / before {beside(seconds['here'], seconds['before']):.2f}", flush=True)


if __name__ == "__main__":
    main()
