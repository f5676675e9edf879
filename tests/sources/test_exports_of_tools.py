"""Exports as mysqldump, mydumper, phpMyAdmin, Dumpling and spreadsheets write them, through `diff`."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from support.playing import play

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
ALTER TABLE `t` ADD PRIMARY KEY (`id`), ADD KEY `b` (`b`(3));
-- Dump completed on 2024-02-03 10:11:12
"""

Changes = Callable[..., list[str]]


@pytest.fixture
def changes(capsys: pytest.CaptureFixture[str]) -> Changes:
    """What `diff` sends, an event a line without its place; the error if there is one."""

    def diff(before: Path, after: Path, *options: object) -> list[str]:
        uri = "kafka://127.0.0.1:9092/t?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
        capsys.readouterr()
        code = play(
            "diff", before, after, "--sink-uri", uri, "--console", "--resolved-interval", "1h", "--ddl-at", "start", *options
        )
        shown = capsys.readouterr()
        if code:
            return [line for line in shown.err.splitlines() if line.startswith("ticdc-sim")]
        lines = (line.split(" ", 2) for line in shown.out.splitlines() if line.startswith("t/0@"))
        return sorted(rest for _, _, rest in lines if "WATERMARK" not in rest)

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


@pytest.mark.parametrize("compressed", [False, True])
def test_a_dump_in_one_file_has_many_tables(changes: Changes, empty: Path, tmp_path: Path, compressed: bool) -> None:
    """Its DDL is executed; comments, views and triggers are none of its rows."""
    dump = tmp_path / ("dump.sql.gz" if compressed else "dump.sql")
    dump.write_bytes(gzip.compress(MYSQLDUMP.encode()) if compressed else b"\xef\xbb\xbf" + MYSQLDUMP.encode())
    found = changes(empty, dump)
    assert [line for line in found if line.startswith("INSERT")] == [
        "INSERT other.t id=1 b=x",
        "INSERT other.t id=2 b=y",
        "INSERT shop.part id=1 name='one; (two)'",
        "INSERT shop.part id=2 name='it\\'s \"x\"'",
        "INSERT shop.part id=3 name=NULL",
        "INSERT shop.part id=4 name=four",
    ]
