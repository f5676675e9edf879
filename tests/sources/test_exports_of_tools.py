"""Exports as mysqldump, mydumper, phpMyAdmin, Dumpling and spreadsheets write them, through `diff`."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from support.playing import error_of, play

MYSQLDUMP = """-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)
--
-- Host: 127.0.0.1    Database: shop
-- ------------------------------------------------------
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!50503 SET NAMES utf8mb4 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */ /*!80016 DEFAULT ENCRYPTION='N' */;

USE `shop`;

--
-- Table structure for table `part`; it's "here"
--
DROP TABLE IF EXISTS `part`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
CREATE TABLE `part` (
  `id` int NOT NULL,
  `name` varchar(40) DEFAULT 'a;b',
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
/*!50100 PARTITION BY HASH (`id`)
PARTITIONS 2 */;

LOCK TABLES `part` WRITE;
/*!40000 ALTER TABLE `part` DISABLE KEYS */;
INSERT INTO `part` VALUES (1,'one; (two)'),(2,'it\\'s \\"x\\"');
INSERT INTO `part` VALUES (3,NULL);
/*!40000 ALTER TABLE `part` ENABLE KEYS */;
UNLOCK TABLES;
/*!50003 SET sql_mode              = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `tr` BEFORE INSERT ON `part` FOR EACH ROW BEGIN
SET NEW.name = 'don''t'; INSERT INTO `part` VALUES (9,'no');
END */;;
DELIMITER ;
/*!50001 DROP VIEW IF EXISTS `v`*/;
/*!50001 CREATE VIEW `v` AS SELECT
 1 AS `id`*/;

CREATE DATABASE IF NOT EXISTS other;
USE other;
CREATE TABLE `t` (`id` int NOT NULL, `b` blob);
INSERT INTO `t` (`id`, `b`) VALUES (1,_binary 'x');
INSERT INTO `t` (`id`, `b`) VALUES (2,0x79);
INSERT INTO shop.part VALUES (4,"four");
CREATE TABLE `it's;"` (`i"d` int PRIMARY KEY); -- one ` in a comment
INSERT INTO `it's;"` VALUES (1);
ALTER TABLE `t` ADD PRIMARY KEY (`id`), ADD KEY `b` (`b`(3));
-- Dump completed on 2024-02-03 10:11:12
"""

Changes = Callable[..., list[str]]


@pytest.fixture
def changes(empty: Path, capsys: pytest.CaptureFixture[str]) -> Changes:
    """What `diff` of nothing and an export sends, an event a line without its place; the error if there is one."""
    uri = "kafka://127.0.0.1:9092/t?protocol=canal-json&enable-tidb-extension=true&partition-num=1"

    def diff(after: Path, *options: object, before: Path = empty) -> list[str]:
        capsys.readouterr()
        times = ("--resolved-interval", "1h", "--ddl-at", "start")
        code = play("diff", before, after, "--sink-uri", uri, "--console", *times, *options)
        shown = capsys.readouterr()
        if code:
            return [line for line in shown.err.splitlines() if line.startswith("ticdc-sim")]
        lines = (line.split(" ", 3) for line in shown.out.splitlines() if line.startswith("t/0@"))
        return sorted(rest for *_, rest in lines if rest != "WATERMARK")

    return diff


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """An export with no table."""
    directory = tmp_path / "empty"
    directory.mkdir()
    (directory / "metadata").write_text("")
    return directory


def export(directory: Path, files: dict[str, bytes | str]) -> Path:
    directory.mkdir()
    for name, content in files.items():
        (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return directory


@pytest.mark.slow
@pytest.mark.parametrize("compressed", [False, True])
def test_a_dump_in_one_file_has_many_tables(changes: Changes, tmp_path: Path, compressed: bool) -> None:
    """Its DDL is executed; comments, views and triggers are none of its rows."""
    dump = tmp_path / ("dump.sql.gz" if compressed else "dump.sql")
    dump.write_bytes(gzip.compress(MYSQLDUMP.encode()) if compressed else b"\xef\xbb\xbf" + MYSQLDUMP.encode())
    found = changes(dump)
    assert [line for line in found if line.startswith("INSERT")] == [
        'INSERT other."it\'s;\\"" "i\\"d"=1',
        "INSERT other.t id=1 b=0x78",
        "INSERT other.t id=2 b=0x79",
        'INSERT shop.part id=1 name="one; (two)"',
        'INSERT shop.part id=2 name="it\'s \\"x\\""',
        "INSERT shop.part id=3 name=NULL",
        "INSERT shop.part id=4 name=four",
    ]


def test_a_dump_is_the_directory_of_the_same_tables(changes: Changes, tmp_path: Path) -> None:
    """Also with strings of both kinds, and the keys that phpMyAdmin adds later."""
    directory = export(
        tmp_path / "dumpling",
        {
            "shop.t-schema.sql": "CREATE TABLE `t` (`id` int NOT NULL, `v` varchar(9), PRIMARY KEY (`id`) NONCLUSTERED);",
            "shop.t.000000000.sql": "INSERT INTO `t` VALUES (1,'it''s'),(2,'\"'),(3,NULL);\n",
        },
    )
    dump = tmp_path / "dump.sql"
    dump.write_text(
        '-- phpMyAdmin SQL Dump\n-- Database: `shop`\nSET SQL_MODE = "NO_AUTO_VALUE_ON_ZERO";\nSTART TRANSACTION;\n'
        "CREATE TABLE `t` (`id` int(11) NOT NULL, `v` varchar(9) DEFAULT NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;\n"
        "INSERT INTO `t` (`id`, `v`) VALUES\n(1, \"it's\"),\n(2, '\"');\nINSERT INTO `t` (`id`, `v`) VALUES\n(3, NULL);\n"
        "ALTER TABLE `t` ADD PRIMARY KEY (`id`);\nCOMMIT;\n"
    )
    assert changes(dump, before=directory) == []


@pytest.mark.slow
def test_a_dump_in_utf16_without_a_word_of_it_is_named(changes: Changes, tmp_path: Path) -> None:
    """With the option that reads it."""
    (tmp_path / "dump.sql").write_bytes(MYSQLDUMP.encode("utf-16"))
    (line,) = changes(tmp_path / "dump.sql")
    assert line.endswith(
        "is not UTF-8: it is UTF-16, little-endian; accepted: UTF-8, or with --charset latin1, gbk, gb18030, utf16"
    )
    assert len([line for line in changes(tmp_path / "dump.sql", "--charset", "utf16") if "INSERT" in line]) == 7


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("CREATE TABLE t (id INT);", "line 1: [planner:1046] No database selected: USE db; before it says in which"),
        ("USE a;\nINSERT INTO t VALUES (1);", "line 2: rows of table `t` before its CREATE TABLE"),
        ("USE a;\nCREATE TABLE t (id INT);\nDELETE FROM t;", "line 3: only CREATE, ALTER, DROP and INSERT with VALUES"),
        ("USE a;\nCREATE TABLE t (id INT,);", "line 2: "),
        ("USE a;\nCREATE TABLE t (id INT);\nINSERT INTO t VALUES (1", "line 3: the file ends inside a statement"),
        ("USE a;\nCREATE TABLE t (id INT PRIMARY KEY);\nINSERT INTO t VALUES (1,2);", "line 3: wrong number of fields"),
    ],
)
def test_a_dump_that_cannot_be_read_says_where(changes: Changes, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "dump.sql").write_text(text)
    (line,) = changes(tmp_path / "dump.sql")
    assert says in line


def test_mydumpers_export_is_read(changes: Changes, tmp_path: Path) -> None:
    """Strings in double quotes, files with two indexes, a table in the place of a view, a place in MySQL's binlog."""
    mydumper = export(
        tmp_path / "mydumper",
        {
            "metadata": "Started dump at: 2024-02-03 10:11:12\nSHOW MASTER STATUS:\n\tLog: binlog.000002\n\tPos: 157\n",
            "shop-schema-create.sql": "CREATE DATABASE `shop`;\n",
            "shop.t-schema.sql": "/*!40101 SET NAMES binary*/;\n/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n\n"
            "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `v` varchar(20),\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB;\n",
            "shop.t.00000.sql": '/*!40101 SET NAMES binary*/;\nINSERT INTO `t` VALUES(1,"a\\"b\'c")\n,(2,"")\n,(3,NULL);\n',
            "shop.t.00001.00002.sql": 'INSERT INTO `t` VALUES(4,"d;e");\n',
            "shop.v-schema.sql": "CREATE TABLE `v`(\n`id` int\n)ENGINE=MyISAM;\n",
            "shop.v-schema-view.sql": "DROP TABLE IF EXISTS `v`;\nCREATE VIEW `v` AS SELECT `id` FROM `t`;\n",
        },
    )
    found = changes(mydumper)
    assert [line.split(" ", 1)[0] for line in found] == ["DDL", "DDL", "INSERT", "INSERT", "INSERT", "INSERT"]
    assert 'INSERT shop.t id=1 v="a\\"b\'c"' in found
    assert 'INSERT shop.t id=4 v="d;e"' in found


PLUS = ("--csv-separator", "|+|", "--csv-delimiter", "")
SCHEMA = "CREATE TABLE `t` (`id` int PRIMARY KEY, `v` varchar(20), `b` varbinary(9));"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "options", "row"),
    [
        ("shop.t.csv", b"\xef\xbb\xbfid,v,b\n1,x,y\n", (), "v=x b=0x79"),
        ("shop.t.csv", b"\xef\xbb\xbf1,x,y\n", (), "v=x b=0x79"),
        ("shop.t.sql", b"\xef\xbb\xbfINSERT INTO t VALUES (1,'x','y');", (), "v=x b=0x79"),
        ("shop.t.csv", b"1,\xe9\x80\x81,\xe9\x80\x81\n", ("--charset", "latin1"), 'v="é€\\x81" b=0xe98081'),
        ("shop.t.sql", b"INSERT INTO t VALUES (1,'\xe9',0xe980);", ("--charset", "latin1"), "v=é b=0xe980"),
        ("shop.t.sql", b"INSERT INTO t VALUES (1,'\xd6\x5c\xce\xc4',x'ff');", ("--charset", "gbk"), "v=謀文 b=0xff"),
        ("shop.t.csv", b"1,\xd6\xd0,\xd6\xd0\xce\xc4\n", ("--charset", "gbk"), "v=中 b=0xd6d0cec4"),
        ("shop.t.sql", b"INSERT INTO t VALUES (1,'a',_binary '\x81\x5c0');", ("--charset", "gbk"), "v=a b=0x815c30"),
        ("shop.t.csv", "1,㐀,㐀\n".encode("gb18030"), ("--charset", "gb18030"), "v=㐀 b=0x8139ee39"),
        ("shop.t.csv", "\ufeffid,v,b\n1,é,y\n".encode("utf-16"), ("--charset", "utf16"), "v=é b=0x79"),
        ("shop.t.csv", b"1;'it''s;';y\n", ("--csv-separator", ";", "--csv-delimiter", "'"), 'v="it\'s;" b=0x79'),
        ("shop.t.csv", b'1\tx,"\ty\n', ("--csv-separator", "\\t", "--csv-delimiter", ""), 'v="x,\\"" b=0x79'),
        ("shop.t.0.csv", b'1|+|"x|+|\\""|+|"y"\r\n', ("--csv-separator", "|+|"), 'v="x|+|\\"" b=0x79'),
        ("shop.t.0.csv", b"id|+|v|+|b\r\n1|+|a\\|+|\\n\\N\\\\|+|y\r\n", PLUS, 'v="a|+|\\nN\\\\" b=0x79'),
        ("shop.t.csv", b"1||NA||y\n", ("--csv-separator", "||", "--csv-null-value", "NA"), "v=NULL b=0x79"),
        ("shop.t.csv", b"1\x01x\x01y\n", ("--csv-separator", "\\x01"), "v=x b=0x79"),
    ],
)
def test_text_files_are_read_as_the_options_say(
    changes: Changes, tmp_path: Path, name: str, content: bytes, options: tuple[str, ...], row: str
) -> None:
    directory = export(tmp_path / "mine", {"shop.t-schema.sql": SCHEMA, name: content})
    assert changes(directory, *options)[-1] == f"INSERT shop.t id=1 {row}"


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        (b"1,\x81\xff,y\n", ("--charset", "gbk"), "shop.t.csv: not gbk: bytes 81 ff 2c 79 at byte 2"),
        (
            "1,a,中\n".encode("utf-16"),
            ("--charset", "utf16"),
            "binary column 'b' has bytes as they are in a file with --charset utf16",
        ),
        (b"1,a,b\n", ("--csv-separator", ""), "csv-separator '': accepted is one or more characters"),
        (b"1,a,b\n", ("--csv-delimiter", "''"), "csv-delimiter \"''\": accepted is one ASCII character"),
        (b"1,a,b\n", ("--csv-delimiter", ","), "csv-delimiter ',' is part of csv-separator ',' (the default)"),
        (b"1,a,b\n", ("--csv-separator", '"'), "csv-delimiter '\"' (the default) is part of csv-separator '\"'"),
        (b"1,a,b\n", ("--csv-null-value", "a,b"), "csv-separator ',' (the default) is part of csv-null-value 'a,b'"),
        (b"1,a,b\n", ("--csv-separator", "\udcff"), "csv-separator '\\udcff': accepted is one or more characters of"),
        (b"1,a,b\n", ("--csv-null-value", "\udcff"), "csv-null-value '\\udcff': accepted are characters of UTF-8"),
    ],
)
def test_what_the_options_do_not_fit_is_named(
    changes: Changes, tmp_path: Path, content: bytes, options: tuple[str, ...], says: str
) -> None:
    directory = export(tmp_path / "mine", {"shop.t-schema.sql": SCHEMA, "shop.t.csv": content})
    (line,) = changes(directory, *options)
    assert says in line


def test_a_step_and_verify_read_the_same_files(empty: Path, tmp_path: Path) -> None:
    """Keys of a scenario and options of `verify` are called as those of `diff`."""
    export(tmp_path / "mine", {"shop.t-schema.sql": SCHEMA, "shop.t.csv": b"1;\xe9;\n"})
    keys = 'charset = "latin1"\ncsv-separator = ";"\n'
    (tmp_path / "a.toml").write_text(f'[[step]]\nsnapshot = "empty"\n[[step]]\nsnapshot = "mine"\n{keys}')
    assert play("run", tmp_path / "a.toml", "--fixtures", tmp_path / "out", "--truth", tmp_path / "truth") == 0
    told = ("--charset", "latin1", "--csv-separator", ";")
    assert play("verify", "--truth", tmp_path / "truth", "--against", tmp_path / "mine", *told) == 0
    assert play("verify", "--truth", tmp_path / "truth", "--against", tmp_path / "mine", *told[:2]) == 2
    assert "--charset and --csv-… are about the files of --before" in error_of("verify", tmp_path / "out", *told)
