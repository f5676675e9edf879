"""`verify` of tampered files on storage: each file, each field of a row and each line of a schema file is mutated.

A mutant must be WRONG, or the verification must name what it cannot prove, unless ALLOWED says why TiCDC's contract allows
it. Mutants are tables of one storage beside a right one: copies of a table that TiCDC has written, each mutated once. So
one verification judges all of them, by the files, tables and rows that it names.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest

from simulator import TiCDC
from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.verification import Verification

Files = Mapping[str, bytes]
"""Content by path."""

Mutation = Callable[[Files], Files]

FORMS = {
    "csv": ("v8.5.3", "csv", "[sink.csv]\ninclude-commit-ts = true\noutput-old-value = true\n"),
    "canal-json": ("v8.5.3", "canal-json&enable-tidb-extension=true", None),
    "index last": ("new:v8.5.7", "csv", "[sink.csv]\ninclude-commit-ts = true\noutput-old-value = true\n"),
}
GARBAGE = b"\x00garbage\xff\n"
ROWS = 60
"""Rows of the table of which single rows are mutated."""

ALLOWED = {
    "commit-ts 1 more": "no message and no truth tells the commit-ts of a row; one that keeps the order may be right",
}


# -- what TiCDC wrote ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """A storage and its truth."""

    directory: Path

    @property
    def files(self) -> Files:
        return {str(path.relative_to(self.directory)): path.read_bytes() for path in self._paths()}

    def of_table(self, table: str) -> Files:
        """The files of a table, and of its truth."""
        return {path: text for path, text in self.files.items() if re.search(rf"[/.]{table}[/.-]", path)}

    def write(self, files: Files) -> None:
        for path, content in files.items():
            (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / path).write_bytes(content)

    def verified(self) -> Verification:
        truth = self.directory / "truth"
        return verify(VerifyOptions(str(self.directory / "out"), truth=truth, master="none", show=100_000))

    def _paths(self) -> Iterator[Path]:
        return (path for path in self.directory.rglob("*") if path.is_file())


@pytest.fixture(params=FORMS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Written:
    """A table t000 in several files and versions, and one with many rows."""
    release, protocol, config = FORMS[request.param]
    uri = f"{(tmp_path / 'out').as_uri()}?protocol={protocol}&flush-interval=2s"
    with TiCDC(release, sink_uri=uri, config=config, databases=("shop",)) as ticdc:
        ticdc.execute("CREATE TABLE shop.t000 (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10, 2) NOT NULL)")
        ticdc.execute("CREATE TABLE shop.many (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10, 2) NOT NULL)")
        ticdc.execute("INSERT INTO shop.t000 VALUES (1, 'pen', 2.50), (2, NULL, 3)")
        values = ", ".join(f"({number}, 'pen', 2.50)" for number in range(100, 100 + ROWS))
        ticdc.execute(f"INSERT INTO shop.many VALUES {values}")
        ticdc.wait("3s")
        ticdc.execute("UPDATE shop.t000 SET price = 4 WHERE id = 1; INSERT INTO shop.t000 VALUES (3, 'cup', 1)")
        ticdc.execute("UPDATE shop.many SET name = 'ink', price = 4")
        ticdc.wait("3s")
        ticdc.execute("DELETE FROM shop.t000 WHERE id = 2; DELETE FROM shop.many")
        ticdc.wait("3s")
        ticdc.truth(tmp_path / "truth")
    return Written(tmp_path)


def renamed(files: Files, table: str) -> Files:
    """The files of t000 as those of another table with a name of that length."""
    named = {}
    for path, content in files.items():
        path, content = path.replace("t000", table), content.replace(b"t000", table.encode())
        named[with_checksum(path, content) if "/meta/schema_" in path else path] = content
    return named


def with_checksum(path: str, content: bytes) -> str:
    """The path that a schema file with that content has (tiflow: pkg/sink/cloudstorage/table_definition.go)."""
    document = json.loads(content)
    columns = sorted(document["TableColumns"], key=lambda column: column["ColumnName"])
    covered = {"Table": document["Table"], "Schema": document["Schema"], "Version": 0, "TableColumns": columns}
    text = json.dumps({**covered, "TableColumnsTotal": document["TableColumnsTotal"]}, indent=4)
    return re.sub(r"_\d+\.json$", f"_{zlib.crc32(text.encode()):010d}.json", path)


# -- mutants of files ------------------------------------------------------------------------------------------------


def without(path: str) -> Mutation:
    return lambda files: {each: content for each, content in files.items() if each != path}


def changed(path: str, change: Callable[[bytes], bytes]) -> Mutation:
    return lambda files: {**files, path: change(files[path])}


def moved(path: str, to: str) -> Mutation:
    return lambda files: {(to if each == path else each): content for each, content in files.items()}


def copied(path: str, to: str) -> Mutation:
    return lambda files: {**files, to: files[path]}


def swapped(path: str, other: str) -> Mutation:
    return lambda files: {**files, path: files[other], other: files[path]}


def file_mutants(files: Files) -> Iterator[tuple[str, Mutation]]:
    """Each file deleted, emptied, cut, doubled, swapped with the next one, with garbage."""
    paths = sorted(path for path in files if path.startswith("out/"))
    for path, other in zip(paths, [*paths[1:], paths[0]]):
        name = path.rpartition("/")[2]
        yield f"{name} deleted", without(path)
        yield f"{name} emptied", changed(path, lambda content: b"")
        yield f"{name} cut", changed(path, lambda content: content[: len(content) // 2])
        yield f"{name} cut by a byte", changed(path, lambda content: content[:-1])
        yield f"{name} garbage", changed(path, lambda content: GARBAGE)
        yield f"{name} garbage inside", changed(path, lambda content: content[:9] + GARBAGE + content[9:])
        yield f"{name} doubled", copied(path, next_name(path))
        yield f"{name} content doubled", changed(path, lambda content: content + content)
        yield f"{name} swapped", swapped(path, other)


def next_name(path: str) -> str:
    """The path of the next file of that kind: behind the last one, of a later version."""
    directory, _, name = path.rpartition("/")
    if name == "CDC.index":
        return f"{directory}/CDC2.index"
    if name.startswith("schema_"):
        return re.sub(r"(?<=schema_)\d+", lambda match: str(int(match[0]) + 1), path)
    return re.sub(r"\d+(?=\.\w+$)", lambda match: f"{4:0{len(match[0])}d}", path)


def name_mutants(files: Files) -> Iterator[tuple[str, Mutation]]:
    """Paths that do not fit TiCDC's layout with these settings."""
    rows = sorted(path for path in files if re.search(r"CDC\d+\.", path))[-1]
    directory, _, name = rows.rpartition("/")
    upper = directory.rpartition("/")[0]
    extension = name.rpartition(".")[2]
    yield "a date of another form", moved(rows, f"{upper}/2025-01/{name}")
    yield "no date", moved(rows, f"{upper}/{name}")
    yield "two partitions", copied(rows, f"{upper}/77/78/2025-01-01/{name}")
    yield "another width", moved(rows, f"{directory}/CDC000003.{extension}")
    yield "another extension", moved(rows, rows.replace(f".{extension}", ".csv" if extension == "json" else ".json"))
    yield "a dispatcher in the name", moved(rows, f"{directory}/CDC_12_{name[3:]}")
    yield "no number", moved(rows, f"{directory}/CDC.{extension}")
    yield "a version without a schema file", moved(rows, re.sub(r"/\d{18}/", "/455000000000000001/", rows))
    index = f"{directory}/meta/CDC.index"
    yield "an index beside the rows", moved(index, f"{directory}/CDC.index")
    for text in ("CDC3.csv\n", f"CDC{9:020d}.{extension}\n", f"CDC{1:020d}.{extension}\n", f"CDC{2:020d}.txt\n"):
        yield f"an index of {text!r}", changed(index, lambda content, text=text: text.encode())
    yield "two files less", lambda files: without(rows.replace("3.", "2."))(without(rows)(files))


# -- mutants of schema files -----------------------------------------------------------------------------------------


def schema_path(files: Files) -> str:
    return next(path for path in files if "/meta/schema_" in path)


def line_mutants(files: Files) -> Iterator[tuple[str, Mutation]]:
    """Each line of a schema file dropped, doubled, changed; names and checksum stay."""
    path = schema_path(files)
    lines = files[path].split(b"\n")
    for number, line in enumerate(lines):
        said = f"line {number} of the schema file, {line.decode().strip()[:30]},"
        for what, others in (("dropped", []), ("doubled", [line, line]), ("changed", [other_line(line)])):
            mutated = b"\n".join([*lines[:number], *others, *lines[number + 1 :]])
            yield f"{said} {what}", changed(path, lambda content, mutated=mutated: mutated)


def other_line(line: bytes) -> bytes:
    """A line with another value."""
    if match := re.fullmatch(rb'(.*": )(\d+)(,?)', line):
        return match[1] + str(int(match[2]) + 1).encode() + match[3]
    if match := re.fullmatch(rb'(.*": "[^"]*)(")(,?)', line):
        return match[1] + b'x"' + match[3]
    return line + b" "


REMADE = {
    "DECIMAL(10,4)": ('"ColumnScale": "2"', '"ColumnScale": "4"'),
    "DECIMAL(12,2)": ('"ColumnPrecision": "10"', '"ColumnPrecision": "12"'),
    "BIGINT": ('"ColumnType": "INT"', '"ColumnType": "BIGINT"'),
    "no PRIMARY KEY": (',\n            "ColumnIsPk": "true"', ""),
    "NULL": (
        '"ColumnScale": "2",\n            "ColumnNullable": "false"',
        '"ColumnScale": "2"',
    ),
    "another name of a column": ('"ColumnName": "name"', '"ColumnName": "nome"'),
    "another column": (
        '    ],\n    "TableColumnsTotal": 3',
        '    ],\n    "TableColumnsTotal": 4',
    ),
    "a column less": (
        '        {\n            "ColumnName": "name",\n            "ColumnType": "VARCHAR",\n'
        '            "ColumnPrecision": "20"\n        },\n',
        "",
    ),
}
IN_QUERY = {
    "DECIMAL(10,4)": ("DECIMAL(10,2)", "DECIMAL(10,4)"),
    "DECIMAL(12,2)": ("DECIMAL(10,2)", "DECIMAL(12,2)"),
    "BIGINT": ("`id` INT ", "`id` BIGINT "),
    "no PRIMARY KEY": (" PRIMARY KEY", " NOT NULL"),
    "NULL": (" NOT NULL", ""),
    "another name of a column": ("`name`", "`nome`"),
    "another column": (" NOT NULL)", " NOT NULL,`more` INT)"),
    "a column less": ("`name` VARCHAR(20),", ""),
}


def remade_mutants(files: Files) -> Iterator[tuple[str, Mutation]]:
    """Other columns with a checksum that fits, and with a statement that fits, too."""
    path = schema_path(files)
    text = files[path].decode()
    more = '        },\n        {\n            "ColumnName": "more",\n            "ColumnType": "INT",\n'
    more += '            "ColumnPrecision": "11"\n        }\n'
    for what, (old, new) in REMADE.items():
        other = text.replace(old, new, 1)
        if what == "another column":
            other = other.replace("        }\n    ]", more + "    ]")
        other = other.replace('Total": 3', 'Total": 2') if what == "a column less" else other
        for query in (False, True):
            remade = other.replace(*IN_QUERY[what], 1) if query else other
            assert remade != text and (not query or remade != other)
            to = with_checksum(path, remade.encode())
            yield (
                f"{what}, checksum {'and statement ' * query}re-made",
                lambda files, to=to, remade=remade: {**without(path)(files), to: remade.encode()},
            )


# -- mutants of rows -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowMutant:
    """A row of `many` with another text."""

    name: str
    path: str
    line: int
    text: bytes
    key: int


def csv_row_mutants(path: str, lines: list[bytes], keys: Iterator[int]) -> Iterator[RowMutant]:
    """Each field of the first row of a file dropped, doubled, changed, in rows of their own."""
    form = lines[0].split(b",")
    sides = 2 if form[4] == b"true" else 1
    for side in range(sides):
        for place, name in enumerate(("operation", "table", "schema", "commit-ts", "is-update", "id", "name", "price")):
            for what, change in CHANGES[name].items():
                key = next(keys)
                line = next(at for at, text in enumerate(lines) if b",%d," % key in text) + side
                cells = lines[line].split(b",")
                mutated = [*cells[:place], *change(cells[place]), *cells[place + 1 :]]
                said = f"{cells[0].decode()}, is-update {cells[4].decode()}: {name} {what}"
                yield RowMutant(said, path, line, b",".join(mutated), key)


def dropped_or_doubled(**others: Callable[[bytes], bytes]) -> dict[str, Callable[[bytes], list[bytes]]]:
    changes: dict[str, Callable[[bytes], list[bytes]]] = {"dropped": lambda cell: [], "doubled": lambda cell: [cell, cell]}
    for what, change in others.items():
        changes[what] = lambda cell, change=change: [change(cell)]
    return changes


CHANGES = {
    "operation": dropped_or_doubled(changed=lambda cell: b'"D"' if cell == b'"I"' else b'"I"', odd=lambda cell: b'"X"'),
    "table": dropped_or_doubled(changed=lambda cell: b'"t000"'),
    "schema": dropped_or_doubled(changed=lambda cell: b'"test"'),
    "commit-ts": dropped_or_doubled(lower=lambda cell: cell[:-1], text=lambda cell: b"now", beyond=lambda cell: b"9" + cell[1:]),
    "is-update": dropped_or_doubled(changed=lambda cell: b"true" if cell == b"false" else b"false", odd=lambda cell: b"1"),
    "id": dropped_or_doubled(changed=lambda cell: b"9" + cell, null=lambda cell: b"\\N"),
    "name": dropped_or_doubled(changed=lambda cell: b'"other"', null=lambda cell: b"\\N"),
    "price": dropped_or_doubled(changed=lambda cell: b'"7.00"'),
}


def json_row_mutants(path: str, lines: list[bytes], keys: Iterator[int]) -> Iterator[RowMutant]:
    """Each column of data and old, and what says the table and time of a row, dropped, added, changed."""
    form = json.loads(lines[0])

    def mutants() -> Iterator[tuple[str, Callable[[dict], object]]]:
        for member in ("data", *(["old"] if form["old"] else [])):
            for column in form["data"][0]:
                if member == "data":
                    yield f"{member} without {column}", lambda row, m=member, c=column: row[m][0].pop(c)
                yield f"{member} another {column}", lambda row, m=member, c=column: row[m][0].update({c: "7"})
                yield f"{member} twice {column}", lambda row, m=member, c=column: row[m][0].update({c + "2": "7"})
            yield f"{member} gone", lambda row, m=member: row.pop(m)
            yield f"{member} empty", lambda row, m=member: row.update({m: []})
            yield f"{member} null", lambda row, m=member: row.update({m: None})
        for member, value in (("database", "test"), ("table", "t000"), ("type", "TRUNCATE"), ("isDdl", True)):
            yield f"{member} {value}", lambda row, m=member, v=value: row.update({m: v})
            yield f"{member} gone", lambda row, m=member: row.pop(m)
        other = "INSERT" if form["type"] == "DELETE" else "DELETE"
        yield f"type {other}", lambda row: row.update(type=other)
        yield "no _tidb", lambda row: row.pop("_tidb")
        yield "no commitTs", lambda row: row["_tidb"].pop("commitTs")
        yield "commitTs a text", lambda row: row["_tidb"].update(commitTs="x")
        yield "a lower commitTs", lambda row: row["_tidb"].update(commitTs=row["_tidb"]["commitTs"] // 2)
        yield "a commitTs beyond", lambda row: row["_tidb"].update(commitTs=9 * 10**17)

    for said, mutate in mutants():
        key = next(keys)
        line = next(at for at, text in enumerate(lines) if b'"id":"%d"' % key in text)
        row = json.loads(lines[line])
        mutate(row)
        yield RowMutant(f"{form['type']}: {said}", path, line, json.dumps(row, separators=(",", ":")).encode(), key)
    for said, text in (("cut", lines[0][: len(lines[0]) // 2]), ("empty", b""), ("no object", b"[]"), ("garbage", GARBAGE[:-1])):
        key = next(keys)
        line = next(at for at, each in enumerate(lines) if b'"id":"%d"' % key in each)
        yield RowMutant(f"{form['type']}: line {said}", path, line, text, key)


# -- verdicts --------------------------------------------------------------------------------------------------------


def named_in(verification: Verification) -> list[str]:
    """All that a verification says to be wrong or not proved."""
    said = [f"{each.what} {each.why}" for each in verification.not_checked]
    for failure in verification.failures:
        said += failure.tables
        said += (f"{each.topic} {each.at} {each.what} {each.table}" for each in failure.examples)
    return said


def test_each_tampered_file_is_named(written: Written) -> None:
    """Deleted, emptied, cut, doubled, swapped and damaged files, schema files with other lines or other columns."""
    assert written.verified().verdict == "right" and not named_in(written.verified())
    files = written.of_table("t000")
    mutants = {}
    for number, (said, mutate) in enumerate(
        (*file_mutants(files), *name_mutants(files), *line_mutants(files), *remade_mutants(files)), 1
    ):
        table = f"t{number:03d}"
        mutated = mutate(files)
        if mutated is None or mutated == files:
            continue
        mutants[table] = said
        path = schema_path(files)
        own = renamed({each: files[each] for each in files}, table)
        paths = dict(zip(files, own))
        # what the mutation left alone is renamed with its checksum, the rest as text
        written.write({
            paths[each] if each in paths and each != path else rename_path(each, path, paths, table, content, files): content.replace(b"t000", table.encode())
            for each, content in mutated.items()
        })
    truth = json.loads((written.directory / "truth/truth.json").read_text())
    truth["rows"] |= {f"shop.{table}": truth["rows"]["shop.t000"] for table in mutants}
    (written.directory / "truth/truth.json").write_text(json.dumps(truth))

    said = named_in(written.verified())

    named = {match for text in said for match in re.findall(r"shop[./](t\d{3})", text)}
    assert "t000" not in named
    for table in sorted(mutants.keys() - named): print('SURV', mutants[table])
    assert sorted(mutants[table] for table in mutants.keys() - named) == []


def rename_path(each: str, path: str, paths: Mapping[str, str], table: str, content: bytes, files: Files) -> str:
    """The path of a schema file of a mutant: with the checksum of its own content if the mutation re-made it."""
    name = each.replace("t000", table)
    if "/meta/schema_" not in each:
        return name
    if each == path:
        return paths[path]
    original = re.search(r"_(\d{10})\.json$", paths[path])
    if re.search(r"_\d{10}\.json$", each)[0] == re.search(r"_\d{10}\.json$", path)[0]:
        return re.sub(r"_\d{10}\.json$", f"_{original[1]}.json", name)
    return with_checksum(name, content.replace(b"t000", table.encode()))


def test_each_tampered_row_is_named(written: Written) -> None:
    """Fields of rows dropped, doubled, changed."""
    files = {path: text for path, text in written.of_table("many").items() if re.search(r"/CDC\d+\.", path)}
    mutants: list[RowMutant] = []
    contents = {path: text.split(b"\r\n") for path, text in files.items()}
    keys_of = {}
    for path, lines in sorted(contents.items()):
        keys = iter(range(100, 100 + ROWS))
        of_rows = csv_row_mutants if path.endswith(".csv") else json_row_mutants
        mutants.append(list(of_rows(path, lines, keys)))
    lost = []
    for of_file in mutants:
        for mutant in of_file:
            contents[mutant.path][mutant.line] = mutant.text
    for path, lines in contents.items():
        pass
    result = []
    for of_file in mutants:
        path = of_file[0].path
        lines = files[path].split(b"\r\n")
        for mutant in of_file:
            lines[mutant.line] = mutant.text
        written.write({**files, path: b"\r\n".join(lines)})
        said = named_in(written.verified())
        text = "\n".join(said)
        for mutant in of_file:
            if not re.search(rf"\b9?{mutant.key}\b", text) and f":{mutant.line + 1} " not in text:
                result.append(mutant.name)
    written.write(files)
    for r in result: print('SURV', r)
    assert result == []
