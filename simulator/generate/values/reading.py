"""Parsing of the generators in a plan or scenario: a provider of Faker, a list, a table as {min = 1, max = 9}; of skew.

Invalid generators are refused when the file is read, before any row is generated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any

from simulator.errors import UserError, did_you_mean
from simulator.generate.model import HotSet, Skew, Uniform, Zipf
from simulator.generate.values import generators

ACCEPTED = (
    "a provider of Faker such as 'email', a list to choose from such as ['new', 'paid'], {min = 1, max = 9}, "
    "a number, or a table with faker, choice, sequence, distribution, text, reference, template, time, version or "
    "value"
)

SCALAR = (str, int, float, date, time)
LONGEST = 1 << 24
"""Maximum characters of a text."""

MOST_RANKS = 1_000_000
"""Maximum values of a zipf distribution."""


def parse_columns(value: object) -> Mapping[str, generators.ColumnGenerator]:
    """Return the generators by column; raise UserError with all mistakes."""
    if not isinstance(value, dict):
        raise UserError(f"expected a table such as {{name = 'name', price = {{min = 1, max = 9}}}}, got {value!r}")
    columns, mistakes = {}, []
    for column, members in value.items():
        try:
            columns[column] = parse_column(members)
        except UserError as error:
            mistakes += [f"{column}: {each}" for each in error.args]
    if mistakes:
        raise UserError(*mistakes)
    return columns


def parse_column(value: object) -> generators.ColumnGenerator:
    """Return one column's generator; raise UserError."""
    match value:
        case str():
            return generators.ColumnGenerator(_provider(value))
        case list():
            return generators.ColumnGenerator(_choice(value, None))
        case dict():
            return _table(value)
        case int() | float() | date() | time():
            return generators.ColumnGenerator(generators.ValueChoice((_scalar(value),)))
    raise UserError(f"expected {ACCEPTED}; got {value!r}")


def _table(value: Mapping[str, Any]) -> generators.ColumnGenerator:
    null = value.get("null", 0)
    if not _is_number(null) or not 0 <= null <= 1:
        raise UserError(f"null: expected a share from 0 to 1, got {null!r}")
    members = {name: each for name, each in value.items() if name != "null"}
    if not members and "null" in value:
        return generators.ColumnGenerator(None, float(null))
    kinds = [kind for kind in KINDS if kind in members and kind != "min"] or (
        ["min"] if members.keys() & {"min", "max"} else []
    )
    if len(kinds) > 1:
        raise UserError(f"{kinds[0]} and {kinds[1]}: a column has one generator")
    if not kinds:
        known = {name for kind, (names, _) in KINDS.items() for name in (kind, *names)}
        meant = "".join(did_you_mean(name, known) for name in list(members)[:1])
        raise UserError(f"expected {ACCEPTED}; got {dict(value)!r}.{meant}")
    names, read = KINDS[kinds[0]]
    for name in members:
        if name not in (kinds[0], *names):
            accepted = ", ".join((*names, "null"))
            raise UserError(
                f"{kinds[0]} takes no {name!r}.{did_you_mean(name, (*names, 'null'))} Beside it: {accepted}"
            )
    return generators.ColumnGenerator(read(members), float(null))


def _provider(name: object) -> generators.FakerProvider:
    if not isinstance(name, str):
        raise UserError(f"expected the name of a provider of Faker such as 'email', got {name!r}")
    generators.check_provider(name)
    return generators.FakerProvider(name)


def _choice(values: object, weights: object) -> generators.ValueChoice:
    if not isinstance(values, list) or not values or not all(isinstance(each, SCALAR) for each in values):
        raise UserError(f"choice: expected a list such as ['new', 'paid'], got {values!r}")
    if weights is None:
        return generators.ValueChoice(tuple(map(_scalar, values)))
    if not isinstance(weights, list) or not all(_is_number(each) and each >= 0 for each in weights) or not sum(weights):
        raise UserError(f"weights: expected numbers from 0 on, at least one above it, got {weights!r}")
    if len(weights) != len(values):
        raise UserError(f"weights: there are {len(weights)} for {len(values)} values; expected one for each")
    return generators.ValueChoice(tuple(map(_scalar, values)), tuple(map(float, weights)))


def _scalar(value: Any) -> generators.Scalar:
    scalar: generators.Scalar = int(value) if isinstance(value, bool) else value
    return scalar


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and value == value
        and (abs(value) != float("inf"))
    )


def _whole(name: str, value: object, least: int | None = None, most: int | None = None) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserError(f"{name}: expected a whole number, got {value!r}")
    if least is not None and value < least or most is not None and value > most:
        raise UserError(f"{name}: expected a whole number from {least} to {most:,}, got {value!r}")
    return value


def _range(members: Mapping[str, Any]) -> generators.Range:
    if members.keys() != {"min", "max"}:
        raise UserError(f"expected min and max, got {', '.join(members)} alone")
    least, greatest = members["min"], members["max"]
    numbers = _is_number(least) and _is_number(greatest)
    if not numbers and not (isinstance(least, date | time) and type(least) is type(greatest)):
        raise UserError(f"expected min and max as two numbers, two dates or two times; got {least!r} and {greatest!r}")
    if isinstance(least, datetime) and (least.tzinfo is None) != (greatest.tzinfo is None):
        raise UserError("min and max: of two times, both or neither name a time zone")
    if least > greatest:
        raise UserError(f"min is {least}, which is above max, {greatest}")
    return generators.Range(least, greatest)


def _sequence(members: Mapping[str, Any]) -> generators.NumberSequence:
    step = _whole("step", members.get("step", 1))
    if not step:
        raise UserError("step: expected a whole number other than 0")
    return generators.NumberSequence(_whole("sequence", members["sequence"]), step)


def _distribution(members: Mapping[str, Any]) -> generators.Distribution:
    name = members["distribution"]
    if name not in DISTRIBUTIONS:
        known = ", ".join(DISTRIBUTIONS)
        raise UserError(f"distribution: expected {known}; got {name!r}.{did_you_mean(str(name), DISTRIBUTIONS)}")
    needed, optional = DISTRIBUTIONS[name]
    numbers = {each: value for each, value in members.items() if each != "distribution"}
    for each, value in numbers.items():
        if each not in (*needed, *optional):
            raise UserError(f"{each}: {name} has {', '.join((*needed, *optional))}")
        if not _is_number(value):
            raise UserError(f"{each}: expected a number, got {value!r}")
    missing = [each for each in needed if each not in numbers]
    if missing:
        raise UserError(f"{name} needs {' and '.join(missing)}")
    least, greatest = numbers.get("min"), numbers.get("max")
    if least is not None and greatest is not None and least > greatest:
        raise UserError(f"min is {least}, which is above max, {greatest}")
    if numbers.get("deviation", 1) <= 0:
        raise UserError(f"deviation: expected a number above 0, got {numbers['deviation']}")
    if name in ("lognormal", "exponential") and numbers["mean"] <= 0:
        raise UserError(f"mean: expected a number above 0 for {name}, got {numbers['mean']}")
    if name == "zipf":
        _whole("min", least)
        _whole("max", greatest, int(numbers["min"]), int(numbers["min"]) + MOST_RANKS - 1)
        if numbers["exponent"] < 0:
            raise UserError(f"exponent: expected a number from 0 on, got {numbers['exponent']}")
    return generators.Distribution(
        name,
        float(numbers.get("mean", 0)),
        float(numbers.get("deviation", 1)),
        float(numbers.get("exponent", 1)),
        least,
        greatest,
    )


DISTRIBUTIONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "normal": (("mean", "deviation"), ("min", "max")),
    "lognormal": (("mean", "deviation"), ("min", "max")),
    "exponential": (("mean",), ("min", "max")),
    "zipf": (("exponent", "min", "max"), ()),
}
"""The required and the optional parameters of each."""


def _text(members: Mapping[str, Any]) -> generators.Text:
    size = members["text"]
    if isinstance(size, dict):
        if size.keys() != {"min", "max"}:
            raise UserError(f"text: expected a number of characters or {{min = 10, max = 400}}, got {size!r}")
        least = _whole("min", size["min"], 0, LONGEST)
        return generators.Text(least, _whole("max", size["max"], least, LONGEST))
    size = _whole("text", size, 0, LONGEST)
    return generators.Text(size, size)


def _reference(members: Mapping[str, Any]) -> generators.Reference:
    name = members["reference"]
    parts = name.split(".") if isinstance(name, str) else []
    if len(parts) != 3 or not all(parts):
        raise UserError(f"reference: expected a column such as 'shop.customer.id', got {name!r}")
    return generators.Reference(*parts)


def _template(members: Mapping[str, Any]) -> generators.Template:
    text = members["template"]
    if not isinstance(text, str):
        raise UserError(f"template: expected a text such as '{{name}}.{{id}}@example.com', got {text!r}")
    parts, literal, at = [], "", 0
    while at < len(text):
        character = text[at]
        if character in "{}" and text[at : at + 2] == character * 2:
            literal, at = literal + character, at + 2
        elif character == "{" and (end := text.find("}", at)) > at + 1:
            parts.append((literal, text[at + 1 : end]))
            literal, at = "", end + 1
        elif character in "{}":
            raise UserError(f"template: a brace stands alone in {text!r}; a column is {{name}}, a brace {{{{ or }}}}")
        else:
            literal, at = literal + character, at + 1
    return generators.Template((*parts, (literal, "")))


def _time(members: Mapping[str, Any]) -> generators.RowTime:
    if members["time"] not in ("born", "changed"):
        raise UserError(f"time: expected 'born' or 'changed', got {members['time']!r}")
    return generators.RowTime(members["time"] == "changed")


def _version(members: Mapping[str, Any]) -> generators.UpdateCount:
    if members["version"] is not True:
        raise UserError(f"version: expected true, got {members['version']!r}")
    return generators.UpdateCount()


def _value(members: Mapping[str, Any]) -> generators.ValueChoice:
    if not isinstance(members["value"], SCALAR):
        raise UserError(f"value: expected a text, a number or a time, got {members['value']!r}")
    return generators.ValueChoice((_scalar(members["value"]),))


KINDS: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any]], generators.Generator]]] = {
    "faker": ((), lambda given: _provider(given["faker"])),
    "choice": (("weights",), lambda given: _choice(given["choice"], given.get("weights"))),
    "sequence": (("step",), _sequence),
    "distribution": (("mean", "deviation", "exponent", "min", "max"), _distribution),
    "text": ((), _text),
    "reference": ((), _reference),
    "template": ((), _template),
    "time": ((), _time),
    "version": ((), _version),
    "value": ((), _value),
    "min": (("max",), _range),
}
"""By the key that names a generator: the other keys that it accepts, and its parser."""


SKEWS = "'uniform', {zipf = 1.1} or {hot = 0.01, updates = 0.9}"


def parse_skew(value: object) -> Skew:
    """Return the distribution of updates over rows; raise UserError."""
    if value == "uniform":
        return Uniform()
    if isinstance(value, dict) and value.keys() == {"zipf"}:
        return Zipf(_between(value["zipf"], "zipf", 0.0, 10.0))
    if isinstance(value, dict) and value.keys() == {"hot", "updates"}:
        return HotSet(*(_between(value[name], name, 0.0, 1.0) for name in ("hot", "updates")))
    raise UserError(f"expected {SKEWS}, got {value!r}")


def _between(value: object, name: str, least: float, most: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not least < value < most:
        raise UserError(f"{name}: expected a number above {least:g} and below {most:g}, got {value!r}")
    return float(value)
