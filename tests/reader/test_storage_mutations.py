"""`verify` of tampered files on storage: each file, each line of a schema file and each field of a row is mutated.

A mutant must be WRONG, or the verification must name what it cannot prove, unless ALLOWED says why TiCDC's contract
allows it. Many mutants are in one storage, each a table or a row of its own beside right ones. So one verification judges
all of them, by the files, tables and rows that it names.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.mutant_forms import to_json
from support.mutants import FieldChange, changed, field_changes, generic

from simulator import TiCDC
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import Verification

Files = Mapping[str, bytes]
"""Content by path."""

OLD_VALUES = "[sink.csv]\ninclude-commit-ts = true\noutput-old-value = true\n"
FORMS = {
    "csv": ("v8.5.3", "csv", OLD_VALUES),
    "canal-json": ("v8.5.3", "canal-json&enable-tidb-extension=true", None),
    "index last": ("new:v8.5.7", "csv", OLD_VALUES),
}
GARBAGE = b"\x00garbage\xff\n"
FIRST, ROWS = 100, 200
"""Keys of the rows of the table of which single rows are mutated."""

ALLOWED = {
    "rows twice": "rows above a checkpoint come again, where a table moves even in the same file",
    ": ts one more": "the wall clock of TiCDC when it built the message",
    ": ts negated": "the wall clock of TiCDC",
    "commitTs one more": "it is told of the table: one of its rows has another commit-ts",
}
"""Mutants that need not be named, by the end of their names, with the reason."""


# -- what TiCDC writes -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """A storage and its truth."""

    directory: Path

    def of_table(self, table: str) -> Files:
        """The files of a table, and of its truth."""
        found = [*self.directory.rglob(f"*{table}*/**/*.*"), *(self.directory / "truth").glob(f"*.{table}[.-]*")]
        paths = [path for path in found if path.is_file()]
        return {str(path.relative_to(self.directory)): path.read_bytes() for path in sorted(paths)}

    def write(self, files: Files) -> None:
        for path, content in files.items():
            (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / path).write_bytes(content)

    def write_tables(self, tables: Mapping[str, Files]) -> None:
        """Write copies of t000, and tell the truth of them."""
        for files in tables.values():
            self.write(files)
        path = self.directory / "truth/truth.json"
        truth = json.loads(path.read_text())
        truth["rows"] |= {f"shop.{table}": truth["rows"]["shop.t000"] for table in tables}
        path.write_text(json.dumps(truth))

    def verified(self) -> Verification:
        truth = self.directory / "truth"
        return verify(VerifyOptions(str(self.directory / "out"), truth=truth, master="none", show=100_000))


Writes = Callable[..., Written]


@pytest.fixture
def writes(tmp_path: Path) -> Writes:
    """Executes SQL, and waits for a flush after each text."""

    def writes(form: str, *texts: str) -> Written:
        release, protocol, config = FORMS[form]
        uri = f"{(tmp_path / 'out').as_uri()}?protocol={protocol}&flush-interval=2s"
        with TiCDC(release, sink_uri=uri, config=config, databases=("shop",)) as ticdc:
            for text in texts:
                ticdc.execute(text)
                ticdc.wait("3s")
            ticdc.truth(tmp_path / "truth")
        return Written(tmp_path)

    return writes


TABLE = "CREATE TABLE shop.{} (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10, 2) NOT NULL)"


def renamed(files: Files, table: str) -> dict[str, bytes]:
    """Files of t000 as those of another table with a name of that length, with checksums that fit as before."""
    named = {}
    for path, content in files.items():
        name, text = path.replace("t000", table), content.replace(b"t000", table.encode())
        if "/meta/schema_" in path and with_checksum(path, content) == path:
            name = with_checksum(name, text)
        named[name] = text
    return named


def with_checksum(path: str, content: bytes) -> str:
    """The path that a schema file with that content has (tiflow v8.5: pkg/sink/cloudstorage/table_definition.go)."""
    try:
        document = json.loads(content)
        columns = sorted(document["TableColumns"] or [], key=lambda column: str(column["ColumnName"]))
        covered = {"Table": document["Table"], "Schema": document["Schema"], "Version": 0, "TableColumns": columns}
        text = json.dumps({**covered, "TableColumnsTotal": document["TableColumnsTotal"]}, indent=4)
    except (ValueError, KeyError):
        return ""
    return re.sub(r"_\d+\.json$", f"_{zlib.crc32(text.encode()):010d}.json", path)


def named_in(verification: Verification) -> list[str]:
    """All that a verification says to be wrong or not proved."""
    said = [f"{each.what} {each.why}" for each in verification.not_checked]
    for failure in verification.failures:
        said += failure.tables
        said += (f"{each.topic} {each.at} {each.what} {each.table}" for each in failure.examples)
    return said


def unnamed_tables(written: Written, mutants: Callable[[Files], Iterable[tuple[str, Files]]]) -> list[str]:
    """Write each mutant of t000 as a table of its own; return those that a verification does not name."""
    files = written.of_table("t000")
    own = {path: content for path, content in files.items() if path.startswith("out/")}
    truth = {path: content for path, content in files.items() if path not in own}
    mutated = {f"t{number:03}": mutant for number, mutant in enumerate(mutants(own), 1)}
    written.write_tables({table: renamed({**truth, **its}, table) for table, (_, its) in mutated.items()})

    named = {table for text in named_in(written.verified()) for table in re.findall(r"shop[./](t\d{3})", text)}
    assert "t000" not in named, "the right table is right"
    return [said for table, (said, _) in mutated.items() if table not in named and not said.endswith(tuple(ALLOWED))]


# -- files -----------------------------------------------------------------------------------------------------------


def without(files: Files, *paths: str) -> Files:
    return {each: content for each, content in files.items() if each not in paths}


def moved(files: Files, path: str, to: str) -> Files:
    return {**without(files, path), to: files[path]}


def file_mutants(files: Files, mutated: Callable[[str], bool]) -> Iterator[tuple[str, Files]]:
    """Each file deleted, emptied, cut, doubled, swapped with the next one, with garbage."""
    paths = sorted(files)
    for path, other in zip(paths, [*paths[1:], paths[0]], strict=True):
        if not mutated(path):
            continue
        name, content = path.rpartition("/")[2], files[path]
        yield f"{name} deleted", without(files, path)
        yield f"{name} doubled", {**files, next_path(path): content}
        yield f"{name} swapped with {other}", {**files, path: files[other], other: content}
        for what, other_content in {
            "emptied": b"",
            "cut": content[: len(content) // 2],
            "cut by a byte": content[:-1],
            "replaced by garbage": GARBAGE,
            "with garbage inside": content[:9] + GARBAGE + content[9:],
            f"with its {'rows' if 'CDC0' in name else 'content'} twice": content * 2,
        }.items():
            yield f"{name} {what}", {**files, path: other_content}


def next_path(path: str) -> str:
    """The path of the next file of that kind: with the next number, of a later version."""
    directory, _, name = path.rpartition("/")
    if name == "CDC.index":
        return f"{directory}/CDC2.index"
    if name.startswith("schema_"):
        return re.sub(r"(?<=schema_)\d+", lambda match: str(int(match[0]) + 1), path)
    return re.sub(r"\d+(?=\.\w+$)", f"{3:020d}", path)


def name_mutants(files: Files) -> Iterator[tuple[str, Files]]:
    """Paths that do not fit TiCDC's layout with these settings, and indexes that do not fit the files."""
    first, rows = sorted(path for path in files if re.search(r"CDC\d+\.", path))
    directory, _, name = rows.rpartition("/")
    extension, version = name.rpartition(".")[2], directory.rpartition("/")[0]
    for what, to in {
        "a date of another form": f"{version}/2025-01/{name}",
        "no date": f"{version}/{name}",
        "a file index of another width": f"{directory}/CDC000002.{extension}",
        "another extension": rows.removesuffix(extension) + "json",
        "a dispatcher in the name": f"{directory}/CDC_12_{name[3:]}",
        "a number that is left out": f"{directory}/CDC{4:020d}.{extension}",
        "no number": f"{directory}/CDC.{extension}",
        "a version without a schema file": re.sub(r"/\d{18}/", "/455000000000000001/", rows),
    }.items():
        yield what, moved(files, rows, to)
    yield "two partitions", {**files, f"{version}/77/78/2025-01-01/{name}": files[rows]}
    yield "a number 0", {**files, f"{directory}/CDC{0:020d}.{extension}": files[first]}
    for what, date in (("another date", "1999-12-31"), ("the next day", "2025-01-02")):
        yield what, {path.replace("/2025-01-01/", f"/{date}/"): content for path, content in files.items()}
    yield "no files of rows", without(files, first, rows)
    index = f"{directory}/meta/CDC.index"
    yield "an index beside the rows", moved(files, index, f"{directory}/CDC.index")
    for said in ("CDC2", f"CDC{9:020d}", f"CDC{3:020d}", f"CDC{1:020d}"):
        yield f"an index of {said}", {**files, index: f"{said}.{extension}\n".encode()}
    yield "an index of another extension", {**files, index: f"CDC{2:020d}.txt\n".encode()}


MUTATED = {
    "csv": lambda path: True,
    "canal-json": lambda path: "CDC0" in path,
    "index last": lambda path: "CDC.index" in path,
}
"""The files that are mutated: others are as in CSV."""


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_each_tampered_file_is_named(writes: Writes, form: str) -> None:
    written = writes(
        form,
        f"{TABLE.format('t000')}; INSERT INTO shop.t000 VALUES (1, 'pen', 2.50), (2, NULL, 3)",
        "UPDATE shop.t000 SET price = 4 WHERE id = 1; DELETE FROM shop.t000 WHERE id = 2",
    )
    right = written.verified()
    assert right.verdict == "right" and not named_in(right)

    def mutants(files: Files) -> Iterator[tuple[str, Files]]:
        yield from file_mutants(files, MUTATED[form])
        yield from () if form == "canal-json" else name_mutants(files)

    assert unnamed_tables(written, mutants) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "metadata it is not there, and nothing tells up to where the files are complete"),
        (b"", """it says ''; {"checkpoint-ts":N} is accepted"""),
        (b'{"checkpoint-ts":', "is accepted"),
        (b'{"checkpoint-ts":"455000632594792448"}', "is accepted"),
        (GARBAGE, "is accepted"),
        (b'{"checkpoint-ts":455000614500000000}', "the rows that are expected the stream does not reach them yet"),
        (b'{"checkpoint-ts":499000000000000000}', "the run of the truth ended at"),
    ],
)
def test_a_tampered_checkpoint_is_named(writes: Writes, content: bytes | None, said: str) -> None:
    """Missing, garbage, behind and ahead of the data."""
    written = writes("csv", f"{TABLE.format('t000')}; INSERT INTO shop.t000 VALUES (1, 'pen', 2.50)")
    path = written.directory / "out/metadata"
    path.unlink() if content is None else path.write_bytes(content)

    verification = written.verified()

    assert [text for text in named_in(verification) if said in text]
    damaged = [failure for failure in verification.failures if failure.check == "file-damaged"]
    assert bool(damaged) == ("accepted" in said) and all(failure.count == 1 for failure in damaged)


# -- schema files ----------------------------------------------------------------------------------------------------


def schema_mutants(files: Files) -> Iterator[tuple[str, Files]]:
    """Each line of the schema file dropped, doubled, changed; its name stays. Then other columns with a checksum that
    fits, and with a statement that fits, too."""
    ((path, content),) = ((path, content) for path, content in files.items() if "/meta/" in path)
    lines = content.split(b"\n")
    for number, line in enumerate(lines):
        for what, others in (("dropped", []), ("doubled", [line, line]), ("changed", [other_line(line)])):
            mutated = b"\n".join([*lines[:number], *others, *lines[number + 1 :]])
            yield f"line {number}, {line.decode().strip()[:30]}, {what}", {**files, path: mutated}
    for what, (old, new, old_query, new_query) in OTHER_COLUMNS.items():
        other = content.decode().replace(old, new, 1)
        other = other.replace('Total": 3', 'Total": 2') if what == "a column less" else other
        for name, remade in (("columns", other), ("all", other.replace(old_query, new_query, 1))):
            own = {**without(files, path), with_checksum(path, remade.encode()): remade.encode()}
            yield f"{what}: {name} re-made", own


def other_line(line: bytes) -> bytes:
    """A line with another value."""
    if number := re.fullmatch(rb'(.*": )(\d+)(,?)', line):
        return number[1] + str(int(number[2]) + 1).encode() + number[3]
    text = re.fullmatch(rb'(.*": "[^"]*)(",?)', line)
    return text[1] + b"x" + text[2] if text else line + b" "


MORE = """        },
        {
            "ColumnName": "more",
            "ColumnType": "INT",
            "ColumnPrecision": "11"
        }
    ],
    "TableColumnsTotal": 4"""
NAME = """        {
            "ColumnName": "name",
            "ColumnType": "VARCHAR",
            "ColumnPrecision": "20"
        },
"""
OTHER_COLUMNS = {
    "DECIMAL(10,4)": ('"ColumnScale": "2"', '"ColumnScale": "4"', "DECIMAL(10,2)", "DECIMAL(10,4)"),
    "DECIMAL(12,2)": ('"ColumnPrecision": "10"', '"ColumnPrecision": "12"', "DECIMAL(10,2)", "DECIMAL(12,2)"),
    "BIGINT": ('"ColumnType": "INT"', '"ColumnType": "BIGINT"', "`id` INT ", "`id` BIGINT "),
    "no PRIMARY KEY": (',\n            "ColumnIsPk": "true"', "", " PRIMARY KEY", " NOT NULL"),
    "NULL": ('"2",\n            "ColumnNullable": "false"', '"2"', " NOT NULL", ""),
    "another name of a column": ('"name"', '"nome"', "`name`", "`nome`"),
    "another column": ('        }\n    ],\n    "TableColumnsTotal": 3', MORE, " NOT NULL)", " NOT NULL,`more` INT)"),
    "a column less": (NAME, "", "`name` VARCHAR(20),", ""),
    "another table": ('"Table": "t000"', '"Table": "other"', "`t000`", "`other`"),
    "another database": ('"Schema": "shop"', '"Schema": "other"', "`shop`", "`other`"),
}
"""In columns and in the statement: a text and what it becomes."""


@pytest.mark.slow
def test_each_tampered_schema_file_is_named(writes: Writes) -> None:
    assert unnamed_tables(writes("csv", TABLE.format("t000")), schema_mutants) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"ticdc-meta$operation", b"operation"),
        (b",name", b""),
        (b",name", b",nome"),
        (b"ticdc-meta$operation,ticdc-meta$table,ticdc-meta$schema,ticdc-meta$commit-ts,id,name,price\r\n", b""),
    ],
)
def test_a_tampered_header_is_named(tmp_path: Path, old: bytes, new: bytes) -> None:
    config = "[sink.csv]\ninclude-commit-ts = true\noutput-field-header = true\n"
    uri = f"{(tmp_path / 'out').as_uri()}?protocol=csv"
    with TiCDC("new:v8.5.7", sink_uri=uri, config=config, databases=("shop",)) as ticdc:
        ticdc.execute(f"{TABLE.format('t000')}; INSERT INTO shop.t000 VALUES (1, 'pen', 2), (2, 'ink', 3)")
        ticdc.truth(tmp_path / "truth")
    written = Written(tmp_path)
    assert written.verified().verdict == "right"
    (path,) = (tmp_path / "out").rglob("CDC0*.csv")
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))

    assert [text for text in named_in(written.verified()) if ".csv:1 its header" in text]


# -- rows ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowMutant:
    """A line with another text."""

    said: str
    line: int
    text: bytes
    key: int

    @property
    def event_line(self) -> int:
        """The line by which its event is named: of an UPDATE the second one."""
        return self.line + self.said.startswith('"D" is-update true')


def each_field(**others: Callable[[bytes], bytes]) -> dict[str, Callable[[bytes], list[bytes]]]:
    changes: dict[str, Callable[[bytes], list[bytes]]] = {
        "dropped": lambda cell: [],
        "doubled": lambda cell: [cell] * 2,
    }
    return changes | {what: lambda cell, change=change: [change(cell)] for what, change in others.items()}


FIELDS = {
    "operation": each_field(changed=lambda cell: b'"D"' if cell == b'"I"' else b'"I"', odd=lambda cell: b'"X"'),
    "table": each_field(changed=lambda cell: b'"other"', bare=lambda cell: cell.strip(b'"')),
    "schema": each_field(changed=lambda cell: b'"test"'),
    "commit-ts": each_field(low=lambda cell: cell[:-1], text=lambda cell: b"now", high=lambda cell: b"9" + cell[1:]),
    "is-update": each_field(changed=lambda cell: b"true" if cell == b"false" else b"false", odd=lambda cell: b"1"),
    "id": each_field(
        changed=lambda cell: b"9" + cell,
        null=lambda cell: b"\\N",
        quoted=lambda cell: b'"%b"' % cell,
        zero=lambda cell: b"0" + cell,
    ),
    "name": each_field(
        changed=lambda cell: b'"other"',
        null=lambda cell: b"\\N",
        bare=lambda cell: cell.strip(b'"'),
        blank=lambda cell: cell + b" ",
    ),
    "price": each_field(
        changed=lambda cell: b'"7.00"',
        null=lambda cell: b"\\N",
        bare=lambda cell: cell.strip(b'"'),
        short=lambda cell: cell.replace(b'0"', b'"'),
    ),
}


def csv_mutants(lines: Sequence[bytes]) -> Iterator[RowMutant]:
    """Each field dropped, doubled, changed, in a row of its own; an UPDATE has two sides."""
    keys = iter(range(FIRST, FIRST + ROWS))
    for side in range(1 + (lines[0].split(b",")[4] == b"true")):
        for place, (name, changes) in enumerate(FIELDS.items()):
            for what, change in changes.items():
                key = next(keys)
                line = next(at for at, text in enumerate(lines) if b",%d," % key in text) + side
                cells = lines[line].split(b",")
                text = b",".join([*cells[:place], *change(cells[place]), *cells[place + 1 :]])
                yield RowMutant(f"{cells[0].decode()} is-update {cells[4].decode()}: {name} {what}", line, text, key)


ELSEWHERE = re.compile(r"data\.\[\] emptied|.*\.\[\]\.id null|.*\.\[\]\.(id|price) (longer|emptied)")
"""What is no value, after which a table is not replayed."""


def json_mutants(lines: Sequence[bytes]) -> Iterator[RowMutant]:
    """Each member changed, in a row of its own; and lines that are no row."""
    form = json.loads(lines[0])
    texts = {"cut": lines[0][:99], "empty": b"", "no object": b"[]", "garbage": GARBAGE}
    named = ((f"{generic(change.path)} {change.what}", change) for change in field_changes(form))
    mutants: list[tuple[str, FieldChange | bytes]] = [each for each in named if not ELSEWHERE.fullmatch(each[0])]
    for key, (said, mutated) in enumerate([*mutants, *((f"line {what}", text) for what, text in texts.items())], FIRST):
        line = next(at for at, text in enumerate(lines) if b'"id":"%d"' % key in text)
        row = json.loads(lines[line])
        text = mutated if isinstance(mutated, bytes) else to_json(changed(row, mutated)) or b""
        if text != lines[line]:
            yield RowMutant(f"{form['type']}: {said}", line, text, key)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "canal-json"])
def test_each_tampered_row_is_named(writes: Writes, form: str) -> None:
    values = ", ".join(f"({key}, 'pen', 2.50)" for key in range(FIRST, FIRST + ROWS))
    written = writes(
        form,
        f"{TABLE.format('many')}; INSERT INTO shop.many VALUES {values}",
        "UPDATE shop.many SET name = 'ink', price = 4",
        "DELETE FROM shop.many",
    )
    files = {path: text for path, text in written.of_table("many").items() if re.search(r"/CDC\d+\.", path)}
    unnamed = []
    for path, content in files.items():
        lines = content.split(b"\r\n")
        mutants = list((csv_mutants if form == "csv" else json_mutants)(lines))
        for mutant in mutants:
            lines[mutant.line] = mutant.text
        written.write({**files, path: b"\r\n".join(lines)})

        said = "\n".join(named_in(written.verified()))

        name = re.escape(path.removeprefix("out/"))
        unnamed += [
            f"{name}: {mutant.said}"
            for mutant in mutants
            if not re.search(rf"row 9?{mutant.key}\b|{name}:({mutant.line + 1}|{mutant.event_line + 1})\b", said)
            and not mutant.said.endswith(tuple(ALLOWED))
        ]
    assert len(files) == 3 and unnamed == []


@pytest.mark.parametrize("member", ["Table", "Schema"])
def test_a_schema_file_of_another_database_is_wrong(writes: Writes, member: str) -> None:
    """Even with a checksum that fits its content."""
    written = writes("csv", "CREATE DATABASE more")
    (path,) = (written.directory / "out/more/meta").glob("schema_*.json")
    content = re.sub(rf'"{member}": "\w*"'.encode(), f'"{member}": "other"'.encode(), path.read_bytes())
    path.unlink()
    written.write({with_checksum(str(path), content): content})

    assert "file-damaged" in {failure.check for failure in written.verified().failures}


def test_a_text_that_is_no_value_is_wrong(writes: Writes) -> None:
    """Though the rows of its table cannot be replayed then."""
    written = writes("csv", f"{TABLE.format('t000')}; INSERT INTO shop.t000 VALUES (1, 'pen', 2.50)")
    (path,) = written.directory.rglob("CDC0*.csv")
    path.write_bytes(path.read_bytes().replace(b",1,", b",+1,"))

    assert "message-different" in {failure.check for failure in written.verified().failures}
