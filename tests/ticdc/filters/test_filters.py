"""What table filters and their regular expressions, which are Go's, do beside the vectors (facts.table_filter); what is
said of regular expressions here is what Go 1.23 answers."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.errors import ChangefeedError
from simulator.ticdc.filters import GoRegexpError, compile_regexp, table_filter

# rules; case-sensitive; tables that match; tables that do not
LANGUAGE = [
    (["*.*", "!foo.*", "foo.keep"], True, ["a.b", "foo.keep"], ["foo.b", "foo.Keep"]),
    (["STRASSE.Σ"], False, ["strasse.σ"], ["strasse.ς"]),
    (['"a.b".`c``d`', r"x\.y.z\ z"], True, [], ["a.b"]),
    (["/^db_\\d+$/.*"], True, ["db_12.t"], ["db_x.t", "db_12\n.t"]),
    (["# a comment", "", " a.b\t"], True, ["a.b"], ["# a comment.b"]),
    (["a$*.t"], True, [], ["a$1.t"]),
]


@pytest.mark.parametrize(("rules", "case_sensitive", "matching", "others"), LANGUAGE)
def test_the_last_match_decides(rules: list[str], case_sensitive: bool, matching: list[str], others: list[str]) -> None:
    tables = table_filter(rules, case_sensitive)
    assert [name for name in matching if not tables.match(*name.split(".", 1))] == []
    assert [name for name in others if tables.match(*name.split(".", 1))] == []


def test_an_imported_file_names_itself_and_its_line_in_errors(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("a.*\n# no\n!a.secret\n")
    tables = table_filter([f"@{file}", "b.*"])
    rule = tables.deciding_rule("a", "secret")
    assert rule is not None and (rule.text, rule.origin) == ("!a.secret", f"{file}:3")
    file.write_text("a.*\n@other.txt\n")
    with pytest.raises(ChangefeedError, match=re.escape(f"at {file}:2: importing filter files recursively")):
        table_filter([f"@{file}"])


def test_an_invalid_rule_has_tidbs_text_and_ticdcs_code() -> None:
    with pytest.raises(ChangefeedError, match="at <cmdline>:1: unexpected special character '-'") as caught:
        table_filter(["ok.*", "a-b.*"])
    assert caught.value.code == "CDC:ErrFilterRuleInvalid"


@pytest.mark.slow
def test_ten_thousand_literal_rules_are_one_look_up_each() -> None:
    tables = table_filter([*(f"s.t{number}" for number in range(10_000)), "!s.t7", "*x.*"])
    assert sum(tables.match("s", f"t{number}") for number in range(10_000)) == 9_999
    assert tables.match("x", "t7")


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
    regexp = compile_regexp(pattern)
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
        compile_regexp(pattern)


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
        compile_regexp(pattern)


def test_a_pattern_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(compile_regexp("^a+$"))).matches("aa")


PATTERNS = [
    "[filter]\nrules = ['/^(a+)+$/.*']\n",
    "[filter]\nrules = ['*a*a*a*a*a*a*a*a*a*a*a*a*a.*']\n",
    "[[filter.event-filters]]\nmatcher = ['*.*']\nignore-sql = ['^(create|database|a+| +)+$']\n",
]
RULES = {
    "/" + r"\a" * 40: "syntax error: incomplete regexp",
    r"/x\/" + r"\a" * 40: "trailing backslash at end of expression",
}
CODE = """
import sys
from simulator import cli, errors
from simulator.ticdc.filters import table_filter
statement, configs, rules = sys.argv[1], sys.argv[2:5], sys.argv[5:]
for config in configs:
    cli.run(["explain", "ddl", statement, "--config", config])
for rule in rules:
    try:
        table_filter([rule])
    except errors.ChangefeedError as error:
        print(error)
"""


@pytest.mark.slow
def test_no_pattern_and_no_rule_takes_long(tmp_path: Path) -> None:
    """However often a name can be taken apart; a regular expression ends at a slash, after a backslash only where there is
    no other slash. In a process, since Python's own regular expressions cannot be interrupted."""
    statement = f"create database {'a' * 40}b"
    for number, pattern in enumerate(PATTERNS):
        (tmp_path / f"{number}.toml").write_text(pattern)
    command = [sys.executable, "-c", CODE, statement, *map(str, sorted(tmp_path.iterdir())), *RULES]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    assert said.count("decision") == len(PATTERNS)
    assert all(text in said for text in RULES.values())
