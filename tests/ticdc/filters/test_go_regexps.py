"""TiCDC's regular expressions, which are Go's; what is said of them here is what Go 1.23 answers."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.ticdc.filters.go_regexp import GoRegexpError, compile

# pattern; what it finds; what it does not
REGEXPS = [
    (r"^a.c$", ["abc"], ["a\nc", "abc\n"]),
    (r"(?s)^a.c$", ["a\nc"], []),
    (r"(?m)^b$", ["a\nb\nc"], ["abc"]),
    (r"\d\w\s", ["1a "], ["١a ", "1é ", "1a\v"]),
    (r"a(?i)b|C", ["aB", "c"], ["Ab"]),
    (r"[[:alpha:]-]\x41\x{4e2d}\Q.*\E", ["-A中.*"], ["-A中xx"]),
    (r"\Q[a-", ["x[a-"], ["a"]),
    (r"[]a]\z", ["]", "a"], ["b"]),
    (r"\pN\p{Lu}\P{L}", ["1É_"], ["1é_"]),
    (r"\p{Greek}\p{^Han}", ["Σx"], ["sx", "Σ中"]),
    (r"\p{Any}", ["中"], [""]),
    (r"(?i)k[ſ]", ["KS", "\u212as"], ["kz"]),
    (r"(?i)σ", ["Σ", "ς"], ["s"]),
    (r"x{,2}", ["x{,2}"], ["xx"]),
    (r"^x{02}$", ["x{02}"], ["xx"]),
    (r"^x{2,3}?$", ["xxx"], ["x"]),
    (r"\B", ["", "ab"], ["a", "aéa"]),
    (r"\bé", ["aé"], ["é", " é"]),
    (r"^*a", ["ba"], ["b"]),
    (r"[[:^digit:]]\101\07", ["xA\a"], ["1A\a"]),
    (r"(?P<name>a)(?<other>b)(?P<name>c)", ["abc"], ["ab"]),
    (r"(?U)a+?(?-U:b)", ["ab"], ["b"]),
    ("(" * 999 + "a" + ")" * 999, ["a"], ["b"]),
    ("(?:" * 3000 + "a" + ")" * 3000, ["a"], ["b"]),
]


@pytest.mark.parametrize(("pattern", "found", "missed"), REGEXPS)
def test_regular_expressions_mean_what_they_mean_to_go(pattern: str, found: list[str], missed: list[str]) -> None:
    regexp = compile(pattern)
    assert [name for name in found if not regexp.matches(name)] == []
    assert [name for name in missed if regexp.matches(name)] == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?#a)", "invalid or unsupported Perl syntax: `(?#`"),
        ("(?i-)", "invalid or unsupported Perl syntax: `(?i-)`"),
        ("(?<", "invalid or unsupported Perl syntax: `(?<`"),
        ("(?P=a)", "invalid or unsupported Perl syntax: `(?P`"),
        ("a(?<!b)c>", "invalid named capture: `(?<!b)c>`"),
        ("(?<=b)", "invalid named capture: `(?<=b)`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
        ("(?P<>a)", "invalid named capture: `(?P<>`"),
        ("(?P<a", "invalid named capture: `(?P<a`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        (r"[\Qa\E]", r"invalid escape sequence: `\Q`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("(|+)", "missing argument to repetition operator: `+`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{1001}?", "invalid repeat count: `{1001}`"),
        ("a*{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{99999999999}", "invalid repeat count: `{99999999999}`"),
        ("a{" + "9" * 5000 + "}", "invalid repeat count: `{999"),
        ("(a{30}){40}", "invalid repeat count: `{40}`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:letter:]]", "invalid character class range: `[:letter:]`"),
        (r"\p{Elvish}", r"invalid character class range: `\p{Elvish}`"),
        (r"\p{Letter}", r"invalid character class range: `\p{Letter}`"),
        (r"\pX", r"invalid character class range: `\pX`"),
        (r"a\p", r"invalid character class range: `\p`"),
        ("x[a", "missing closing ]: `[a`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("(" * 1000 + ")" * 1000, f"expression nests too deeply: `{'(' * 1000}"),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(pattern: str, text: str) -> None:
    with pytest.raises(GoRegexpError, match=re.escape(f"error parsing regexp: {text}")):
        compile(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"[a\C(?<=", r"invalid escape sequence: `\C`"),
        (r"[a(?<=", "missing closing ]: `[a(?<=`"),
        (r"a{99999999999}\C", "invalid repeat count: `{99999999999}`"),
        (r"\y\C", r"invalid escape sequence: `\y`"),
        (r"a)(?<=", "unexpected ): `a)(?<=`"),
        (r"(\C", r"invalid escape sequence: `\C`"),
        (r"\Q\C\E(?<=", "invalid named capture: `(?<=`"),
        (r"[\C", r"invalid escape sequence: `\C`"),
        (r"\x{99999999999}", r"invalid escape sequence: `\x{999999`"),
    ],
)
def test_the_first_mistake_is_named(pattern: str, text: str) -> None:
    with pytest.raises(GoRegexpError, match=f"^{re.escape(f'error parsing regexp: {text}')}$"):
        compile(pattern)


def test_a_pattern_can_be_sent_to_another_process() -> None:
    """As Spark does it with filters."""
    assert pickle.loads(pickle.dumps(compile("^a+$"))).matches("aa")


def within_a_minute(code: str, *arguments: object) -> str:
    """What a process of Python prints, errors included."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "filters",
    [
        "[filter]\nrules = ['/^(a+)+$/.*']\n",
        "[filter]\nrules = ['*a*a*a*a*a*a*a*a*a*a*a*a*a.*']\n",
        "[[filter.event-filters]]\nmatcher = ['*.*']\nignore-sql = ['^(create|database|a+| +)+$']\n",
    ],
)
def test_no_pattern_takes_long(tmp_path: Path, filters: str) -> None:
    """However often a name can be taken apart."""
    (tmp_path / "feed.toml").write_text(filters)
    statement = f"create database {'a' * 40}b"
    said = within_a_minute(
        "from simulator.cli import main; main()", "explain", "ddl", statement, "--config", tmp_path / "feed.toml"
    )
    assert f"{'a' * 40}b" in said and "decision" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("/" + r"\a" * 40, "syntax error: incomplete regexp"),
        (r"/x\/" + r"\a" * 40, "trailing backslash at end of expression"),
    ],
)
def test_no_rule_takes_long_to_read(rule: str, said: str) -> None:
    r"""A regular expression ends at a slash; after a backslash only where there is no other slash."""
    assert said in within_a_minute(f"from simulator.ticdc.filters import table_filter; table_filter([{rule!r}])")
