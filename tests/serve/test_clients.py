"""Clients that nobody here wrote: each creates tables, writes, reads back and fails on purpose.

The fixture `shop` verifies their messages.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import io
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mysql.connector
import pymysql
import pytest
import sqlalchemy as sa
from mysql_mimic.charset import Collation
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from support.java_programs import JavaProcess, java_process

from simulator import TiCDC
from simulator.api.server import ServedDatabase, TiCDCServer
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import failure_lines

SINK_URI = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=2"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ServedDatabase]:
    """The database `shop`. After the test its messages must lead to its rows."""
    truth, messages = tmp_path / "truth", tmp_path / "messages"
    with TiCDC(sink_uri=SINK_URI, databases=("shop",), fixtures=messages) as ticdc:
        with TiCDCServer(ticdc) as server:
            yield ServedDatabase(server, "shop")
        rows = ticdc.truth(truth)
    assert rows
    assert [*failure_lines(verify(VerifyOptions(str(messages), truth=truth)))] == []


DAY = datetime.date(1990, 1, 2)


def test_pymysql(shop: ServedDatabase, connect: Callable[..., Any]) -> None:
    client = connect(shop.port, database=shop.name, autocommit=None)
    with client.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, price DECIMAL(8,2), day DATE, b BLOB, UNIQUE (day))"
        )
        values = (decimal.Decimal("2.50"), DAY, b"\x00\xff'\\")
        cursor.executemany("INSERT INTO item (price, day, b) VALUES (%s, %s, %s)", [values, (None, None, None)])
        assert cursor.lastrowid == 1
        client.commit()
        cursor.execute("SELECT * FROM item ORDER BY id")
        assert cursor.fetchall() == ((1, *values), (2, None, None, None))
        assert cursor.execute("UPDATE item SET price = 2.5 WHERE id = 1") == 0
        with pytest.raises(pymysql.err.IntegrityError) as failure:
            cursor.execute("INSERT INTO item (day) VALUES (%s)", (DAY,))
        assert failure.value.args == (1062, "Duplicate entry '1990-01-02' for key 'item.day'")
        cursor.execute("DELETE FROM item WHERE id = 2")
        client.commit()


def test_found_rows_counts_what_matches(shop: ServedDatabase, connect: Callable[..., Any]) -> None:
    flags = pymysql.constants.CLIENT.FOUND_ROWS | pymysql.constants.CLIENT.MULTI_STATEMENTS
    with connect(shop.port, database=shop.name, client_flag=flags).cursor() as cursor:
        cursor.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT); INSERT INTO t VALUES (1, 1), (2, 2); SELECT 7")
        assert [cursor.nextset(), cursor.nextset()] == [True, True]
        assert cursor.fetchall() == ((7,),)
        assert cursor.execute("UPDATE t SET n = 1") == 2
        assert cursor.execute("INSERT INTO t VALUES (1, 1), (2, 7), (3, 3) ON DUPLICATE KEY UPDATE n = VALUES(n)") == 4
        assert cursor._result.message.endswith(b"Records: 3  Duplicates: 2  Warnings: 0")
        cursor.execute("SELECT ROW_COUNT()")
        cursor.execute("UPDATE t SET n = n")
        cursor.execute("SELECT ROW_COUNT()")
        assert cursor.fetchall() == ((3,),)


COM_RESET_CONNECTION = 0x1F


class Silent(pymysql.connections.Connection):
    """A client that sends no SET NAMES."""

    def set_character_set(self, charset: str, collation: str | None = None) -> None:
        pass


COLLATIONS = {
    "utf8mb4_general_ci": ("utf8mb4", "utf8mb4", "utf8mb4_general_ci", 1),
    "utf8mb4_0900_ai_ci": ("utf8mb4", "utf8mb4", "utf8mb4_0900_ai_ci", 1),
    "utf8mb4_swedish_ci": ("utf8mb4", "utf8mb4", "utf8mb4_bin", 0),
    "utf8_bin": ("utf8", "utf8", "utf8_bin", 0),
    "latin1_swedish_ci": ("latin1", "utf8mb4", "utf8mb4_bin", 0),
    "latin1_bin": ("latin1", "latin1", "latin1_bin", 0),
    "binary": ("binary", "binary", "binary", 0),
    "koi8r_general_ci": ("utf8mb4", "utf8mb4", "utf8mb4_bin", 0),
    "none": ("utf8mb4", "utf8mb4", "utf8mb4_bin", 0),
}
"""By the collation of the handshake: the character set of the client, and those and the collation of the connection, and
whether 'a' equals 'A'. A character set that TiDB has not is not taken."""


@pytest.fixture(scope="module")
def greeted() -> Iterator[int]:
    """The port of a server."""
    with TiCDC(sink_uri=SINK_URI, databases=("shop",)) as ticdc, TiCDCServer(ticdc) as server:
        yield server.port


@pytest.mark.parametrize("collation", COLLATIONS)
def test_handshake_sets_the_character_set(greeted: int, monkeypatch: pytest.MonkeyPatch, collation: str) -> None:
    """tidb pkg/session/session.go, SetCollation."""
    charset, of_connection, connection, equal = COLLATIONS[collation]
    number = Collation[collation].value if collation in Collation.__members__ else 254
    chosen = SimpleNamespace(id=number, encoding="utf8")
    monkeypatch.setattr(pymysql.connections, "charset_by_name", lambda name: chosen)
    client: Any = Silent(port=greeted, user="root")
    variables = "@@character_set_client, @@character_set_results, @@character_set_connection, @@collation_connection"
    with client.cursor() as cursor:
        for _ in range(2):
            cursor.execute(f"SELECT {variables}, 'a' = 'A'")
            rows = [[cell.decode() if isinstance(cell, bytes) else cell for cell in row] for row in cursor.fetchall()]
            assert rows == [[charset, charset, of_connection, connection, equal]]
            client._execute_command(COM_RESET_CONNECTION, b"")
            client._read_ok_packet()


def test_load_data_local(shop: ServedDatabase, connect: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "items.csv"
    load = f"LOAD DATA LOCAL INFILE '{file}'"
    client = connect(shop.port, database=shop.name, local_infile=True)
    with client.cursor() as cursor:
        cursor.execute("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(8,2), at DATE NOT NULL)")
        file.write_bytes(b"1\tpen\t2.5\t2024-01-02\n2\t\\N\ta\\\tb\t2024-01-03\n3\n1\tink\t1\t2024-01-04\n")
        assert cursor.execute(f"{load} INTO TABLE item") == 3
        cursor.execute("SHOW WARNINGS")
        assert {row[1] for row in cursor.fetchall()} == {1062, 1261, 1292}
        file.write_text('name;id\n"a ""b""; c";7\n"d\\ne";8\nNULL;1\n', "utf-8")
        cursor.execute(
            f"{load} REPLACE INTO TABLE item CHARACTER SET utf8mb4"
            " FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY '\\n' IGNORE 1 LINES"
            " (name, @number) SET id = @number * 10, price = LENGTH(@number), at = '2024-05-06'"
        )
    wrong = {"nowhere": 1146, "item (x)": 1054, "item FIELDS ENCLOSED BY '--'": 1083}
    assert {place: client.error(f"{load} INTO TABLE {place}")[0] for place in wrong} == wrong
    rows = {row["id"]: (row["name"], row["price"], row["at"]) for row in shop.rows("item")}
    assert rows.pop(3)[:2] == (None, None)
    assert rows == {
        1: ("pen", "2.50", "2024-01-02"),
        2: (None, "0.00", "2024-01-03"),
        70: ('a "b"; c', "1.00", "2024-05-06"),
        80: ("d\ne", "1.00", "2024-05-06"),
        10: (None, "1.00", "2024-05-06"),
    }


def connector(shop: ServedDatabase, **options: Any) -> Any:
    """MySQL's own driver, which starts a process."""
    server = {"host": shop.host, "port": shop.port, "user": shop.user, "database": shop.name}
    return mysql.connector.connect(**server, use_pure=True, autocommit=True, **options)


@pytest.mark.slow
def test_mysql_connector_prepares_statements(shop: ServedDatabase) -> None:
    """Long data and a changed user among them."""
    with contextlib.closing(connector(shop)) as client:
        plain, prepared = client.cursor(), client.cursor(prepared=True)
        plain.execute(
            "CREATE TABLE v (id INT PRIMARY KEY, n BIGINT UNSIGNED, d DOUBLE, c DECIMAL(9,3), t DATETIME(6), s LONGBLOB)"
        )
        at, content = datetime.datetime(2024, 2, 29, 1, 2, 3, 456789), bytes(range(256)) * 1000
        insert, values = (
            "INSERT INTO v VALUES (%s, %s, %s, %s, %s, %s)",
            (1, 2**63, -1.5, decimal.Decimal("-3.125"), at),
        )
        prepared.execute(insert, (*values, "ä'\\"))
        prepared.execute(insert, (2, None, None, None, None, io.BytesIO(content)))
        prepared.execute("SELECT * FROM v WHERE id <= %s ORDER BY id", (2,))
        assert prepared.fetchall() == [(*values, "ä'\\".encode()), (2, None, None, None, None, content)]
        with pytest.raises(mysql.connector.errors.DatabaseError) as failure:
            prepared.execute("INSERT INTO v (id, c) VALUES (%s, %s)", (3, "x"))
        assert failure.value.errno == 1366
        for statement in ("SET @a = 7", "BEGIN", "DELETE FROM v"):
            plain.execute(statement)
        client.cmd_change_user("root", "", shop.name)
        plain = client.cursor()
        plain.execute("SELECT @a, COUNT(*) FROM v")
        assert plain.fetchall() == [(None, 2)]


@pytest.mark.slow
def test_mysql_connector_compresses(shop: ServedDatabase) -> None:
    with contextlib.closing(connector(shop, compress=True)) as client:
        cursor = client.cursor()
        cursor.execute("CREATE TABLE document (id INT PRIMARY KEY, content LONGTEXT)")
        for size in (1, 501, 2_500_001):
            cursor.execute("REPLACE INTO document VALUES (1, %s)", ("ä" * size,))
            cursor.execute("SELECT content, CHAR_LENGTH(content) FROM document")
            assert cursor.fetchall() == [("ä" * size, size)]


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customer"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50), unique=True)
    born: Mapped[datetime.date | None]
    orders: Mapped[list[Order]] = relationship(back_populates="customer", cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("customer.id"))
    total: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(10, 2))
    customer: Mapped[Customer] = relationship(back_populates="orders")


@pytest.mark.slow
def test_sqlalchemy(shop: ServedDatabase) -> None:
    engine = sa.create_engine(f"mysql+pymysql://{shop.user}@{shop.host}:{shop.port}/{shop.name}")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        orders = [Order(total=decimal.Decimal("12.50")), Order(total=decimal.Decimal(3))]
        session.add(Customer(name="Ann", born=DAY, orders=orders))
        session.commit()
    with Session(engine) as session:
        ann = session.scalars(sa.select(Customer).where(Customer.name == "Ann")).one()
        assert (ann.born, sorted(order.total for order in ann.orders)) == (DAY, [3, decimal.Decimal("12.50")])
        ann.orders[0].total += 1
        session.commit()
        session.add(Customer(name="Ann"))
        with pytest.raises(sa.exc.IntegrityError, match="Duplicate entry 'Ann' for key 'customer.name'"):
            session.commit()
        session.rollback()
        session.add(Order(customer_id=99, total=decimal.Decimal(1)))
        with pytest.raises(sa.exc.IntegrityError, match="1452"):
            session.commit()
    reflected = sa.MetaData()
    reflected.reflect(engine)
    assert [column.name for column in reflected.tables["orders"].columns] == ["id", "customer_id", "total"]
    assert [key.column.table.name for key in reflected.tables["orders"].foreign_keys] == ["customer"]
    engine.dispose()


DJANGO = """
    import sys

    import pymysql

    pymysql.version_info = (2, 2, 7, "final", 0)
    pymysql.install_as_MySQLdb()
    import django
    from django.conf import settings

    host, port, name = sys.argv[1:]
    settings.configure(
        DATABASES={
            "default": {"ENGINE": "django.db.backends.mysql", "NAME": name, "USER": "root", "HOST": host, "PORT": port}
        },
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions"],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        ALLOWED_HOSTS=["testserver"],
        ROOT_URLCONF="__main__",
        SECRET_KEY="secret",
        USE_TZ=True,
    )
    django.setup()

    from django.contrib.auth.models import Group, User
    from django.core.management import call_command
    from django.db import IntegrityError, transaction
    from django.http import HttpResponse
    from django.test import Client
    from django.urls import path

    def hello(request):
        request.session["visits"] = request.session.get("visits", 0) + 1
        return HttpResponse(f"{request.user.username} {request.session['visits']}")

    urlpatterns = [path("", hello)]

    call_command("migrate", verbosity=0)
    ann = User.objects.create_user("ann", "ann@example.com", "pen")
    ann.groups.add(Group.objects.create(name="staff"))
    try:
        with transaction.atomic():
            Group.objects.create(name="temporary")
            User.objects.create_user("ann")
    except IntegrityError as error:
        print(error.args[0], Group.objects.count())
    User.objects.filter(username="ann").update(first_name="Ann")
    print(*User.objects.values_list("username", "first_name", "groups__name", "is_active").get())
    browser = Client()
    print(browser.login(username="ann", password="pen"), browser.login(username="ann", password="ink"))
    browser.login(username="ann", password="pen")
    browser.get("/")
    print(browser.get("/").content.decode())
    ann.delete()
    print(User.objects.count())
"""


@pytest.mark.slow
def test_django(shop: ServedDatabase, tmp_path: Path) -> None:
    program = tmp_path / "shop_application.py"
    program.write_text(textwrap.dedent(DJANGO))
    command = [sys.executable, str(program), shop.host, str(shop.port), shop.name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["1062 1", "ann Ann staff True", "True False", "ann 2", "0"], done.stderr


@pytest.mark.slow
def test_the_command_line_of_mariadb(shop: ServedDatabase) -> None:
    program = shutil.which("mariadb")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no mariadb on PATH (Debian's package mariadb-client)")
    statements = """
        CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20));
        INSERT INTO item VALUES (1, 'pen'), (2, 'ink');
        UPDATE item SET name = 'cup' WHERE id = 2;
        SELECT * FROM item;
        DESC item;
        INSERT INTO item VALUES (1, 'bag');
        DELETE FROM item WHERE id = 1;
        CALL ticdc.fault('restart');
    """
    command = [program, f"-h{shop.host}", f"-P{shop.port}", f"-u{shop.user}", "--force", "--batch", shop.name]
    done = subprocess.run(command, input=statements, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [
        "id\tname",
        "1\tpen",
        "2\tcup",
        "Field\tType\tNull\tKey\tDefault\tExtra",
        "id\tint(11)\tNO\tPRI\tNULL\t",
        "name\tvarchar(20)\tYES\t\tNULL\t",
    ]
    assert "ERROR 1062 (23000) at line 7: Duplicate entry '1' for key 'item.PRIMARY'" in done.stderr


@pytest.fixture(scope="session")
def jdbc_client() -> Iterator[JavaProcess]:
    with java_process("JdbcClient", "jdbc-ivy.xml", "jdbc-client-9.1.0-4.33.0", "MySQL's JDBC driver") as process:
        yield process


@pytest.mark.interop
@pytest.mark.parametrize(
    "options", ["", "&useServerPrepStmts=true&cachePrepStmts=true", "&rewriteBatchedStatements=true"]
)
def test_jdbc(shop: ServedDatabase, jdbc_client: JavaProcess, options: str) -> None:
    url = f"jdbc:mysql://{shop.host}:{shop.port}/{shop.name}?user=root&connectionTimeZone=UTC{options}"
    assert jdbc_client.answer(url) == [
        "inserted 1",
        "key 1",
        "inserted 1",
        "key 2",
        "inserted 1",
        "key 3",
        "part 2 'ä'|14.50|2024-02-29 01:02:03.25|1969-12-31|5|18446744073709551615|-0.2|false",
        "part 3 'ä'|15.50|2024-02-29 01:02:03.25|1969-12-31|5|18446744073709551615|-0.30000000000000004|null",
        "1062 23000 Duplicate entry 'part 3 'ä'' for key 'part.name'",
        "id BIGINT,name VARCHAR,price DECIMAL,made DATETIME,day DATE,data BLOB,big BIGINT UNSIGNED,ratio DOUBLE,ok BIT,",
    ]


@pytest.mark.interop
def test_flyway(shop: ServedDatabase, jdbc_client: JavaProcess) -> None:
    url = f"jdbc:mysql://{shop.host}:{shop.port}/{shop.name}"
    assert jdbc_client.answer(f"flyway {url}") == ["migrated 2", "again 0"]
    assert shop.rows("account") == [{"id": 1, "name": "ann", "email": "a@b"}, {"id": 2, "name": "bob", "email": "none"}]


CHANGELOG = """
    <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog"
            xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
            xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog
                http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
        <changeSet id="1" author="ann">
            <preConditions><not><tableExists tableName="account"/></not></preConditions>
            <createTable tableName="account" remarks="who pays">
                <column name="id" type="int" autoIncrement="true"><constraints primaryKey="true"/></column>
                <column name="name" type="varchar(20)"><constraints nullable="false" unique="true"/></column>
                <column name="made" type="datetime" defaultValueComputed="CURRENT_TIMESTAMP"/>
            </createTable>
            <createTable tableName="payment">
                <column name="id" type="bigint"><constraints primaryKey="true"/></column>
                <column name="account_id" type="int"/>
                <column name="amount" type="decimal(10,2)" defaultValueNumeric="1.50"/>
            </createTable>
        </changeSet>
        <changeSet id="2" author="ann">
            <preConditions><primaryKeyExists tableName="payment"/></preConditions>
            <addForeignKeyConstraint constraintName="of_account" baseTableName="payment" baseColumnNames="account_id"
                referencedTableName="account" referencedColumnNames="id"/>
            <createIndex indexName="by_amount" tableName="payment"><column name="amount"/></createIndex>
            <insert tableName="account"><column name="name" value="ann"/></insert>
            <insert tableName="account"><column name="name" value="bob"/></insert>
            <insert tableName="payment">
                <column name="id" valueNumeric="7"/><column name="account_id" valueNumeric="2"/>
            </insert>
        </changeSet>
        <changeSet id="3" author="ann">
            <preConditions>
                <indexExists indexName="by_amount" tableName="payment"/>
                <foreignKeyConstraintExists foreignKeyTableName="payment" foreignKeyName="of_account"/>
                <not><columnExists tableName="account" columnName="email"/></not>
            </preConditions>
            <addColumn tableName="account">
                <column name="email" type="varchar(50)" defaultValue="none"><constraints nullable="false"/></column>
            </addColumn>
            <addNotNullConstraint tableName="payment" columnName="amount" columnDataType="decimal(10,2)"/>
            <renameColumn tableName="payment" oldColumnName="amount" newColumnName="sum" columnDataType="decimal(10,2)"/>
        </changeSet>
        <include file="more.sql"/>
    </databaseChangeLog>
"""

FORMATTED = """
    --liquibase formatted sql
    --changeset bob:4
    UPDATE account SET email = 'a@b' WHERE name = 'ann';
    CREATE VIEW rich AS SELECT account_id FROM payment WHERE sum > 100;
    --rollback DROP VIEW rich;
    --rollback UPDATE account SET email = 'none';
"""


@pytest.mark.interop
def test_liquibase(shop: ServedDatabase, jdbc_client: JavaProcess, tmp_path: Path) -> None:
    for name, text in (("changelog.xml", CHANGELOG), ("more.sql", FORMATTED)):
        (tmp_path / name).write_text(textwrap.dedent(text).strip())
    url = f"jdbc:mysql://{shop.host}:{shop.port}/{shop.name}"
    assert jdbc_client.answer(f"liquibase {url} {tmp_path}") == [
        "before 4",
        "after 0",
        "rolled back 2",
        "again 0",
        "Table 4, View 1, Column 26, PrimaryKey 3, ForeignKey 1, Index 6, UniqueConstraint 1",
    ]
    assert [(row["name"], row["email"]) for row in shop.rows("account")] == [("ann", "a@b"), ("bob", "none")]
    assert shop.rows("payment") == [{"id": 7, "account_id": 2, "sum": "1.50"}]
    assert [row["ID"] for row in shop.rows("DATABASECHANGELOG")] == ["1", "2", "3", "4"]
