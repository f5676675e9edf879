"""The command `releases`: prints the behaviours of a release, or the differences of two, as tables or as JSON.

A narrow screen gets the same words in fewer columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from simulator.cli.output import show_json, show_lines, warn
from simulator.cli.terminal import Terminal
from simulator.errors import UserError
from simulator.limits import counted
from simulator.releases import (
    Release,
    ReleaseDifference,
    ReleaseLine,
    describe_releases,
    described,
    differences,
    has_protocol,
    lines,
    parse_release,
)
from simulator.releases.behaviour import ANY, Behaviour, Features
from simulator.tidb.ddl import Action

if TYPE_CHECKING:
    from simulator.explain.examples import SelectedExample

WIDE = 130
"""Columns of a screen that has room for everything side by side."""


def releases(
    first: str | None,
    second: str | None,
    architecture: str | None,
    protocol: str | None,
    sink_uri: str | None,
    config: Path | None,
    as_json: bool,
    examples: bool = False,
) -> None:
    """Print all lines of releases, all behaviours of one release, or the differences of two, perhaps with examples.

    With a protocol, a sink-uri or a changefeed.toml those behaviours that concern such a changefeed.
    """
    if examples and second is None:
        raise UserError("--examples needs two releases: ticdc-sim releases A B --examples")
    chosen = [parse_release(name, architecture) for name in (first, second) if name is not None]
    features = _features(protocol, sink_uri, config, chosen)
    document: dict[str, Any] = {} if features == ANY else {"changefeed": _changefeed(features)}
    if not chosen:
        release_lines = lines(architecture, features)
        document |= {"lines": [_line(line) for line in release_lines]}
        show = partial(show_lines_of_releases, release_lines, features)
    elif len(chosen) == 1:
        document |= _release(chosen[0], features)
        show = partial(show_release, chosen[0], features)
    else:
        before, after = chosen
        changed = differences(before, after, features)
        document |= _comparison(before, after, changed)
        show = partial(show_differences, before, after, changed, features)
        if examples:
            document = _with_examples(document, before, after, changed)
            show = partial(show_examples, before, after, changed)
    if as_json:
        show_json(document)
    else:
        show()


def _features(protocol: str | None, sink_uri: str | None, config: Path | None, chosen: Sequence[Release]) -> Features:
    """Return what is known of the changefeed; raise UserError if none of the releases has its protocol."""
    if protocol is None and sink_uri is None and config is None:
        return ANY
    from simulator.ticdc.changefeed.protocols import changefeed_features  # imports Arrow

    features, warnings = changefeed_features(protocol, sink_uri, config)
    warn(warnings)
    if chosen and not any(has_protocol(release, features) for release in chosen):
        names = " and ".join(dict.fromkeys(release.title for release in chosen))
        since = describe_releases(chosen[-1], lambda release: has_protocol(release, features))
        exists = f"; {chosen[-1].architecture} has it {since}" if since else ""
        raise UserError(f"TiCDC {names}: there is no protocol {features.protocol}{exists}")
    return features


def _changefeed(features: Features) -> dict[str, Any]:
    settings = None if features.settings is None else sorted(features.settings)
    return {"protocol": features.protocol or None, "sink": features.sink or None, "settings": settings}


def _show_restriction(out: Console, features: Features) -> None:
    """Print which behaviours are shown, if not all are."""
    if features == ANY:
        return
    to = {"kafka": " to Kafka", "storage": " to a storage", "": ""}[features.sink]
    settings = "" if features.settings is None else " with the settings that were given"
    out.print(f"Only what concerns {features.protocol or 'a changefeed'}{to}{settings}.")


def _line(line: ReleaseLine) -> dict[str, Any]:
    return {
        "architecture": line.architecture,
        "line": line.name,
        "releases": [release.name for release in line.releases],
        "changes": [{"release": release.name, "behaviours": count} for release, count in line.changes],
    }


def _release(release: Release, features: Features) -> dict[str, Any]:
    every = [_behaviour(one) | {"value": _plain(value)} for one, (value,) in described(features, release)]
    return _name(release) | {"behaviours": every}


def _comparison(before: Release, after: Release, changed: tuple[ReleaseDifference, ...]) -> dict[str, Any]:
    return {"from": _name(before), "to": _name(after), "differences": list(map(_difference, changed))}


def _with_examples(
    document: dict[str, Any], before: Release, after: Release, changed: tuple[ReleaseDifference, ...]
) -> dict[str, Any]:
    """Return the document with an example of each difference on the wire."""
    from simulator.explain.examples import example_as_dict

    return document | {
        "differences": [
            member | {"example": example_as_dict(example) if example else None}
            if difference.behaviour.on_the_wire
            else member
            for member, (difference, example) in zip(
                document["differences"], _examples(before, after, changed), strict=True
            )
        ]
    }


def _examples(
    before: Release, after: Release, changed: Iterable[ReleaseDifference]
) -> Iterator[tuple[ReleaseDifference, SelectedExample | None]]:
    from simulator.explain.examples import select_example

    for difference in changed:
        yield difference, select_example(difference, before, after) if difference.behaviour.on_the_wire else None


def _difference(difference: ReleaseDifference) -> dict[str, Any]:
    shown = _behaviour(difference.behaviour) | {"from": _plain(difference.before), "to": _plain(difference.after)}
    sets = {"added": difference.added, "removed": difference.removed} if isinstance(difference.after, frozenset) else {}
    return shown | sets


def _behaviour(behaviour: Behaviour) -> dict[str, Any]:
    return {
        "name": behaviour.name,
        "chapter": behaviour.chapter,
        "section": behaviour.section,
        "on_the_wire": behaviour.on_the_wire,
        "meaning": behaviour.meaning,
        "documentation": behaviour.documentation,
        "releases": [{"value": _plain(value), "ranges": ranges} for ranges, value in behaviour.ranges],
        "sources": list(behaviour.sources),
    }


def _name(release: Release) -> dict[str, Any]:
    return {"release": release.name, "architecture": release.architecture}


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, Set) else value


def show_lines_of_releases(lines: Sequence[ReleaseLine], features: Features = ANY) -> None:
    """Print a table of the lines of releases."""
    out = Terminal()
    _show_restriction(out, features)
    for architecture, group in groupby(lines, lambda line: line.architecture):
        table = _table(Column("line", no_wrap=True), Column("releases", no_wrap=True), Column("behaviours change in"))
        for line in group:
            first, last = line.releases[0].name, line.releases[-1].name
            changes = ", ".join(f"{release.name} ({count})" for release, count in line.changes)
            table.add_row(line.name, first if first == last else f"{first} – {last}", changes or "–")
        out.print(Text(f"{architecture} architecture", style="bold"), table, "")
    out.print(
        "In parentheses: how many behaviours differ from the release before it; of the first release of a line, from"
        " the first of the line above. `ticdc-sim releases A` shows what A does, `ticdc-sim releases A B` what differs."
    )


def show_release(release: Release, features: Features = ANY) -> None:
    """Print every behaviour of a release that concerns a changefeed."""
    out = Terminal()
    out.print(Text(f"TiCDC {release.title}", style="bold"))
    _show_restriction(out, features)
    out.print()
    every = ((behaviour, value) for behaviour, (value,) in described(features, release))
    for chapter, group in groupby(every, lambda pair: pair[0].chapter):
        out.print(_chapter(chapter), _release_table(out, list(group)), "")


def _release_table(out: Console, every: list[tuple[Behaviour, object]]) -> Table:
    wide = out.width >= WIDE
    table = _table(
        *(("behaviour", "value", "what it means", "where TiCDC decides it") if wide else ("behaviour", "what it means"))
    )
    for section, members in groupby(every, lambda pair: pair[0].section):
        _add_section(table, section)
        for behaviour, found in members:
            name, value = Text(behaviour.name, style="bold"), Text(in_words(behaviour, found))
            meaning, sources = Text(behaviour.meaning), Text("\n".join(behaviour.sources), style="dim")
            cells = (name, value, meaning, sources) if wide else (_under(name, value), _under(meaning, sources))
            table.add_row(*cells)
    return table


def show_differences(
    before: Release, after: Release, differences: Sequence[ReleaseDifference], features: Features = ANY
) -> None:
    """Print the differences of two releases."""
    out = Terminal()
    on_the_wire = sum(difference.behaviour.on_the_wire for difference in differences)
    several = "behaviour differs" if len(differences) == 1 else "behaviours differ"
    count = f"{len(differences)} {several}, {on_the_wire} on the wire" if differences else "no behaviour differs"
    out.print(Text(f"TiCDC {before.title} → {after.title}: {count}", style="bold"))
    _show_restriction(out, features)
    for chapter, members in groupby(differences, lambda difference: difference.behaviour.chapter):
        sections = Counter(difference.behaviour.section for difference in members)
        out.print(Text(f"{chapter}: {', '.join(f'{name} ({number})' for name, number in sections.items())}"))
    out.print()
    for chapter, members in groupby(differences, lambda difference: difference.behaviour.chapter):
        out.print(_chapter(chapter), _difference_table(out, before, after, list(members)), "")


def show_examples(before: Release, after: Release, changed: Sequence[ReleaseDifference]) -> None:
    """Print an event for each difference on the wire, as both releases encode it."""
    from simulator.explain.examples import example_lines

    names = (before.name, after.name) if before.name != after.name else (before.title, after.title)
    for difference, example in _examples(before, after, (one for one in changed if one.behaviour.on_the_wire)):
        show_lines([f"{difference.behaviour.name}: {difference.behaviour.meaning}"])
        show_lines(example_lines(example, names, example.base.title) if example else ["  no message shows it"])
        show_lines([""])


def _difference_table(out: Console, before: Release, after: Release, differing: list[ReleaseDifference]) -> Table:
    wide, short = out.width >= WIDE, before.architecture == after.architecture
    names = [release.name if short else release.title for release in (before, after)]
    limit = None if wide else max(10, out.width // 4)
    shown = [Column(name, overflow="fold", max_width=limit) for name in names]
    table = _table("behaviour", *shown, *(["what it means"] if wide else []))
    for section, members in groupby(differing, lambda difference: difference.behaviour.section):
        _add_section(table, section)
        for difference in members:
            behaviour = difference.behaviour
            name, meaning = Text(behaviour.name, style="bold"), Text(behaviour.meaning, style="dim")
            old, new = map(Text, _both(difference))
            table.add_row(*((name, old, new, meaning) if wide else (_under(name, meaning), old, new)))
    return table


def in_words(behaviour: Behaviour, value: object) -> str:
    """Describe a value, with its meaning."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, frozenset):
        return ", ".join(map(_member, sorted(value))) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    meaning = behaviour.means(str(value))
    return (f"{value}: {meaning}" if meaning else str(value)) or "none"


def _both(difference: ReleaseDifference) -> tuple[str, str]:
    """Return both values; for sets their sizes, and the members added and removed."""
    if not isinstance(difference.before, frozenset) or not isinstance(difference.after, frozenset):
        return in_words(difference.behaviour, difference.before), in_words(difference.behaviour, difference.after)
    changes = (("added", difference.added), ("removed", difference.removed))
    lines = [f"{name}: {', '.join(map(_member, members))}" for name, members in changes if members]
    return _count(difference.before), "\n".join([_count(difference.after), *lines])


def _count(members: frozenset[object]) -> str:
    return counted(len(members), "entry")


def _member(value: object) -> str:
    """Return a member of a set as text; numbers are DDL action types."""
    return f"{Action(value).text} ({value})" if isinstance(value, int) and value in list(Action) else str(value)


def _table(*columns: Column | str) -> Table:
    """Return an empty table that wraps long words instead of cutting them."""
    every = (Column(column, overflow="fold") if isinstance(column, str) else column for column in columns)
    return Table(*every, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=False)


def _add_section(table: Table, section: str) -> None:
    table.add_section()
    table.add_row(Text(section, style="bold cyan"))


def _chapter(name: str) -> Text:
    return Text(name.upper(), style="bold")


def _under(head: Text, rest: Text) -> Group:
    """Return two texts in one cell, the second one indented."""
    return Group(head, *([Padding(rest, (0, 0, 0, 2))] if rest.plain else []))
