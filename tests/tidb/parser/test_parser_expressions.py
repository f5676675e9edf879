"""Expressions and queries inside statements are written back as TiDB writes them, or refused with their place."""

from __future__ import annotations

import time

import pytest
from support.upstreams import cases, grouped

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions import parse_expression, parse_parenthesised
from simulator.tidb.parser.query import parse_query
from simulator.tidb.parser.script import parse_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.restore import quote_literal, quote_name, quote_string


def expression(text: str, charset: str = "utf8mb4") -> str:
    return parse_tokens(text, tokenize(text), parse_expression, charset).restored


def query(text: str) -> str:
    return parse_tokens(text, tokenize(text), parse_query).restored


EXPRESSIONS = cases(r"""
    concat(e, '-') => CONCAT(`e`, _UTF8MB4'-')
    current_timestamp => CURRENT_TIMESTAMP()
    current_timestamp ( 3 ) => CURRENT_TIMESTAMP(3)
    cast(j->'$.number[*]' as signed array) => CAST(JSON_EXTRACT(`j`, _UTF8MB4'$.number[*]') AS SIGNED ARRAY)
    j->>'$.a' => JSON_UNQUOTE(JSON_EXTRACT(`j`, _UTF8MB4'$.a'))
    a + 1 *b-c/d => `a`+1*`b`-`c`/`d`
    t.a => `t`.`a`
    a div b mod c % d => `a` DIV `b`%`c`%`d`
    a << 1 | b & c ^ ~d >> 2 => `a`<<1|`b`&`c`^~`d`>>2
    a and b && c or d || e xor f => `a` AND `b` AND `c` OR `d` OR `e` XOR `f`
    not a = b => NOT `a`=`b`
    !a => !`a`
    a <> b => `a`!=`b`
    a <=> null => `a`<=>NULL
    a is not unknown => `a` IS NOT NULL
    a is not true => `a` IS NOT TRUE
    a not in (1, 'x') => `a` NOT IN (1,_UTF8MB4'x')
    a in ((select 1)) => `a` IN ((SELECT 1))
    a in (select b from t) => `a` IN (SELECT `b` FROM `t`)
    a between 1 and 2 and b => `a` BETWEEN 1 AND 2 AND `b`
    a like 'x' escape '!' => `a` LIKE _UTF8MB4'x' ESCAPE '!'
    a like 'x' escape '\\' => `a` LIKE _UTF8MB4'x'
    a rlike 'x' => `a` REGEXP _UTF8MB4'x'
    1 member of(j) => 1 MEMBER OF (`j`)
    (a, b) = row(1, 2) => ROW(`a`,`b`)=ROW(1,2)
    ((a)) + (b) => ((`a`))+(`b`)
    case a when 1 then 'x' else null end => CASE `a` WHEN 1 THEN _UTF8MB4'x' ELSE NULL END
    case when a then b end => CASE WHEN `a` THEN `b` END
    a + interval 1 day - interval '1:2' hour_minute
        => DATE_SUB(DATE_ADD(`a`, INTERVAL 1 DAY), INTERVAL _UTF8MB4'1:2' HOUR_MINUTE)
    interval 1 sql_tsi_week + a => DATE_ADD(`a`, INTERVAL 1 WEEK)
    interval(1, 2) => INTERVAL(1, 2)
    adddate(a, 3) => ADDDATE(`a`, INTERVAL 3 DAY)
    date '2020-01-01' => DATE '2020-01-01'
    {ts '2020-01-01 00:00:00'} => TIMESTAMP '2020-01-01 00:00:00'
    x'0aFF' => x'0aff'
    0x4 => x'04'
    b'0011' => b'11'
    0b0 => b'0'
    _binary'x' => _BINARY'x'
    n'x' => _UTF8'x'
    'a' "b" 'c''d' => _UTF8MB4'abc''d'
    'a\nb\\c\%' => _UTF8MB4'a¶b\\c\\%'
    0012.50 => 12.50
    .5 => 0.5
    1.5e3 => 1.5e+03
    18446744073709551616 => 18446744073709551616
    - -1 => --1
    true or false => TRUE OR FALSE
    binary a => BINARY `a`
    a collate UTF8MB4_BIN => `a` COLLATE utf8mb4_bin
    convert(a using utf8) => CONVERT(`a` USING 'utf8')
    convert(a, unsigned integer) => CONVERT(`a`, UNSIGNED)
    cast(a as char(3) charset latin1) => CAST(`a` AS CHAR(3) CHARSET LATIN1)
    cast(a as decimal(10, 2)) => CAST(`a` AS DECIMAL(10, 2))
    char(65, a using utf8) => CHAR_FUNC(65, `a`, 'utf8')
    insert(a, 1, 2, 'x') => INSERT_FUNC(`a`, 1, 2, _UTF8MB4'x')
    mod(a, 2) => `a`%2
    extract(year_month from a) => EXTRACT(YEAR_MONTH FROM `a`)
    trim(leading from a) => TRIM(LEADING _UTF8MB4' ' FROM `a`)
    trim('x' from a) => TRIM(_UTF8MB4'x' FROM `a`)
    position('a' in b) => POSITION(_UTF8MB4'a' IN `b`)
    substring(a from 2 for 3) => SUBSTRING(`a`, 2, 3)
    count(distinct a, b) => COUNT(DISTINCT `a`, `b`)
    count(*) => COUNT(1)
    std(a) => STDDEV_POP(`a`)
    group_concat(a order by b desc separator ';') => GROUP_CONCAT(`a` ORDER BY `b` DESC SEPARATOR ';')
    sum(a) over (partition by b order by c rows 1 preceding)
        => SUM(`a`) OVER (PARTITION BY `b` ORDER BY `c` ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
    lead(a, 1) ignore nulls over w => LEAD(`a`, 1) IGNORE NULLS OVER `w`
    next value for s => NEXTVAL(`s`)
    not exists (select 1) => NOT EXISTS (SELECT 1)
    a > all (select 1) => `a`>ALL (SELECT 1)
    @@global.x + @y => @@GLOBAL.`x`+@`y`
    select.order => `select`.`order`
    `select` => `select`
    MyFunction(1) => MYFUNCTION(1)
    d.f(1) => `d`.`f`(1)
""")
QUERIES = grouped("""
    select 1 | select /*+ no such hint */ 1 | select /*+ read_from_storage( */ 1 => SELECT 1
    select /*+ memory_quota(1 */ 1 => SELECT 1
    (select 1) => (SELECT 1)
    select a, t.*, b as 'c' from t => SELECT `a`,`t`.*,`b` AS `c` FROM `t`
    select * from a, b join c on a.x = c.x => SELECT * FROM (`a`) JOIN (`b` JOIN `c` ON `a`.`x`=`c`.`x`)
    select * from a join b join c on 1 on 2 => SELECT * FROM `a` JOIN (`b` JOIN `c` ON 1) ON 2
    select * from a left outer join b using (x, y) => SELECT * FROM `a` LEFT JOIN `b` USING (`x`,`y`)
    select * from (select 1) x, b => SELECT * FROM (SELECT 1) AS `x`, `b`
    select 1 where 2 => SELECT 1 FROM DUAL WHERE 2
    select all a from t where b group by c with rollup having d order by e desc, 1 limit 2, 3 for update
        => SELECT ALL `a` FROM `t` WHERE `b` GROUP BY `c` WITH ROLLUP HAVING `d` ORDER BY `e` DESC,1 LIMIT 2,3 FOR UPDATE
    select 1 union all (select 2) order by 1 limit 1 => SELECT 1 UNION ALL (SELECT 2) ORDER BY 1 LIMIT 1
    with recursive a (x) as (select 1 union select 2) select * from a
        => WITH RECURSIVE `a` (`x`) AS (SELECT 1 UNION SELECT 2) SELECT * FROM `a`
    table t limit 1 => TABLE `t` LIMIT 1
    values row(1, 2), row(3, 4) => VALUES ROW(1,2), ROW(3,4)
    select /*+ hash_join(a, b@q) hash_agg() */ distinct sql_no_cache a from t use index (i) window w as (order by a)
        => SELECT SQL_NO_CACHE /*+ HASH_JOIN(`a`, `b`@`q`) HASH_AGG()*/ DISTINCT `a` FROM `t` USE INDEX (`i`) WINDOW `w` AS (ORDER BY `a`)
""")
AGAIN = [
    "select a from t where b like 'x%' and c in (1,2) order by d limit 3",
    "(select 1) union (select 2 limit 1) limit 2",
    "select * from ((a join b on 1) left join c on 2) join d",
]


@pytest.mark.parametrize(("text", "restored"), EXPRESSIONS)
def test_an_expression_is_written_back_as_tidb_writes_it(text: str, restored: str) -> None:
    """Sources: TiDB pkg/parser/ast/expressions.go, functions.go, pkg/types/parser_driver/value_expr.go."""
    assert expression(text) == restored


@pytest.mark.parametrize(("text", "restored"), [*QUERIES, *((query(text), query(text)) for text in AGAIN)])
def test_a_query_is_written_back_as_tidb_writes_it(text: str, restored: str) -> None:
    """Source: TiDB pkg/parser/ast/dml.go; a hint that it cannot read vanishes. What is written back is read as the same."""
    assert query(text) == restored


def test_names_and_strings_are_escaped_as_tidb_escapes_them() -> None:
    """The charset of the text is that of its strings."""
    assert quote_name("a`b") == "`a``b`"
    assert quote_string("it's a \\") == "'it''s a \\'"
    assert quote_literal("it's a \\", "utf8mb4") == "_UTF8MB4'it''s a \\\\'"
    assert expression("concat('a', n'b', _latin1'c')", "gbk") == "CONCAT(_GBK'a', _UTF8'b', _LATIN1'c')"


def test_an_expression_and_a_query_end_where_nothing_can_follow_them() -> None:
    def pair(parser: Cursor) -> tuple[syntax.Expression, syntax.Expression]:
        return parse_expression(parser), parse_parenthesised(parser)

    def view(parser: Cursor) -> syntax.EmbeddedQuery:
        found = parse_query(parser)
        parser.expect("WITH CHECK OPTION")
        return found

    text = "a + 1 ( b  or c )"
    assert parse_tokens(text, tokenize(text), pair) == (
        syntax.Expression("a + 1", "`a`+1"),
        syntax.Expression("b  or c", "`b` OR `c`"),
    )
    text = "select a from t where b with check option"
    query = parse_tokens(text, tokenize(text), view)
    assert (query.text, query.restored) == ("select a from t where b", "SELECT `a` FROM `t` WHERE `b`")


ERRORS = cases("""
    a + => line 1, column 4: the end of the statement is not expected here. Accepted: an expression
    a = = b => line 1, column 5: '=' is not expected here. Accepted: an expression
    a in () => line 1, column 7: ')' is not expected here. Accepted: an expression
    (a => line 1, column 3: the end of the statement is not expected here. Accepted: ',' or ')'
    a b => line 1, column 3: 'b' is not expected here. Accepted: the end of the statement
    select + 1 => line 1, column 1: 'select' is not expected here. Accepted: an expression
    cast(a as¶ int) => line 2, column 2: 'int' is not expected here. Accepted: BINARY, CHAR, DATE
    a collate nonsense => Unknown collation: 'nonsense'
    _gbk'x' => Unsupported character introducer: 'gbk'
    x'123' => line 1, column 1: a hexadecimal literal takes an even number of digits
    1e999 => Illegal double '1e999' value found during parsing
    now (3) => line 1, column 1: NOW takes its '(' right after its name
    row_number() => 'OVER'
    a like 'x' escape 'ab' => ESCAPE takes one character
    date_add(a, interval 1 fortnight) => Accepted: a unit of time
""")


@pytest.mark.parametrize(("text", "error"), [*ERRORS, ("(" * 3000, "nested too deeply")])
def test_an_error_names_its_position(text: str, error: str) -> None:
    with pytest.raises(SchemaError) as raised:
        expression(text)
    assert error in str(raised.value)


def test_nested_parentheses_and_intervals_take_no_more_than_their_length() -> None:
    began = time.perf_counter()
    for text in ("(" * 60 + "select", "interval " * 60, "a in (" * 60, "((select 1) union " * 20):
        with pytest.raises(SchemaError):
            expression(text)
    assert time.perf_counter() - began < 5
