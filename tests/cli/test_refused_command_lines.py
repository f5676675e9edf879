"""Command lines that cannot be: each is refused in one line, and no file is written or changed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from support.playing import said

FILES = {
    "plan.toml": '[[table]]\ndefinition = "CREATE TABLE t (id INT PRIMARY KEY)"\nrows = 20\nmix = {inserts = 1}\n',
    "s.sql": "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);",
    "canal.toml": "[sink]\nprotocol = 'canal-json'\n",
    "expression.toml": '[[filter.event-filters]]\nmatcher = ["*.*"]\nignore-insert-value-expr = "id > > 1"\n',
    "column.toml": '[[filter.event-filters]]\nmatcher = ["*.*"]\nignore-delete-value-expr = "nope = 1"\n',
    "rules.toml": '[filter]\nrules = ["t"]\n',
    "none.toml": '[filter]\nrules = ["other.*"]\n',
    "keyless.toml": '[[table]]\ndefinition = "CREATE TABLE t (at INT)"\n',
    "schema.sql": "CREATE TABLE t (id INT PRIMARY KEY, n BIGINT UNSIGNED NOT NULL, name VARCHAR(20), b VARBINARY(4));",
    "twice.sql": "CREATE TABLE t (a INT, a INT);",
    "about.toml": 'about.titel = "x"\n[[step]]\nsql = "SELECT 1"\n',
    "steps.toml": 'about.releases = ["v8.5.99"]\nabout.legal = 1\n[[step]]\nsql = "SELECT 1"\n',
    "before/test.t-schema.sql": "CREATE TABLE t (id INT PRIMARY KEY);",
    "before/test.t.csv": "id\n1\n",
    "x/t/0.jsonl": "",
    "notes.txt": "mine",
    "other/notes.txt": "mine",
}
KAFKA = "--sink-uri kafka://127.0.0.1:9/t"
SENDING = "diff before before", "run s.sql", "load plan.toml", "shell", "serve"
EMPTY = "--config", "--release", "--fixtures", "--truth", "--checkpoint", "--summary", "--master"
LAG = f"load plan.toml {KAFKA} --until-lag 5"
GROUP = "--consumer-group g"
ROW = "explain row --schema schema.sql"
DROP = "explain ddl 'DROP TABLE t'"
GOOD = '{"after": {"id": 1, "n": 1}}'
DIFF = "diff before before --sink-uri"
CANAL = f"{DIFF} kafka://h:1/t?protocol=canal-json"
OPEN = f"{DIFF} kafka://h:1/t?protocol=open-protocol"
STANDARD = "- is standard input or output, which cannot be used here"

STATEMENTS = {
    **dict.fromkeys(("", " ;", "/* nothing */", "# nothing"), "there is no statement to explain: DDL is expected"),
    "drop table": "[parser:1064] line 1, column 11: the end of the statement is not expected here",
    "select 1": "SELECT is not DDL",
    "alter table t force": "[ddl:8200] Unsupported Unsupported/unknown ALTER TABLE specification",
    "CREATE TABLE t (a DATETIME DEFAULT '99999999999999')": "[ddl:1067] Invalid default value for 'a'",
    "CREATE TABLE t (a TIMESTAMP DEFAULT '1900-01-01')": "[ddl:1067] Invalid default value for 'a'",
    "ALTER TABLE t ADD COLUMN a DATE DEFAULT '9999999999999999999'": "[ddl:1067] Invalid default value for 'a'",
    "ALTER TABLE t MODIFY COLUMN a YEAR DEFAULT 1800": "[types:1067] Invalid default value for 'a'",
    "ALTER TABLE t CHANGE COLUMN a b INT DEFAULT 'x'": "[types:1067] Invalid default value for 'b'",
}
ROWS = {
    "{}": 'a row needs "before"',
    '{"afterr": {}}': "unknown member 'afterr' of a row. Did you mean 'after'",
    '{"after": []}': "after: [] is not",
    '{"after": {"nam": "x"}}': "test.t has no column 'nam'. Did you mean 'name'",
    '{"after": {"id": 1}}': "column 'n' is NOT NULL",
    '{"after": {"id": 1, "n": 1, "name": true}}': "column 'name': True is not null, text",
    '{"after": {"id": 1, "n": 1, "b": {"hex": "zz"}}}': "column 'b': hex 'zz': non-hex",
    '{"after": {"id": 1, "n": 1}, "partitions": 0}': "partitions: 0 is not an integer from 1 to 2147483647",
    '{"after": {"id": 1, "n": 1}, "commit_ts": "x"}': "commit_ts: 'x' is not an integer",
    '{"after": {"id": "x", "n": 1}}': "column 'id': 'x' is no int",
    '{"after": {"id": 2147483648, "n": 1}}': "column 'id': 2147483648 is no int (-2147483648 to 2147483647 are)",
    '{"after": {"id": 1, "n": -1}}': "column 'n': -1 is no bigint",
}
REFUSED = {
    # releases
    "releases v7.1.9": "unknown TiCDC release 'v7.1.9'. Did you mean 'v7.1.6'? Nearest: v7.1.0, v7.1.1,",
    "releases v3.0.0": "unknown TiCDC release 'v3.0.0'. Nearest: v4.0.0",
    "releases v12.1": "unknown TiCDC release 'v12.1'. Nearest: v9.0.0-beta.2.pre, v26.3.1",
    "releases v8.5.3 8.6": "unknown TiCDC release '8.6'",
    "releases 8.5": "'8.5' is a line of TiCDC releases: name one of v8.5.0,",
    "releases newer:v8.5.3": "unknown architecture 'newer': TiCDC has 'classic' and 'new'",
    "releases new:v8.5.3": "TiCDC v8.5.3 has no new architecture, which begins with v8.5.4",
    "releases a b c": "unexpected extra argument",
    "releases v8.5.3 --protocol jason": "'jason' is not one of 'open-protocol', 'canal-json',",
    "releases v6.1.0 v6.5.0 --protocol debezium": "there is no protocol debezium; classic has it since v7.6.0",
    "releases v8.5.3 --sink-uri kafka://h/t?protocol=canal-jso": "Did you mean 'canal-json'?",
    "releases v8.5.3 --protocol simple --sink-uri kafka://h/t?protocol=avro": (
        "--protocol simple and protocol avro of --sink-uri differ: give one of them"
    ),
    "releases v8.5.3 --protocol avro --config canal.toml": (
        "--protocol avro and protocol canal-json of [sink] of --config canal.toml differ"
    ),
    "releases v8.5.3 --protocol csv --sink-uri kafka://h/t": "protocol csv does not go to --sink-uri kafka:",
    "releases v8.5.3 --protocol avro --sink-uri s3://b/p": "protocol avro does not go to --sink-uri s3://…",
    "releases v8.5.3 --config nowhere.toml": "cannot read nowhere.toml: No such file or directory",
    "releases v7.5.1 --examples": "--examples needs two releases: ticdc-sim releases A B --examples",
    # scenarios
    "scenarios delete-shap": "no scenario 'delete-shap'. Did you mean 'delete-shape'? `ticdc-sim scenarios` lists them",
    "run delete-shap": "no scenario 'delete-shap'. Did you mean 'delete-shape'? `ticdc-sim scenarios` lists them",
    "run about.toml --console": "unknown key 'titel'. Did you mean 'title'?",
    # what diff and run take for a changefeed
    f"{DIFF} kafka://h:1/t": (
        "[CDC:ErrSinkUnknownProtocol] unknown '' message protocol for sink. "
        "Accepted: protocol=open-protocol or protocol=canal-json"
    ),
    f"{DIFF} kafka://h:1/t?protocol=canal-jsn": (
        "[CDC:ErrSinkUnknownProtocol] unknown 'canal-jsn' message protocol for sink. Did you mean 'canal-json'?"
    ),
    f"{DIFF} kafka://h:1/t?protocol=craft": (
        "protocol craft is not simulated yet; accepted: open-protocol, canal-json"
    ),
    f"{CANAL}&partition-num=0": "[CDC:ErrKafkaInvalidPartitionNum] invalid partition num 0; 1 or more is accepted",
    f"{CANAL}&partition-num=-3": "[CDC:ErrKafkaInvalidPartitionNum] invalid partition num -3; 1 or more is",
    f"{CANAL}&partition-num=three": (
        "[CDC:ErrMySQLInvalidConfig] sink-uri partition-num: strconv.ParseInt: "
        'parsing "three": invalid syntax; an integer is accepted'
    ),
    f"{CANAL}&partition-num=100000000 --fixtures out": "at most 10,000",
    "diff before before --sink-url x": "No such option '--sink-url'. Did you mean '--sink-uri'? (see ticdc-sim diff --he",
    f"{OPEN} --over 5": "bad duration '5': expected a number and a unit out of ms, s, m, h, d, such as 500ms or 1m30s",
    f"{OPEN} --speed fast": "bad speed 'fast': expected max, or a number above 0 such as 1 (real time) or 10",
    f"{OPEN} --config nowhere.toml": "cannot read nowhere.toml: No such file or directory",
    f"{OPEN} --release v8.5.33": "unknown TiCDC release 'v8.5.33'. Did you mean 'v8.5.3'?",
    f"{OPEN} --console --fixtures out": "--console and --fixtures exclude each other: choose one",
    f"{OPEN} --fixtures other": (
        "other holds something else (notes.txt): give a new or empty directory, or one with fixtures, which are replaced"
    ),
    "run s.sql --fixtures out --over 30000d --resolved-interval 1ms": "at most 10,000,000 are accepted",
    # load
    "load": "a plan is expected, and one alone: PLAN.toml, or --preset with one of bank, documents, large-rows, shop,",
    "load plan.toml --preset shop": "a plan is expected, and one alone",
    f"load --preset shpo {KAFKA}": "no preset 'shpo'. Did you mean 'shop'? Presets: bank, documents,",
    f"load nowhere.toml {KAFKA}": "cannot read nowhere.toml: No such file or directory",
    "load plan.toml": "no sink-uri: give --sink-uri 'kafka://host:port/topic?protocol=open-protocol', or --console or",
    "load plan.toml --console --fixtures out": "--console and --fixtures exclude each other: choose one",
    "load plan.toml --console --master local[2]": "--console needs --master none: one process shows all messages",
    "load plan.toml --fixtures out --fixtures-format parquet": "--fixtures-format parquet needs --master none",
    "load plan.toml --console --resume": "--resume is about Kafka and storages: --console contacts none",
    f"load plan.toml {KAFKA} --driver confluent": "--driver was removed in 0.3.0: kafka-python alone sends to Kafka",
    f"run s.sql {KAFKA} --driver=kafka-python": "--driver was removed in 0.3.0: kafka-python alone sends to Kafka",
    "diff before before --plain-producer": "--plain-producer was removed in 0.3.0",
    "verify out --driver x": "No such option '--driver'. (Did you mean one of: '--jdbc-driver'",
    f"load plan.toml --fixtures out {GROUP}": "--consumer-group: a group has lag on Kafka only",
    LAG: "--until-lag needs --consumer-group GROUP: whose lag?",
    f"{LAG} {GROUP} --rate '0s:1, 5s:2'": (
        "--until-lag begins with a number of rows/s and changes that itself, not with --rate '0s:1, 5s:2'"
    ),
    f"{LAG} {GROUP} --rate 500 --max-rate 400": "--until-lag begins with 500 rows/s, above --max-rate 400",
    f"load plan.toml {KAFKA} --max-rate 400": "--max-rate needs --until-lag N: it limits that search",
    f"load plan.toml {KAFKA} --max-rate 0": "--max-rate",
    f"load plan.toml {KAFKA} --rate fast": "bad rate 'fast': 'fast' is no rate; expected rows a second (60000),",
    f"load plan.toml {KAFKA} --duration 5": "bad duration '5': expected a number and a unit",
    f"load plan.toml {KAFKA} --release v1.0.0": "unknown TiCDC release 'v1.0.0'",
    f"load plan.toml {KAFKA} --summary no/such.json": "--summary no/such.json: there is no directory no",
    f"load plan.toml {KAFKA} --report no/such.html": "--report no/such.html: there is no directory no",
    f"load plan.toml {KAFKA} --metrics-address ::1": "--metrics-address needs --metrics-port PORT",
    f"load plan.toml {KAFKA} --truth plan.toml": "--truth plan.toml is a file: give a new or empty directory",
    "load keyless.toml --fixtures out --duration 1s": "no primary key and no unique key of NOT NULL columns: test.t; ",
    "load plan.toml --fixtures out --config none.toml --duration 1s": (
        "no table to replicate: the changefeed's filter leaves out every table of the plan"
    ),
    "load plan.toml --at 2s": "--at needs --truth DIR: it says of when the truth is",
    "load plan.toml --truth T --at noon": "--at 'noon': expected a watermark, as a TSO such as 4550006",
    "load plan.toml --truth T --at 1": "--at '1': expected a watermark",
    "load plan.toml --truth T --at 400000000000000000": "--at 400000000000000000: the stream starts at 4550006",
    "load plan.toml --truth T --at 455000630232612865": "lies between two milliseconds, such as 455000630232612864",
    "load plan.toml --truth plan.toml --at 1s": "--truth plan.toml is a file: give a new or empty directory",
    "load plan.toml --truth . --at 1s": "--truth . holds something else: give a new or empty directory",
    # verify
    "verify": "nothing to verify: give SOURCE",
    "verify nowhere": "no such directory: nowhere",
    "verify x --truth nowhere": "no such directory: nowhere",
    "verify x": "x has no records, which leaves its protocol open: --sink-uri or --truth",
    f"verify x {KAFKA}?protocol=canal-json": "x has no records, and nothing says whether that is right: --truth DIR or",
    "verify x --follow --until 5": "x is a directory: only kafka://host:port/topic can be followed",
    "verify x --report nowhere/r.html": "--report nowhere/r.html: there is no directory nowhere",
    "verify x --report before": "is a directory",
    "verify x --release v9.9.9": "unknown TiCDC release 'v9.9.9'",
    "inspect kafka://127.0.0.1:1/t?protocol=avro --protocol canal-json": (
        "--protocol canal-json and protocol=avro of kafka://127.0.0.1:1/t differ"
    ),
    "compare kafka://127.0.0.1:1/t?protocol=avro x --protocol canal-json": (
        "--protocol canal-json and protocol=avro of kafka://127.0.0.1:1/t differ"
    ),
    "inspect s.sql": "cannot read s.sql: Not a directory; a fixtures directory, kafka://",
    # serve
    "serve --resume": "--resume needs --data DIR",
    "serve --tls-cert x.pem": "--tls-cert needs --tls-key FILE.pem: they belong together",
    "serve --tls-cert x.pem --tls-key y.pem": "cannot read x.pem: No such file",
    "serve --tls-cert s.sql --tls-key s.sql": "they cannot be used",
    "serve --release v99": "unknown TiCDC release 'v99'",
    f"serve {KAFKA}?protocol=nonsense": "nonsense",
    "serve --port 99999": "99999",
    **{f"serve {option} x": f"{option} needs --api-port PORT or --ui" for option in ("--api-host", "--allow-storage")},
    **{f"{command} --fixtures-format parquet": "--fixtures-format needs --fixtures DIR" for command in SENDING},
    **{f"{command} --console --fixtures out": "exclude each other" for command in ("shell", "serve")},
    "run s.sql --console --truth-format csv": "--truth-format needs --truth DIR",
    "run s.sql --console --resume": "--resume needs --checkpoint DIR",
    # a variable of the shell that nobody has set
    **{f"run s.sql --console {option} ''": f"Invalid value for '{option}': it is empty" for option in EMPTY},
    **{
        f"{command} ''": f"Invalid value for '{name}': it is empty"
        for command, name in {
            "inspect": "SOURCE",
            "compare out": "B",
            "verify": "[SOURCE]",
            "verify out --against": "--against",
            "verify out --before": "--before",
            "verify out --sink-uri": "--sink-uri",
            "verify out --master": "--master",
            "load plan.toml --master": "--master",
            "load plan.toml --consumer-group": "--consumer-group",
        }.items()
    },
    "serve --host ''": "Invalid value for '--host': it is empty",
    "serve --api-port 99999": "99999",
    "serve --data before": "--data before holds something else (test.t-schema.sql): give a new or empty directory",
    # explain
    **{f"explain ddl {shlex.quote(statement)}": words for statement, words in STATEMENTS.items()},
    **{f"{ROW} {shlex.quote(row)}": words for row, words in ROWS.items()},
    f"{ROW} '{GOOD}' --config rules.toml": "CDC:ErrFilterRuleInvalid",
    f"{ROW} '{GOOD}' --config column.toml": "CDC:ErrExpressionColumnNotFound",
    f"{DROP} --release v9.9.9": "unknown TiCDC release 'v9.9.9'",
    f"{DROP} --schema nope.sql": "cannot read nope.sql: No such file or directory",
    f"{DROP} --config nope.toml": "cannot read nope.toml: No such file or directory",
    f"{DROP} --schema twice.sql": "twice.sql",
    f"{DROP} --use ''": "[planner:1046] No database selected",
    f"{DROP} --schema schema.sql --config expression.toml": "CDC:ErrInvalidFilterExpression",
    f"{DROP} --schema schema.sql --config column.toml": "CDC:ErrExpressionColumnNotFound",
    "explain ddl 'alter table nope add a int' --schema schema.sql": "[schema:1146] Table 'test.nope' doesn't exist",
    "explain table t --schema schema.sql --config expression.toml": "CDC:ErrInvalidFilterExpression",
    "explain table t --schema schema.sql --config column.toml": "CDC:ErrExpressionColumnNotFound",
    "explain table shop.nope --schema schema.sql": "no table 'shop.nope'",
    "explain table shop.orders": "explain table needs --schema FILE.sql",
    # two outputs in one place
    "load plan.toml --console --summary y --report ./y": "--summary and --report are both y",
    "load plan.toml --console --summary notes.txt --report notes.txt --force": "--summary and --report are both notes.txt",
    "run s.sql --fixtures out --truth out": "--fixtures and --truth are both out",
    "run s.sql --fixtures out --truth out/truth": "--truth lies in the directory of --fixtures",
    "run s.sql --fixtures out/fixtures --truth out": "--fixtures lies in the directory of --truth",
    "serve --fixtures out --data out": "--fixtures and --data are both out",
    # a dash, which is the name of no file
    "load plan.toml --console --report -": f"Invalid value for '--report': {STANDARD}",
    "verify before --report -": "Invalid value for '--report': - is standard",
    "run s.sql --fixtures -": "Invalid value for '--fixtures': - is standard",
    "run s.sql --console --truth -": "Invalid value for '--truth': - is standard",
    f"run s.sql {KAFKA}?protocol=canal-json --checkpoint -": "Invalid value for '--checkpoint'",
    "serve --data -": "Invalid value for '--data': - is standard",
    "diff before -": "Invalid value for 'AFTER': - is standard",
    "run s.sql --console --summary -": "--console and --summary - both write to standard output",
}


@pytest.fixture(autouse=True)
def _files(here: Path) -> None:
    """SQL, a plan, scenarios, changefeeds, a snapshot and a topic without messages."""
    for name, text in FILES.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)


@pytest.mark.parametrize(("line", "words"), REFUSED.items(), ids=list(REFUSED))
def test_a_command_line_is_refused_in_one_line(line: str, words: str, here: Path) -> None:
    found = said(*shlex.split(line))
    message = [line for line in found.err if line.startswith("ticdc-sim: ")]
    assert (found.code, found.out, [words in line for line in message]) == (2, "", [True]), found
    assert {str(path.relative_to(here)): path.read_text() for path in here.rglob("*") if path.is_file()} == FILES


def test_every_mistake_of_a_scenario_is_told() -> None:
    first, second = said("run", "steps.toml", "--console").err
    assert (
        "line 1: releases: unknown TiCDC release 'v8.5.99'" in first
        and "line 1: legal: expected true or false, got 1" in second
    )


# Topics that Kafka cannot have: each is refused wherever it is named, and never cut to one that it can have

TOPICS = ("a\nb", "a%0Ab", "a%0a", "a\t", "\ra", "a b", "a ", "a%00", "a/b", "..", "%2e", "ü", "a;b", "a" * 250)
RULES = ("..", ".", "a" * 250)
EXPRESSIONS = ("{schema}\\n", "a\\nb", " {schema}", "{schema}/{table}", "{table}_{schema}")
OF_KAFKA = "Kafka takes letters, digits"
CONTROL = "invalid control character"


@pytest.mark.parametrize("topic", TOPICS)
def test_no_address_has_a_topic_that_kafka_refuses(topic: str) -> None:
    text = topic.encode("unicode_escape").decode().replace("\\x", "\\u00")
    scenario = f'sink-uri = "kafka://h:1/{text}?protocol=simple"\n[[step]]\nsql-file = "s.sql"\n'
    Path("run.toml").write_text(scenario)
    uri = f"kafka://127.0.0.1:9/{topic}"
    sent = ("--sink-uri", f"{uri}?protocol=canal-json")
    for arguments in (
        ("run", "s.sql", "--fixtures", "out", *sent),
        ("run", "run.toml", "--fixtures", "out"),
        ("load", "plan.toml", "--fixtures", "out", "--duration", "1s", *sent),
        ("shell", "--console", *sent),
        ("explain", "ddl", "DROP TABLE t", *sent),
        ("inspect", uri),
        ("verify", uri),
        ("verify", f"kafka://127.0.0.1:9/good,{topic}"),
        ("compare", uri, uri),
    ):
        found = said(*arguments)
        assert (found.code, found.out) == (2, "") and not Path("out").exists(), arguments
        assert [OF_KAFKA in line or CONTROL in line for line in found.err if "ticdc-sim: " in line] == [True], arguments


@pytest.mark.parametrize("topic", [*RULES, *EXPRESSIONS])
def test_no_rule_of_a_dispatcher_has_a_topic_that_kafka_refuses(topic: str) -> None:
    """TiCDC sends a name without placeholders as it is; it replaces and cuts names of schemas and tables only."""
    Path("feed.toml").write_text(f'[[sink.dispatchers]]\nmatcher = ["*.*"]\ntopic = "{topic}"\n')
    found = said("run", "s.sql", "--fixtures", "out", "--config", "feed.toml")
    words = OF_KAFKA if topic in RULES else "CDC:ErrKafkaTopicExprInvalid"
    assert (found.code, found.out) == (2, "") and not Path("out").exists()
    assert [words in line for line in found.err if line.startswith("ticdc-sim: ")] == [True]
