"""Results of functions, recorded from TiDB v8.0."""

from __future__ import annotations

import pytest
from support.upstreams import grouped, in_test, played, shown

from simulator.releases import find
from simulator.tidb.errors import SqlError

NEW = played("SET time_zone = '+00:00'; SET timestamp = 1700000000", in_test(find("v8.0.0"))).upstream

KEY, START = "2B7E151628AED2A6ABF7158809CF4F3C", "000102030405060708090A0B0C0D0E0F"
TWO_BLOCKS = "6BC1BEE22E409F96E93D7E117393172AAE2D8A571E03AC9C9EB76FAC45AF8E51"

RESULTS = grouped(r"""
    json_array(1, 'a', null, true, 1.5, now(), x'41')
        => [1, "a", null, true, 1.5, "2023-11-14 22:13:20.000000", "base64:type253:QQ=="]
    json_object('b', 1, 'a', json_array(date'2020-01-01', '[1]'), 'b', 2) => {"a": ["2020-01-01", "[1]"], "b": 2}
    json_extract('{"a":[1,2,{"c":null}]}', '$.a[last].c', '$.a[0 to 1]') => [null, 1, 2]
    json_extract('[1,2]', '$[5]') => NULL
    json_set('{"a":1}', '$.a', 2, '$.b[1]', 3, '$[1]', 4) => [{"a": 2}, 4]
    json_insert('[1]', '$[0]', 9, '$[3]', 2) => [1, 2]
    json_replace('{"a":1}', '$.a', 3, '$.b', 4) => {"a": 3}
    json_remove('{"a":[1,2]}', '$.a[last]') => {"a": [1]}
    json_array_append('[[1],2]', '$[0]', 5, '$[1]', null) => [[1, 5], [2, null]]
    json_array_insert('[1]', '$[0]', 0, '$[9]', 2) => [0, 1, 2]
    json_merge_patch('{"a":1,"b":{"c":1}}', '{"a":null,"b":{"d":2}}') => {"b": {"c": 1, "d": 2}}
    json_merge_preserve('{"a":1}', '{"a":2}', '3') => [{"a": [1, 2]}, 3]
    json_contains('{"a":[1,2]}', '1', '$.a') | json_overlaps('[1,2]', '[2,3]') | 2 member of ('[1,2]') => 1
    json_contains_path('{"a":1}', 'all', '$.a', '$.b') => 0
    json_search('{"k é":["x",{"a":"xy"}]}', 'all', 'x%') => ["$.\"k é\"[0]", "$.\"k é\"[1].a"]
    json_type(json_extract('[1.0,1]', '$[0]')) => DOUBLE
    json_type(cast(18446744073709551615 as json)) => UNSIGNED INTEGER
    json_pretty('{"a":[1]}') => {¶  "a": [¶    1¶  ]¶}
    json_storage_size('{"a":1,"b":[1,2,{"c":null}]}') => 100
    json_depth('[[1,2],[3,[4]]]') => 4
    json_keys('{"z":1,"a":2}') => ["a", "z"]
    json_unquote('"a\\nb"') => a¶b
    json_quote('a"b') => "a\"b"
    date_add('2020-01-31', interval 1 month) => 2020-02-29
    date_add('2020-01-31', interval 1 hour) => 2020-01-31 01:00:00
    date_add('2020-01-01', interval '1 2:3:4.5' day_microsecond) => 2020-01-02 02:03:04.500000
    date_add(date'2020-01-01', interval 1.5 second) => 2020-01-01 00:00:01.5
    date_sub('2020-01-01', interval '1-2' year_month) => 2018-11-01
    timestampadd(month, 1, '2020-01-31') => 2020-03-02 00:00:00
    addtime('10:00:00', '20:00:00.5') => 30:00:00.500000
    addtime('0000-00-00', '-10:11:12.5') => 0000-00-00 10:11:12.500000
    subtime('2020-01-01 10:00:00', '11:00:00') => 2019-12-31 23:00:00
    timediff('10:00:00', '12:00:00') => -02:00:00
    timediff('2020-01-02 00:00:00', '2020-01-01 12:00:00.5') => 11:59:59.5
    extract(day_microsecond from '2020-05-06 10:11:12.5') => 6101112500000
    week('2016-01-03', 0), week('2016-01-03', 1), week('2016-01-03', 3) => 1,0,53
    yearweek('2020-01-01') => 201952
    makedate(2020, 366), maketime(-10, 11, 12.5), sec_to_time(-3661) => 2020-12-31,-10:11:12.5,-01:01:01
    from_days(737425), period_add(202001, 13), period_diff(202001, 201901) => 2019-01-01,202102,12
    date_format('2020-02-03 14:05:06.789', '%W %D %b %j %U %u %V %v %X %x %r %f %%')
        => Monday 3rd Feb 034 05 06 05 06 2020 2020 02:05:06 PM 789000 %
    time_format('25:01:02', '%H %k %h %p') => 25 25 01 AM
    str_to_date('May 1, 2013 10:11 PM', '%M %d, %Y %h:%i %p') => 2013-05-01 22:11:00
    str_to_date('10:11', '%H:%i') => 10:11:00
    hour('272:59:59'), minute('10:11'), second(101112.5) => 272,11,12
    date(time'10:11:12') => 2023-11-14
    unix_timestamp('2020-01-01 00:00:00.5'), from_unixtime(1.5) => 1577836800.5,1970-01-01 00:00:01.5
    convert_tz('2020-07-01 00:00:00', 'UTC', 'Europe/Berlin') => 2020-07-01 02:00:00
    upper('àß'), lower('ÀB'), trim('ab' from 'abxab'), trim(both null from 'x') => Àß,àb,x,NULL
    insert('abc', 2, 1, 'XX'), insert('日本語', 3, 9, ''), make_set(5, 'a', 'b', 'c') => aXXc,日本,a,c
    export_set(5, 'Y', 'N', ',', 4), interval(5, 1, 10), ord('é'), oct(8), oct('-5x')
        => Y,N,Y,N,1,50089,10,1777777777777777777773
    conv('ff', 16, 10), conv('-1', 10, 16), conv('-1', 10, -16), conv('zz', 10, 2) => 255,FFFFFFFFFFFFFFFF,-1,0
    format(1234.567, 2), format(9223372036854775807, 1), format(1234.5, 0, 'de_DE')
        => 1,234.57,9,223,372,036,854,775,807.0,1,235
    char(65, 66, null using utf8mb4), convert('é' using latin1), convert(x'41' using utf8mb4) => AB,é,A
    char(195, 169 using latin1), hex(convert(x'c3a9' using latin1)) => é,C3A9
    collation('a'), charset(1), coercibility('a'), coercibility(1) => utf8mb4_bin,binary,4,5
    inet_aton('1.2'), inet_ntoa(16909060), inet6_ntoa(inet6_aton('::ffff:1.2.3.4')), is_ipv6('::1')
        => 16777218,1.2.3.4,::ffff:1.2.3.4,1
    is_uuid('{6ccd780c-baba-1026-9564-5b8c656024db}'), hex(uuid_to_bin('6ccd780cbaba102695645b8c656024db', 1))
        => 1,1026BABA6CCD780C95645B8C656024DB
    regexp_replace('abcabc', '(b)(c)', '\\2\\1', 1, 2), regexp_substr('abcabd', 'b.', 1, 2) => abcacb,bd
    regexp_instr('日本日', '日', 2, 1, 1), regexp_like('ABC', 'b', 'i') => 4,1
    format_bytes(1024), password('x') => 1.00 KiB,*B69027D44F6E5EDC07F1AEAD1477967B16F28227
    sm3('abc') => 66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0
    hex(aes_encrypt('abc', 'key')), aes_decrypt(x'DB5F149A7CAF0CD275CA18C203A212C9', 'key')
        => DB5F149A7CAF0CD275CA18C203A212C9,abc
    vitess_hash(1), tidb_shard(12345), load_file('/x') => 1615456034434468822,61,NULL
    convert_tz('2024-03-10 02:30:00', 'America/New_York', 'UTC') => 2024-03-10 07:00:00
    cast('-00:00:01.5' as time), cast(cast('-00:00:01.5' as time(1)) as time), cast(time'-00:00:01.5' as signed)
        => -00:00:02,-00:00:01,-1
    convert_tz('2020-10-25 03:45:00', 'Europe/Vilnius', 'UTC') => 2020-10-25 01:45:00
    convert_tz('1990-09-16 01:00:00', 'Asia/Shanghai', 'UTC') => 1990-09-15 17:00:00
    convert_tz('2020-11-01 01:30:00', 'America/New_York', 'UTC') => 2020-11-01 05:30:00
    yearweek(cast(-1 as year)), month(cast(16384 as year)), std(1e308) => NULL,0,0
    (select std(x) from (select 1e308 x union all select 1e308) a) => NaN
    lpad('a', 3, ''), rpad('a', -1, 'x'), inet_aton('256.1.1.1'), month('2024-00-02') => NULL,NULL,NULL,0
    collation(concat(NULL, NULL)), datediff('bad', '2024-01-01') => binary,NULL
""")


@pytest.mark.parametrize(("expression", "expected"), RESULTS)
def test_a_function_returns_the_same_as_tidb(expression: str, expected: str) -> None:
    assert shown(f"SELECT {expression}", NEW) == expected


def test_unix_timestamp_uses_the_zone_of_the_session() -> None:
    query = "SELECT unix_timestamp('1970-01-01 03:00:00'), from_unixtime(3600)"
    assert shown(f"SET time_zone = '+02:00'; {query}", NEW) == "3600,1970-01-01 03:00:00"


def test_json_aggregates_collect_rows() -> None:
    table = "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9)); INSERT INTO t VALUES (1,'x'),(2,NULL)"
    assert (
        shown(f"{table}; SELECT json_arrayagg(b), json_objectagg(a, b) FROM t") == '["x", null],{"1": "x", "2": null}'
    )


@pytest.mark.parametrize(
    ("mode", "start", "expected"),
    [
        ("128-ecb", "", "3AD77BB40D7A3660A89ECAF32466EF97 F5D3D58503B9699DE785895A96FDBAAF"),
        ("128-cbc", f", x'{START}'", "7649ABAC8119B246CEE98E9B12E9197D 5086CB9B507219EE95DB113A917678B2"),
        ("128-ofb", f", x'{START}'", "3B3FD92EB72DAD20333449F8E83CFB4A 7789508D16918F03F53C52DAC54ED825"),
        ("128-cfb", f", x'{START}'", "3B3FD92EB72DAD20333449F8E83CFB4A C8A64537A0B3A93FCDE3CDAD9F1CE58B"),
    ],
)
def test_aes_is_that_of_nist(mode: str, start: str, expected: str) -> None:
    """NIST SP 800-38A, appendix F, of which `block_encryption_mode` chooses the mode; ECB and CBC add a block of padding."""
    told = f"SET block_encryption_mode = 'aes-{mode}'; SELECT hex(aes_encrypt(x'{TWO_BLOCKS}', x'{KEY}'{start}))"
    assert shown(told, NEW)[: len(TWO_BLOCKS)] == expected.replace(" ", "")


@pytest.mark.parametrize("mode", ["ecb", "cbc", "ofb", "cfb"])
@pytest.mark.parametrize("size", [128, 192, 256])
@pytest.mark.parametrize("text", ["", "a", "fifteen letters", "sixteen letters!", "seventeen letters", "x" * 100])
def test_aes_decrypts_what_it_has_encrypted(mode: str, size: int, text: str) -> None:
    start = "" if mode == "ecb" else f", x'{START}'"
    read = f"concat('=', aes_decrypt(aes_encrypt('{text}', 'key'{start}), 'key'{start}))"
    assert shown(f"SET block_encryption_mode = 'aes-{size}-{mode}'; SELECT {read}", NEW) == f"={text}"


@pytest.mark.parametrize("mode", ["''", "'aes-128'", "'aes-512-cbc'", "'a-b-c-d'", "7"])
def test_an_unknown_mode_of_aes_is_told(mode: str) -> None:
    """tidb pkg/expression/builtin_encryption.go, aesModes."""
    with pytest.raises(SqlError, match=f"unsupported block encryption mode - {mode.strip(chr(39))}$"):
        shown(f"SET block_encryption_mode = {mode}; SELECT aes_encrypt('a', 'b', x'{START}')", NEW)
