"""Reading statements: what TiDB's grammar takes and what it refuses, and where the mistake is."""

from __future__ import annotations

import pytest

from simulator.errors import DdlError
from simulator.tidb import syntax
from simulator.tidb.parser.ddl import parse_ddl, parse_ddl_script
from simulator.tidb.restore.ddl import restore_statement

T = syntax.TableName("", "t")


def specs(text: str) -> tuple[syntax.Spec, ...]:
    """The specs of `ALTER TABLE t` and the text."""
    statement = parse_ddl(f"ALTER TABLE t {text}")
    assert isinstance(statement, syntax.AlterTable)
    return statement.specs


def spec(text: str) -> syntax.Spec:
    (found,) = specs(text)
    return found


def written(text: str) -> str:
    """`ALTER TABLE t` and the text, as TiDB writes it back."""
    statement = parse_ddl(f"ALTER TABLE t {text}")
    assert statement is not None
    return restore_statement(statement)


def refused(text: str, code: str = "parser:1064") -> str:
    """What is said of a text that is no statement of DDL."""
    with pytest.raises(DdlError) as caught:
        parse_ddl(text)
    assert caught.value.code == code
    return caught.value.text


# -- one text, one statement -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " \n\t", ";", ";;", "-- nothing", "/* nothing */ ;", "# nothing\n"])
def test_a_text_without_words_has_no_statement(text: str) -> None:
    """Blanks, comments and semicolons say nothing."""
    assert parse_ddl(text) is None
    assert parse_ddl_script(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "TRUNCATE TABLE t",
        "truncate t",
        "/* why */ TrunCate /* not */ t -- now",
        "/*!40101 TRUNCATE */ TABLE t;",
        "/*T! TRUNCATE TABLE t */",
        "/*T![ttl] TRUNCATE TABLE */ `t` ; ;",
        "\n\tTRUNCATE\r\nTABLE\n\t`t`;\n",
    ],
)
def test_case_blanks_comments_and_versioned_comments_change_nothing(text: str) -> None:
    """A versioned comment counts as what it holds."""
    assert parse_ddl(text) == syntax.TruncateTable(T)


def test_a_comment_of_an_unknown_feature_is_a_comment() -> None:
    """TiDB leaves out what a later TiDB put into a comment of a feature it does not know."""
    assert parse_ddl("TRUNCATE /*T![feature_of_tomorrow] nonsense */ t") == syntax.TruncateTable(T)


@pytest.mark.parametrize(
    "text",
    [
        "TRUNCATE TABLE /*! t",
        "TRUNCATE /*T! TABLE t",
        "TRUNCATE /*T![ttl,placement] t",
        "TRUNCATE t /*!50100",
        "TRUNCATE t /*!",
    ],
)
def test_a_versioned_comment_may_go_on_to_the_end(text: str) -> None:
    """TiDB asks for no end of what it opens."""
    assert parse_ddl(text) == syntax.TruncateTable(T)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TRUNCATE t /* never", "this comment has no '*/'"),
        ("TRUNCATE t /*t! x", "this comment has no '*/'"),
        ("TRUNCATE t /*T![feature_of_tomorrow] x", "this comment has no '*/'"),
        ("TRUNCATE t /*T![ttl", "this '/*T![' has no ']'"),
        ("TRUNCATE t /*T![[ttl] */", "this '/*T![' has no list of features"),
    ],
)
def test_a_comment_that_tidb_does_not_open_ends(text: str, message: str) -> None:
    """The mistake is where the comment begins."""
    assert refused(text) == f"line 1, column 12: {message}"


@pytest.mark.parametrize(
    "text", ["order /* x */ by a", "ORDER -- x\n BY a", "order /*! by a */", "/*T! ORDER */ by a", "Order\t\n By a"]
)
def test_comments_may_stand_between_two_words_that_belong_together(text: str) -> None:
    """ORDER BY here; PARTITION BY and GROUP BY alike."""
    partitioned = text.upper().replace("ORDER", "partition").replace("BY A", "by hash(a)")
    assert written(text) == "ALTER TABLE `t` ORDER BY `a`"
    assert written(partitioned) == "ALTER TABLE `t` PARTITION BY HASH (`a`) PARTITIONS 1"


def test_two_statements_are_refused_where_the_second_begins() -> None:
    """One job has one statement."""
    message = refused("DROP TABLE a;\n  DROP TABLE b")
    assert message == "line 2, column 3: a second statement begins here; one is accepted"


def test_several_statements_can_be_read_in_order() -> None:
    """As for the job that creates several tables at once."""
    assert parse_ddl_script("DROP TABLE a; ; TRUNCATE t;") == (
        syntax.DropTable((syntax.TableName("", "a"),)),
        syntax.TruncateTable(T),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ALTR TABLE t1 ADD c INT", "line 1, column 1: 'ALTR' is not expected here. Did you mean 'ALTER'? Accepted: "),
        ("CREATE TABEL t (id INT)", "line 1, column 8: 'TABEL' is not expected here. Did you mean 'TABLE'? Accepted: "),
        ("DROP", "line 1, column 5: the end of the statement is not expected here. Accepted: DATABASE, "),
        ("CREATE OR REPLACE TABLE t (a INT)", "line 1, column 19: 'TABLE' is not expected here. Accepted: PLACEMENT, "),
        ("`ALTER` TABLE t", "line 1, column 1: '`ALTER`' is not expected here. Accepted: "),
        ("RENAME TABLE a b", "line 1, column 16: 'b' is not expected here. Accepted: 'TO'"),
        ("TRUNCATE TABLE a, b", "line 1, column 17: ',' is not expected here. Accepted: the end of the statement"),
        ("ALTER TABLE t\n ADD COLUMN", "line 2, column 12: the end of the statement is not expected here."),
        ("ALTER TABLE t\n\n ADDD COLUMN c INT", "line 3, column 2: 'ADDD' is not expected here. Did you mean 'ADD'?"),
        ("DROP TABLE t RESTRICTED", "line 1, column 14: 'RESTRICTED' is not expected here."),
        ("ALTER VIEW v AS SELECT 1", "line 1, column 7: 'VIEW' is not expected here."),
        ("DROP TABLE 'unclosed", "line 1, column 12: "),
        ("DROP TABLE t /* unclosed", "line 1, column 14: "),
    ],
)
def test_a_mistake_is_shown_with_line_and_column_and_what_is_accepted(text: str, message: str) -> None:
    """Bad syntax has TiDB's code 1064."""
    assert refused(text).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "(SELECT 1)",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "TABLE t",
        "VALUES ROW(1)",
        "EXPLAIN SELECT 1",
        "CREATE USER u",
        "CREATE ROLE r",
        "CREATE SESSION BINDING FOR SELECT 1 USING SELECT 1",
        "DROP BINDING FOR SELECT 1",
        "CREATE STATISTICS s (CARDINALITY) ON t (a)",
        "CREATE PROCEDURE p() SELECT 1",
        "DROP PREPARE p",
        "DROP ROLE r",
        "ALTER USER u IDENTIFIED BY 'x'",
        "ALTER INSTANCE RELOAD TLS",
        "ALTER RANGE global PLACEMENT POLICY = p",
        "RENAME USER a TO b",
        "LOCK STATS t",
        "UNLOCK STATS t",
        "ADMIN SHOW DDL JOBS",
        "SPLIT TABLE t BY (1)",
        "DO 1",
        "OPTIMIZE TABLE t",
        "IMPORT INTO t FROM 'x'",
        "BACKUP DATABASE * TO 'x'",
        "SET RESOURCE GROUP g",
        "KILL 1",
        "ALTER TABLE t ANALYZE PARTITION p0",
        "ALTER TABLE t COMPACT TIFLASH REPLICA",
        "SAVEPOINT s",
        "use shop",
        "grant all on *.* to u",
        "FLUSH TABLES",
        "CALIBRATE RESOURCE",
        "QUERY WATCH REMOVE 1",
        "CANCEL IMPORT JOB 1",
    ],
)
def test_a_statement_that_changes_no_schema_is_not_ddl(text: str) -> None:
    """It has no code of an error: TiDB takes it, TiCDC never sees it."""
    assert "is not DDL" in refused(text, code="")


@pytest.mark.slow
def test_nesting_without_end_is_refused_like_any_other_mistake() -> None:
    """Nothing but DdlError is raised, however deep the parentheses go."""
    refused(f"CREATE TABLE t (a INT CHECK {'(' * 50_000}")


# -- databases ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ALTER DATABASE CHARACTER SET = utf8mb4", ""),
        ("ALTER SCHEMA DEFAULT COLLATE utf8mb4_bin", ""),
        ("ALTER DATABASE encryption CHARSET utf8", "encryption"),
    ],
)
def test_a_database_that_is_not_named_is_the_current_one(text: str, name: str) -> None:
    """ALTER DATABASE may begin with an option."""
    statement = parse_ddl(text)
    assert isinstance(statement, syntax.AlterDatabase)
    assert statement.name == name


def test_charsets_and_collations_are_those_of_tidb() -> None:
    """In TiDB's own spelling."""
    statement = parse_ddl("ALTER DATABASE d CHARSET 'UTF8MB3' COLLATE Utf8_General_CI")
    assert isinstance(statement, syntax.AlterDatabase)
    assert [option.value for option in statement.options] == ["utf8", "utf8_general_ci"]
    assert "unknown character set 'klingon'" in refused("CREATE DATABASE d CHARSET klingon")


def test_a_policy_named_default_is_no_policy() -> None:
    """PLACEMENT POLICY = DEFAULT and SET DEFAULT say the same."""
    statement = parse_ddl("ALTER DATABASE d PLACEMENT POLICY = DEFAULT")
    assert statement == parse_ddl("ALTER DATABASE d PLACEMENT POLICY SET DEFAULT")


# -- tables, views, indexes, sequences ---------------------------------------------------------------------------


def test_names_keep_their_case_and_lose_their_quotes() -> None:
    """Any word is a name between back-quotes, and behind a dot."""
    assert parse_ddl("RENAME TABLE `we``ird`.`a b` TO Shop.`select`, t TO `表`") == syntax.RenameTable(
        ((syntax.TableName("we`ird", "a b"), syntax.TableName("Shop", "select")), (T, syntax.TableName("", "表")))
    )


def test_a_reserved_word_is_no_name() -> None:
    """TiDB refuses it, too."""
    refused("CREATE TABLE select (id INT)")
    refused("CREATE INDEX ON t (a)")
    refused("DROP TABLE table")


def test_drop_says_of_which_kind_the_tables_are() -> None:
    """RESTRICT and CASCADE are read, and change nothing."""
    assert parse_ddl("DROP TEMPORARY TABLES IF EXISTS t, d.u CASCADE") == syntax.DropTable(
        (T, syntax.TableName("d", "u")), if_exists=True, temporary="local", behaviour="CASCADE"
    )
    assert parse_ddl("drop view v restrict") == syntax.DropView((syntax.TableName("", "v"),))


def test_flashback_to_a_moment_is_told_from_flashback_to_a_name() -> None:
    """`TO timestamp` begins a moment."""
    assert parse_ddl("FLASHBACK TABLE t TO t2") == syntax.FlashbackTable(T, "t2")
    assert parse_ddl("FLASHBACK TABLE t, u TO TSO 5") == syntax.FlashbackCluster(
        tso=5, tables=(T, syntax.TableName("", "u"))
    )
    assert parse_ddl("FLASHBACK SCHEMA d TO TIMESTAMP 'now'") == syntax.FlashbackCluster("now", database="d")
    assert parse_ddl("FLASHBACK DATABASE d") == syntax.FlashbackDatabase("d")
    refused("FLASHBACK TABLE t, u TO v")
    refused("FLASHBACK CLUSTER TO TSO 0")


@pytest.mark.parametrize(
    "text",
    ["FLASHBACK TABLE `t` TO `timestamp`", "FLASHBACK TABLE `t` TO `tso`", "FLASHBACK DATABASE `t` TO `timestamp`"],
)
def test_flashback_to_nothing_but_the_word_of_a_moment_is_a_new_name(text: str) -> None:
    """TiDB takes the word for a moment only where one follows."""
    statement = parse_ddl(text.replace("`", ""))
    assert statement is not None and restore_statement(statement) == text


@pytest.mark.parametrize("values", ["MAXVALUE", "DEFAULT(`a`)", "1, DEFAULT", "DEFAULT(`a`), MAXVALUE"])
def test_partitions_of_a_list_are_read_with_values_that_no_list_has(values: str) -> None:
    """TiDB's parser takes them; what they are is checked later."""
    text = f"ADD PARTITION (PARTITION `p` VALUES IN ({values}))"
    assert written(text) == f"ALTER TABLE `t` {text}"


@pytest.mark.parametrize("call", ["`COMMENT`(`a`)", "`s`.`COMMENT`(`a`)", "LOWER(`a`)", "UNHEARD_OF(`a`)"])
def test_a_function_is_called_by_what_is_no_word_of_the_grammar(call: str) -> None:
    """A word of the grammar is one in back-quotes or behind a `.` only."""
    assert written(f"ADD CHECK ({call})").startswith("ALTER TABLE `t` ADD CHECK(")
    refused("ALTER TABLE t ADD CHECK (COMMENT(a))")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE schema (a INT)",
        "DROP TABLE schemas",
        "ALTER TABLE t DROP dec",
        "ALTER TABLE t DROP PARTITION by",
        "CREATE TABLE t (a CHAR BYTE)",
        "ALTER TABLE t ADD a VARCHAR(10) ASCII",
        "CREATE TABLE t (a CHAR(3) UNICODE)",
    ],
)
def test_other_spellings_of_reserved_words_are_reserved_and_short_charsets_are_of_text(text: str) -> None:
    """Back-quoted, or of a TEXT, they are read."""
    refused(text)
    parse_ddl("CREATE TABLE `schema` (`schemas` TEXT ASCII, `dec` DEC(3), v CHAR(3) AS (SCHEMA()))")


def test_recover_names_a_table_or_a_job() -> None:
    """A number behind the table says which of its drops."""
    assert parse_ddl("RECOVER TABLE t 2") == syntax.RecoverTable(T, number=2)
    assert parse_ddl("RECOVER TABLE BY JOB 7") == syntax.RecoverTable(None, job=7)


def test_locks_and_admin_statements_that_make_jobs_are_ddl() -> None:
    """ADMIN is DDL where it repairs a table or cleans up locks."""
    assert parse_ddl("LOCK TABLE t READ LOCAL, d.u WRITE") == syntax.LockTables(
        ((T, "READ LOCAL"), (syntax.TableName("d", "u"), "WRITE"))
    )
    assert parse_ddl("ADMIN CLEANUP TABLE LOCK t") == syntax.UnlockTables((T,))
    assert isinstance(parse_ddl("ADMIN REPAIR TABLE t CREATE TABLE t (a INT)"), syntax.RepairTable)


def test_an_index_type_behind_the_columns_wins_over_one_before() -> None:
    """Both places are TiDB's, and LOCK and ALGORITHM may come in any order."""
    statement = parse_ddl("CREATE UNIQUE INDEX i USING HASH ON t (a) USING BTREE LOCK NONE ALGORITHM = INPLACE")
    assert isinstance(statement, syntax.CreateIndex)
    assert (statement.key.kind, statement.key.options.using) == ("unique", "BTREE")
    assert (statement.algorithm, statement.lock) == ("INPLACE", "NONE")
    assert parse_ddl("DROP HYPO INDEX IF EXISTS i ON t") == syntax.DropIndex(T, "i", if_exists=True, hypothetical=True)
    refused("CREATE INDEX i ON t (a) LOCK = NONE LOCK = NONE")


def test_a_view_has_the_defaults_of_tidb() -> None:
    """The definer is the current user, or a user at any host."""
    view = parse_ddl("CREATE VIEW v AS SELECT 1")
    assert isinstance(view, syntax.CreateView)
    assert (view.algorithm, view.definer, view.security, view.check_option) == (
        "UNDEFINED",
        "CURRENT_USER",
        "DEFINER",
        "CASCADED",
    )
    view = parse_ddl(
        "CREATE ALGORITHM = MERGE DEFINER = root@LocalHost SQL SECURITY INVOKER VIEW v (a, b) AS SELECT 1, 2"
        " WITH LOCAL CHECK OPTION"
    )
    assert isinstance(view, syntax.CreateView)
    assert (view.algorithm, view.definer, view.security, view.check_option) == (
        "MERGE",
        "`root`@`localhost`",
        "INVOKER",
        "LOCAL",
    )
    assert view.columns == ("a", "b")


@pytest.mark.parametrize(
    ("definer", "read"),
    [
        ("root", "`root`@`%`"),
        ("'r'@'%'", "`r`@`%`"),
        ("`r` @ `H`", "`r`@`h`"),
        ("r@127.0.0.1", "`r`@`127.0.0.1`"),
        ("current_user()", "CURRENT_USER"),
        ("CURRENT_USER", "CURRENT_USER"),
    ],
)
def test_a_definer_is_read_as_tidb_reads_users(definer: str, read: str) -> None:
    """Hosts are in lower case."""
    view = parse_ddl(f"CREATE DEFINER = {definer} VIEW v AS SELECT 1")
    assert isinstance(view, syntax.CreateView)
    assert view.definer == read


def test_sequence_options_have_many_spellings() -> None:
    """Each comes out as TiDB writes it."""
    statement = parse_ddl(
        "ALTER SEQUENCE IF EXISTS s INCREMENT = -2 NOMINVALUE NO MAXVALUE CACHE 10 NO CYCLE RESTART WITH 5 RESTART"
    )
    assert statement == syntax.AlterSequence(
        syntax.TableName("", "s"),
        (
            syntax.SequenceOption("INCREMENT BY", -2),
            syntax.SequenceOption("NO MINVALUE"),
            syntax.SequenceOption("NO MAXVALUE"),
            syntax.SequenceOption("CACHE", 10),
            syntax.SequenceOption("NOCYCLE"),
            syntax.SequenceOption("RESTART WITH", 5),
            syntax.SequenceOption("RESTART"),
        ),
        if_exists=True,
    )
    refused("CREATE SEQUENCE s RESTART")
    refused("ALTER SEQUENCE s")
    refused(f"CREATE SEQUENCE s START {2**63}")


def test_cluster_objects_are_read_too() -> None:
    """TiCDC replicates none of them, but they are DDL."""
    policy = parse_ddl("CREATE OR REPLACE PLACEMENT POLICY IF NOT EXISTS p REGIONS='a,b', FOLLOWERS=2")
    assert isinstance(policy, syntax.PlacementPolicy)
    assert (policy.verb, policy.or_replace, policy.exists, len(policy.options)) == ("CREATE", True, True, 2)
    group = parse_ddl(
        "CREATE RESOURCE GROUP g RU_PER_SEC = 500, PRIORITY = HIGH BURSTABLE QUERY_LIMIT = (EXEC_ELAPSED '60s',"
        " ACTION = SWITCH_GROUP(h), WATCH = SIMILAR DURATION = '10m') BACKGROUND = (TASK_TYPES 'br')"
    )
    assert isinstance(group, syntax.ResourceGroup)
    assert group.options == (
        ("RU_PER_SEC", "500"),
        ("PRIORITY", "HIGH"),
        ("BURSTABLE", "TRUE"),
        ("QUERY_LIMIT", "(EXEC_ELAPSED = '60s' ACTION = SWITCH_GROUP(`h`) WATCH = SIMILAR DURATION = '10m')"),
        ("BACKGROUND", "(TASK_TYPES = 'br')"),
    )
    refused("CREATE RESOURCE GROUP g RU_PER_SEC = 1 RU_PER_SEC = 2")


# -- ALTER TABLE -------------------------------------------------------------------------------------------------


def test_table_options_without_commas_are_one_spec_and_with_commas_several() -> None:
    """TiDB makes jobs of specs, so that the comma counts."""
    (first,) = specs("COMMENT 'x' CHARSET utf8 AUTO_INCREMENT = 5")
    assert isinstance(first, syntax.SetOptions)
    assert [option.name for option in first.options] == ["COMMENT", "CHARSET", "AUTO_INCREMENT"]
    assert len(specs("COMMENT 'x', CHARSET utf8, AUTO_INCREMENT = 5")) == 3


def test_force_is_a_spec_alone_and_part_of_an_option_before_auto_increment() -> None:
    """`FORCE, AUTO_INCREMENT = 1` is two specs."""
    assert [type(spec) for spec in specs("FORCE, AUTO_INCREMENT = 1")] == [syntax.Clause, syntax.SetOptions]
    forced = spec("FORCE AUTO_INCREMENT = 1")
    assert isinstance(forced, syntax.SetOptions)
    (option,) = forced.options
    assert (option.name, option.value, option.force) == ("AUTO_INCREMENT", "1", True)


@pytest.mark.parametrize(
    "last",
    [
        "PARTITION BY HASH (a) PARTITIONS 2",
        "REMOVE PARTITIONING",
        "REMOVE TTL",
        "PARTITION p1 PLACEMENT POLICY p2",
        "REORGANIZE PARTITION p0 INTO (PARTITION p0 VALUES LESS THAN (5))",
        "PARTITION p ATTRIBUTES 'x'",
        "SPLIT MAXVALUE PARTITION LESS THAN (60)",
        "MERGE FIRST PARTITION LESS THAN (60)",
    ],
)
def test_some_specs_stand_alone_or_behind_all_others_without_a_comma(last: str) -> None:
    """TiDB takes no comma before them, and nothing behind."""
    assert len(specs(last)) == 1
    assert len(specs(f"ADD d TEXT(50) {last}")) == 2
    refused(f"ALTER TABLE t ADD d TEXT(50), {last}")
    refused(f"ALTER TABLE t {last}, ADD d TEXT(50)")


def test_a_column_is_added_with_or_without_the_word_and_its_place() -> None:
    """FIRST and AFTER come behind all options of the column."""
    for text in ("ADD c INT NOT NULL DEFAULT 5 FIRST", "ADD COLUMN c INT NOT NULL DEFAULT 5 FIRST"):
        added = spec(text)
        assert isinstance(added, syntax.AddColumns)
        assert (added.columns[0].name, added.place, added.parenthesised) == ("c", syntax.ColumnPosition(), False)
    added = spec("ADD COLUMN IF NOT EXISTS (a INT, b INT, INDEX i (a))")
    assert isinstance(added, syntax.AddColumns)
    assert ([column.name for column in added.columns], len(added.keys), added.if_not_exists) == (["a", "b"], 1, True)


def test_a_column_may_be_named_with_its_table() -> None:
    """The table's name is kept apart."""
    assert spec("DROP COLUMN IF EXISTS d.t.c RESTRICT") == syntax.DropColumn("c", True, qualifier="d.t")
    changed = spec("CHANGE t.a b INT AFTER t.c")
    assert isinstance(changed, syntax.ChangeColumn)
    assert (changed.old, changed.qualifier, changed.place) == ("a", "t", syntax.ColumnPosition("c", "t"))
    modified = spec("MODIFY IF EXISTS a BIGINT")
    assert isinstance(modified, syntax.ModifyColumn) and modified.if_exists


def test_a_default_is_a_literal_or_an_expression_in_parentheses() -> None:
    """Parentheses around a literal count for nothing."""
    default = spec("ALTER COLUMN a SET DEFAULT ('x')")
    assert default == spec("ALTER a SET DEFAULT 'x'")
    assert isinstance(default, syntax.AlterDefault) and default.default and default.default.kind == "string"
    computed = spec("ALTER a SET DEFAULT (UUID())")
    assert isinstance(computed, syntax.AlterDefault) and computed.default and computed.default.kind == "expression"
    assert spec("ALTER a DROP DEFAULT") == syntax.AlterDefault("a", None)
    refused("ALTER TABLE t ALTER a SET DEFAULT UUID()")


def test_keys_are_added_dropped_renamed_and_hidden() -> None:
    """KEY and INDEX are one word."""
    assert isinstance(spec("ADD UNIQUE KEY u (a)"), syntax.AddKey)
    assert isinstance(spec("ADD CONSTRAINT c CHECK (a > 0)"), syntax.AddKey)
    assert spec("DROP KEY IF EXISTS i") == syntax.DropKey("index", "i", if_exists=True)
    assert spec("DROP PRIMARY KEY") == syntax.DropKey("primary")
    assert spec("DROP CONSTRAINT c") == spec("DROP CHECK c") == syntax.DropKey("check", "c")
    assert spec("RENAME KEY a TO b") == syntax.RenameIndex("a", "b")


@pytest.mark.parametrize("word", ["TO ", "AS ", "= ", ""])
def test_a_table_is_renamed_in_four_spellings(word: str) -> None:
    """RENAME without a word is one of them."""
    assert spec(f"RENAME {word}d.u") == syntax.RenameTo(syntax.TableName("d", "u"))


def test_partitions_are_named_all_or_none() -> None:
    """LOCAL is another word for NO_WRITE_TO_BINLOG."""
    assert spec("DROP PARTITION IF EXISTS p0, p1") == syntax.PartitionAction("DROP", ("p0", "p1"), if_exists=True)
    assert spec("TRUNCATE PARTITION ALL") == syntax.PartitionAction("TRUNCATE", ())
    assert spec("REBUILD PARTITION LOCAL p") == syntax.PartitionAction("REBUILD", ("p",), no_write_to_binlog=True)
    assert spec("DISCARD PARTITION p TABLESPACE") == syntax.PartitionAction("DISCARD", ("p",))
    assert spec("DISCARD TABLESPACE") == syntax.Clause("DISCARD TABLESPACE")
    assert spec("REORGANIZE PARTITION") == syntax.ReorganizePartition(())
    added = spec("ADD PARTITION IF NOT EXISTS NO_WRITE_TO_BINLOG PARTITIONS 3")
    assert isinstance(added, syntax.AddPartitions) and (added.count, added.no_write_to_binlog) == (3, True)


def test_an_exchange_validates_unless_it_says_otherwise() -> None:
    """WITH VALIDATION is what it is by default."""
    assert spec("EXCHANGE PARTITION p WITH TABLE u") == syntax.ExchangePartition("p", syntax.TableName("", "u"))
    assert spec("EXCHANGE PARTITION p WITH TABLE u WITH VALIDATION") == syntax.ExchangePartition(
        "p", syntax.TableName("", "u")
    )
    assert spec("EXCHANGE PARTITION p WITH TABLE u WITHOUT VALIDATION") == syntax.ExchangePartition(
        "p", syntax.TableName("", "u"), validation=False
    )


def test_interval_partitions_have_a_bound() -> None:
    """FIRST drops, LAST adds, MERGE and SPLIT change."""
    for text, verb in (
        ("FIRST", "FIRST"),
        ("LAST", "LAST"),
        ("MERGE FIRST", "MERGE FIRST"),
        ("SPLIT MAXVALUE", "SPLIT MAXVALUE"),
    ):
        found = spec(f"{text} PARTITION LESS THAN (10 + 5)")
        assert isinstance(found, syntax.IntervalPartitionSpec)
        assert (found.verb, found.bound.text) == (verb, "10 + 5")


def test_settings_of_tidb_alone_are_specs() -> None:
    """Attributes, cache, replicas, time to live."""
    assert spec("ATTRIBUTES = 'merge_option=deny'") == syntax.Attributes("merge_option=deny")
    assert spec("ATTRIBUTES DEFAULT") == syntax.Attributes(None)
    assert spec("SET TIFLASH REPLICA 2 LOCATION LABELS 'a', 'b'") == syntax.TiflashReplica(2, ("a", "b"))
    assert spec("REMOVE TTL") == syntax.RemoveTtl()
    assert spec("CONVERT TO CHARACTER SET DEFAULT COLLATE utf8mb4_bin") == syntax.ConvertCharset("", "utf8mb4_bin")
    assert spec("LOCK = none") == syntax.Clause("LOCK", "NONE")
    assert isinstance(spec("PARTITION p ATTRIBUTES DEFAULT"), syntax.PartitionOptions)
    refused("ALTER TABLE t LOCK = SOMETIMES")
    refused("ALTER TABLE t ALGORITHM = MAGIC")


def test_an_alter_table_may_say_nothing() -> None:
    """TiDB takes it, and makes no job of it."""
    assert specs("") == ()


def test_a_whole_table_is_read_by_the_reader_of_tables() -> None:
    """CREATE TABLE, its temporary kinds, LIKE and SELECT."""
    for text in (
        "CREATE TABLE t (a INT)",
        "CREATE TEMPORARY TABLE t (a INT)",
        "CREATE TABLE t LIKE d.u",
        "CREATE GLOBAL TEMPORARY TABLE t (a INT) ON COMMIT DELETE ROWS",
        "CREATE TABLE t AS SELECT 1",
    ):
        assert isinstance(parse_ddl(text), syntax.CreateTable)
