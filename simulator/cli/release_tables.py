"""Releases as tables for people: lines, one release, two side by side.

One law: what is shown is read from the fields of Release and their metadata; a narrow screen gets the same words in
fewer columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from simulator.cli.terminal import Terminal
from simulator.releases.behaviour import Behaviour
from simulator.releases.compare import Difference, Line
from simulator.releases.release import Release, behaviours
from simulator.tidb.ddl.actions import ACTIONS

WIDE = 130
"""Columns of a screen that has room for everything side by side."""


def show_lines(lines: Sequence[Line]) -> None:
    """One line of text for each line of releases."""
    out = Terminal()
    for architecture, found in groupby(lines, lambda line: line.architecture):
        table = _table(Column("line", no_wrap=True), Column("releases", no_wrap=True), Column("behaviours change in"))
        for line in found:
            first, last = line.releases[0].name, line.releases[-1].name
            changes = ", ".join(f"{release.name} ({count})" for release, count in line.changes)
            table.add_row(line.name, first if first == last else f"{first} – {last}", changes or "–")
        out.print(Text(f"{architecture} architecture", style="bold"), table, "")
    out.print(
        "In parentheses: how many behaviours differ from the release before it; of the first release of a line, from"
        " the first of the line above. `ticdc-sim releases A` shows what A does, `ticdc-sim releases A B` what differs."
    )


def show_release(release: Release) -> None:
    """Every behaviour of a release."""
    out = Terminal()
    out.print(Text(f"TiCDC {title(release)}\n", style="bold"))
    for chapter, found in groupby(behaviours(), lambda one: one.chapter):
        out.print(_chapter(chapter), _release_table(out, release, list(found)), "")


def _release_table(out: Console, release: Release, found: list[Behaviour]) -> Table:
    wide = out.width >= WIDE
    table = _table(
        *(("behaviour", "value", "what it means", "where TiCDC decides it") if wide else ("behaviour", "what it means"))
    )
    for section, members in groupby(found, lambda one: one.section):
        _add_section(table, section)
        for one in members:
            name, value = Text(one.name, style="bold"), Text(in_words(one, getattr(release, one.name)))
            meaning, sources = Text(one.meaning), Text("\n".join(one.sources), style="dim")
            cells = (name, value, meaning, sources) if wide else (_under(name, value), _under(meaning, sources))
            table.add_row(*cells)
    return table


def show_differences(before: Release, after: Release, found: Sequence[Difference]) -> None:
    """What the second release does otherwise."""
    out = Terminal()
    on_the_wire = sum(one.behaviour.on_the_wire for one in found)
    several = "behaviour differs" if len(found) == 1 else "behaviours differ"
    count = f"{len(found)} {several}, {on_the_wire} on the wire" if found else "no behaviour differs"
    out.print(Text(f"TiCDC {title(before)} → {title(after)}: {count}", style="bold"))
    for chapter, members in groupby(found, lambda one: one.behaviour.chapter):
        sections = Counter(one.behaviour.section for one in members)
        out.print(Text(f"{chapter}: {', '.join(f'{name} ({number})' for name, number in sections.items())}"))
    out.print()
    for chapter, members in groupby(found, lambda one: one.behaviour.chapter):
        out.print(_chapter(chapter), _difference_table(out, before, after, list(members)), "")


def _difference_table(out: Console, before: Release, after: Release, found: list[Difference]) -> Table:
    wide, short = out.width >= WIDE, before.architecture == after.architecture
    names = [one.name if short else title(one) for one in (before, after)]
    limit = None if wide else max(10, out.width // 4)
    shown = [Column(name, overflow="fold", max_width=limit) for name in names]
    table = _table("behaviour", *shown, *(["what it means"] if wide else []))
    for section, members in groupby(found, lambda one: one.behaviour.section):
        _add_section(table, section)
        for one in members:
            name, meaning = Text(one.behaviour.name, style="bold"), Text(one.behaviour.meaning, style="dim")
            old, new = map(Text, _both(one))
            table.add_row(*((name, old, new, meaning) if wide else (_under(name, meaning), old, new)))
    return table


def title(release: Release) -> str:
    """`v8.5.4 (new)`."""
    return f"{release.name} ({release.architecture})"


def in_words(behaviour: Behaviour, value: object) -> str:
    """A value as people say it, with what its text says of it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, frozenset):
        return ", ".join(map(_member, sorted(value))) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    said = behaviour.means(str(value))
    return (f"{value}: {said}" if said else str(value)) or "none"


def _both(one: Difference) -> tuple[str, str]:
    """Both values; of sets their sizes, and what the second one adds and lacks."""
    if not isinstance(one.before, frozenset) or not isinstance(one.after, frozenset):
        return in_words(one.behaviour, one.before), in_words(one.behaviour, one.after)
    changes = (("added", one.added), ("removed", one.removed))
    said = [f"{name}: {', '.join(map(_member, members))}" for name, members in changes if members]
    return _count(one.before), "\n".join([_count(one.after), *said])


def _count(members: frozenset[object]) -> str:
    return "1 entry" if len(members) == 1 else f"{len(members)} entries"


def _member(value: object) -> str:
    """A member of a set; numbers are action types."""
    return f"{ACTIONS[value].text} ({value})" if isinstance(value, int) and value in ACTIONS else str(value)


def _table(*columns: Column | str) -> Table:
    """Words that are wider than their column go on in the next line; none is cut."""
    every = (Column(one, overflow="fold") if isinstance(one, str) else one for one in columns)
    return Table(*every, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=False)


def _add_section(table: Table, section: str) -> None:
    table.add_section()
    table.add_row(Text(section, style="bold cyan"))


def _chapter(name: str) -> Text:
    return Text(name.upper(), style="bold")


def _under(head: Text, rest: Text) -> Group:
    """Two texts in one cell, the second one indented."""
    return Group(head, *([Padding(rest, (0, 0, 0, 2))] if rest.plain else []))
