"""What a TiCDC release is to the rest: a name, an architecture and observable behaviours, one field each.

One law: a field names what a consumer or an operator can see, and says where TiCDC decides it; its first sentence is
shown by `ticdc-sim releases`, as are the chapters (==) and sections (--), what is on the wire first. Sources without a
repository are tiflow's for the classic architecture and ticdc's for the new one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """The observable behaviours of one TiCDC release."""

    name: str
    """Its tag: `v8.5.3`."""

    architecture: str
    """`classic` (pingcap/tiflow) or `new` (pingcap/ticdc)."""

    # == on the wire ===================================================================================================

    # -- rows ----------------------------------------------------------------------------------------------------

    short_control_escapes: bool
    r"""Whether Open Protocol writes U+0008 and U+000C as `\b` and `\f` (encoding/json from Go 1.22: classic 8.4+)."""

    primary_is_unique: bool
    """Whether columns of the primary index also get the UniqueKey bit (classic before 7.5.2, and 7.6:
    cdc/model/schema_storage.go)."""

    float_widened: bool
    """Whether a FLOAT becomes a 64-bit number, with the digits that it has as one, in rows and dispatch hashes
    (4.0.6–6.1.5, 6.2–6.5.1, 6.6: cdc/entry/mounter.go formatColVal); elsewhere it stays the 32-bit number."""

    zerofill_bit: bool
    """Whether columns with ZEROFILL, and every YEAR, have the bit 0x100 in Open Protocol's `f` (6.5.6+ of 6.5 and
    7.5.3+ of 7.5: cdc/model/schema_storage.go initColumnsFlag)."""

    generated_get_key_bits: bool
    """Whether a generated column gets the bits of every index it is in (classic); elsewhere it keeps what TiDB's own
    column flags say (new: pkg/sink/codec/open/message.go initColumnFlags)."""

    handle_may_be_virtual: bool
    """Whether a unique key with a virtual generated column may be the handle key (new 8.5.6, 8.5.7:
    pkg/common/table_info_helper.go initIndexColumns)."""

    handle_joins_unique: bool
    """Whether the handle key is a nonclustered primary key and the best unique key together, where the table has the
    unique key first (new 8.5.4, 9.0.0-beta.2: pkg/common/table_info_helper.go initIndexColumns)."""

    update_without_old_value: bool
    """Whether enable-old-value = false leaves an UPDATE its new values alone (4.0.5 to 6.5.4, 6.6, 7.0 to 7.1.1, 7.2,
    7.3: cdc/entry/mounter.go, cdc/processor/sinkmanager); elsewhere the old ones stay."""

    delete_without_old_value: bool
    """Whether enable-old-value = false leaves a DELETE its handle key alone (4.0.5 to 6.6, 7.0, 7.1:
    cdc/entry/mounter.go, from 6.5.3 and 7.1.1 pkg/sink/codec/common/config.go)."""

    claim_check_by_row: bool
    """Whether claim-check's files are called by day and row, `{date}/{schema}-{table}-{commitTs}-{startTs}-{handle
    key}.json`, and messages say that name alone (7.3.0: pkg/sink/codec/common/message.go); elsewhere they are called by
    UUIDs, and messages say the storage, too."""

    # -- rows in Open Protocol -----------------------------------------------------------------------------------

    quoted_unicode: int
    r"""Version of Unicode whose characters stay as they are in BINARY and VARBINARY of Open Protocol, later ones being
    `\u` escapes: 12 (Go 1.14, up to 5.0), 13 (Go 1.16 to 1.20, 5.1 to 7.3), 15 (Go 1.21+) (Go: strconv/isprint.go)."""

    record_overhead_counted: bool
    """Whether a message's size has 36 bytes for Kafka's record in it (4.0.16, 5.0.6, 5.1.4+, 5.2.2+, 5.3+:
    cdc/sink/codec/interface.go MaxRecordOverhead)."""

    size_error: str
    """Code of the error for an Open Protocol row above max-message-bytes (4.0.16, 5.0.6, 5.1.4+, 5.2.2+, 5.3+:
    cdc/sink/codec/json.go AppendRowChangedEvent); empty: such a row is sent."""

    open_batch_size: bool
    """Whether an Open Protocol message is full after max-batch-size rows or at max-message-bytes (4.0.9+:
    cdc/sink/codec/json.go); elsewhere when it has 4 MiB (cdc/sink/mq.go batchSizeLimit)."""

    open_flags: bool
    """Whether a column has its flags `f` (4.0.5+: cdc/sink/codec/json.go column)."""

    open_row_ids: bool
    """Whether a row's key has its integer handle `rid` (classic 4.0.5+: cdc/sink/codec/json.go mqMessageKey)."""

    open_partition_ids: bool
    """Whether a row's key has the physical id of its partition `ptn` (4.0.2+, not 9.0.0-beta.1:
    cdc/sink/codec/json.go mqMessageKey)."""

    open_partition_last: bool
    """Whether `ptn` is the last member of the key (new: pkg/sink/codec/open/codec.go), not between `rid` and `t`."""

    open_old_values: bool
    """Whether an UPDATE has old values `p` and a DELETE all its columns (4.0.5+: cdc/sink/codec/json.go mqMessageRow);
    before, an UPDATE is `u` alone and a DELETE its handle key alone."""

    open_generated: bool
    """Whether rows have stored generated columns (4.0.5+: cdc/entry/schema_storage.go IsColWritable)."""

    open_virtual: bool
    """Whether rows have virtual generated columns, always NULL (new 9.0.0-beta.1: pkg/sink/codec/open/codec.go)."""

    open_marks_unique: bool
    """Whether `h` marks the columns of every unique key that cannot be NULL (up to 4.0.4: cdc/entry/mounter.go
    IsColumnUnique), not of the handle key alone."""

    open_sorts_columns: bool
    """Whether columns are sorted by the bytes of their names (classic: encoding/json of a map); else in table order."""

    open_strings_base64: bool
    """Whether CHAR, VARCHAR, BINARY and VARBINARY are base64, as TEXT and BLOB are (up to 4.0.4, for rows in TiKV's
    first format, as TiCDC's documentation shows them: cdc/entry/codec.go decodeRowV1, cdc/entry/mounter.go
    formatColVal; in the second format they are text there); later text, and strconv.Quote of bytes."""

    open_pads_exponents: bool
    """Whether a float's negative exponent has two digits, `1e-07` (jsoniter, new), not `1e-7` (encoding/json)."""

    open_time_fraction: bool
    """Whether a TIME has its fraction of a second (not in new 8.5.4, 8.5.5, 9.0.0-beta.1, -beta.2:
    pkg/sink/codec/open/codec.go writeColumnFieldValue)."""

    open_zero_is_null: bool
    """Whether empty strings and bytes, ENUM and SET 0, and zero decimals, times and JSON numbers are NULL (new
    9.0.0-beta.1: pkg/sink/codec/open/codec.go writeColumnFieldValue)."""

    open_old_zero_is_null: bool
    """Whether empty and zero values are null in `p` with only-output-updated-columns (new 8.5.4, 8.5.5, 9.0.0-beta.1,
    -beta.2: pkg/sink/codec/open/codec.go writeColumnFieldValueIfUpdated)."""

    open_old_flags_raw: bool
    """Whether `f` in `p` with only-output-updated-columns is TiDB's own flag word (new 8.5.4, 8.5.5, 9.0.0-beta.2:
    there)."""

    open_old_bits: bool
    """Whether `p` with only-output-updated-columns lists a BIT that another BIT replaced (classic, new 8.5.6+:
    there)."""

    open_old_nameless: bool
    """Whether `p` with only-output-updated-columns holds a value that NULL replaced as bare members `t`, `f`, `v`
    without the column's name (new: there)."""

    open_old_always: bool
    """Whether `p` with only-output-updated-columns is `{}` where no column changed (new: there); else it is left
    out."""

    open_old_optional: bool
    """Whether `[sink.open] output-old-value = false` takes `p` away (7.5.2+, 8.1+: pkg/sink/codec/open); new 8.5.4,
    8.5.5 and the betas know the setting and do not mind it."""

    open_needs_columns: bool
    """Whether cutting a row down to a handle key that it does not have is CDC:ErrOpenProtocolCodecInvalidData (7.2+:
    pkg/sink/codec/open/open_protocol_message.go rowChangeToMsg); before, the value is `{}`."""

    open_names_operation: bool
    """Whether the error for a row of which no column is left says which operation it was (classic); new always says
    `for the delete event`, and says it, too, where column selectors leave nothing (pkg/sink/codec/open/codec.go
    writeColumnFieldValues)."""

    open_location_repeats_ohk: bool
    """Whether Open Protocol's key has `"ohk":true,"ohk":false` before `ccl`, a member twice (new:
    pkg/sink/codec/open/codec.go encodeRowChangedEvent); classic writes `ccl` alone (7.3+)."""

    # -- rows in Canal-JSON --------------------------------------------------------------------------------------

    canal_column_order: str
    """How Canal-JSON orders the columns of a row. `name`: by the bytes of their names (encoding/json's maps, up to
    6.1.2, 6.2, 6.3: cdc/sink/codec/canal_flat.go, cdc/sink/**/canal_json_encoder.go). `escaped-name`: by the bytes of
    their names as they stand in JSON, quotes included (goccy/go-json's maps, 6.4: there). `table`: as the table has
    them (6.1.3+, 6.5+: there; new: pkg/sink/codec/canal)."""

    canal_old_first: bool
    """Whether Canal-JSON's rows have `old` before `data` (6.1.3+, 6.5+:
    cdc/sink/codec/canal newJSONMessageForDML); after it elsewhere, and in statements and watermarks always."""

    canal_old_everywhere: bool
    """Whether `old` of Canal-JSON is `[null]` in an INSERT and the deleted row in a DELETE, too (up to 5.3:
    cdc/sink/codec/canal_flat.go newFlatMessageForDML); null in both from 5.4."""

    canal_wide_sql_types: bool
    """Whether Canal-JSON's sqlType is the one that takes the largest unsigned value, whatever the column and the value
    are, and TEXT 12, ENUM and SET 1, YEAR 91, JSON -1 (up to 5.3: cdc/sink/codec/canal.go buildColumn, java.go); from
    5.4 the type's own, or a wider one for an unsigned value that needs it."""

    canal_unsigned_types: bool
    """Whether Canal-JSON's mysqlType says ` unsigned` (5.4+: cdc/sink/codec/canal.go withUnsigned4MySQLType)."""

    canal_zerofill_types: bool
    """Whether Canal-JSON's mysqlType says ` zerofill` (6.5.6+, 7.1.3+, 7.5.3+, 7.6+: pkg/sink/codec/utils
    GetMySQLType; new)."""

    canal_latin1_strings: bool
    """Whether Canal-JSON writes BINARY and VARBINARY as Latin-1 (5.4+: cdc/sink/codec/canal.go formatValue); before, as
    the text that the bytes are, each byte that is no UTF-8 becoming U+FFFD. BLOBs are Latin-1 always."""

    canal_fails_on_unsigned_null: bool
    """Whether Canal-JSON crashes on NULL in an unsigned integer column (5.4.0: cdc/sink/codec/canal.go
    getJavaSQLType)."""

    canal_size_limit: bool
    """Whether Canal-JSON rows above max-message-bytes are refused, or handled as large messages (6.5.1+ of 6.5, 7.0+:
    cdc/sink/codec/canal/canal_json_encoder.go AppendRowChangedEvent); elsewhere they are sent, and Kafka decides."""

    canal_ends_rows: bool
    """Whether Canal-JSON's rows end with `[sink] terminator`, CR LF by default, on Kafka too (6.5.0–6.5.11, 6.6, 7.0:
    there, tiflow issue 11707); elsewhere in storage sinks alone."""

    canal_text_null: bool
    """Whether Canal-JSON takes the text `null` for NULL, the JSON document too, and a change from one to the other for
    none (new up to 8.5.4: pkg/sink/codec/canal/helper.go formatColumnValue)."""

    canal_zero_null: bool
    """Whether Canal-JSON takes what is empty or zero for NULL: texts and bytes, ENUM and SET 0, DECIMAL 0, the JSON
    number 0, zero dates, a TIME below one second (new, 9.0.0-beta.1: there)."""

    canal_whole_seconds: bool
    """Whether Canal-JSON writes a TIME without its fraction (new, 9.0.0-beta.1: there)."""

    canal_virtual_columns: bool
    """Whether Canal-JSON's rows have virtual generated columns, always NULL (new, 9.0.0-beta.1 and -beta.2.pre:
    pkg/sink/codec/canal)."""

    canal_blank_old_values: bool
    """Whether `old` of Canal-JSON has the columns that column selectors leave out, as empty texts (new up to 8.5.4:
    pkg/sink/codec/canal/canal_json_encoder.go fillUpdateColumns)."""

    canal_null_types: bool
    """Whether Canal-JSON's mysqlType is null where no column is left (new from 8.5.7; 26.3 not:
    pkg/sink/codec/canal/canal_json_encoder.go); `{}` elsewhere, sqlType being null in both."""

    canal_compares_texts: bool
    """Whether only-output-updated-columns compares the texts of values (new: there), so that a float's -0 differs from
    0; elsewhere numbers are equal by value (pkg/sink/codec/encoder.go IsColumnValueEqual)."""

    # -- where a row goes ----------------------------------------------------------------------------------------

    dispatchers: frozenset[str]
    """Names of partition dispatchers that rules of `dispatchers` may give (cdc/sink/**/dispatcher: `index-value` from
    4.0.5, `columns` from 7.5); any other is a warning, and `default` on Kafka."""

    default_dispatcher: str
    """What the dispatcher `default` is (there). `single-column`: the value of the table's only unique column, where it
    has one, else `table` (up to 4.0.4). `old-value`: with enable-old-value `table`; without it `index-value` for tables
    with one unique index, nullable ones counted, else `table` (up to 6.5, 6.6, 7.0, 7.1.3, 7.2, 7.3). `table`: always
    (7.1.4+, 7.4+, new)."""

    rowid_is_row_id: bool
    """Whether the dispatcher `rowid` takes the row id modulo the partitions (up to 4.0.4:
    cdc/sink/dispatcher/rowid.go); later it is another name of `index-value`."""

    dispatch_needs_index: bool
    """Whether `cdc cli changefeed create` refuses `index-value` without `index` (7.5.0, 7.5.1, 7.6:
    cdc/sink/dmlsink/mq/dispatcher/event_router.go VerifyTables)."""

    dispatch_ignores_case: bool
    """Whether `columns` and `index` of a dispatcher are found in any letter case (7.5.7, 8.5.3+, not 9.0.0-beta.1:
    cdc/model/schema_storage.go GetIndex, OffsetsByNames); elsewhere a name in another case is not found."""

    dispatch_lowers_names: bool
    """Whether the names of columns are hashed in lower case (new 9.0.0-beta.2:
    downstreamadapter/sink/eventrouter/partition)."""

    dispatch_skips_virtual: bool
    """Whether the dispatchers `columns` and `index-value` with `index` look values up among the visible columns. Where
    not (classic), they take the table's column offset, so that after a virtual generated column the value
    of a later column is hashed (cdc/model/schema_storage.go IndexByName, OffsetsByNames)."""

    dispatch_refuses_virtual: bool
    """Whether `columns` that name a virtual generated column are an error, `found virtual generated columns when
    dispatch event` (8.5.4+, not 9.0.0-beta: cdc/model/schema_storage.go OffsetsByNames)."""

    dispatch_nulls: frozenset[str]
    """Where a NULL is hashed, as the text `null`: in columns of the `handle` key, in those that `columns` or `index` of
    a rule `names` (classic both, new 8.5.4, 8.5.5 and 26.3 the handle alone, 8.5.6+ neither:
    downstreamadapter/sink/eventrouter/partition); elsewhere such a column is left out of the hash."""

    dispatch_time_fraction: bool
    """Whether a TIME is hashed with its fraction of a second (not in new 8.5.4, 8.5.5: pkg/common/helper.go
    ExtractColVal)."""

    topic_rules: str
    """What a dispatch rule's `topic` may be. `none`: there is no such key (up to 5.4). `idle`: `{schema}` with letters
    around it, or `{schema}_{table}`, checked and then not used: everything goes to the default topic (6.0:
    cdc/sink/mq.go). `schema`: an expression that has `{schema}` (6.1–6.5.6, 6.6, 7.0–7.1.3, 7.2, 7.3:
    cdc/sink/mq/dispatcher/topic/expression.go). `any`: a plain name too, or an expression without `{schema}`
    (6.5.7+, 7.1.4+, 7.4+)."""

    column_selectors: str
    """What `[sink] column-selectors` do. `nothing`: they are read and not used (up to 7.4). `rows`: they take columns
    out of rows before the dispatcher looks, and stop at a row whose table keeps neither its primary key nor a unique
    one whole (7.5+: cdc/sink/dmlsink/mq/mq_dml_sink.go). `messages`: the dispatcher sees all columns (new:
    downstreamadapter/sink/kafka)."""

    selectors_checked: bool
    """Whether the tables that a changefeed begins with are checked against column selectors (7.5+, new from 8.5.4:
    cdc/sink/dmlsink/mq/transformer/columnselector VerifyTables; not in 9.0.0-beta)."""

    selectors_want_key: bool
    """Whether a table without primary key must keep a unique one whole (new from 26.3.4:
    downstreamadapter/sink/columnselector verifyIndices)."""

    # -- UPDATEs as DELETE and INSERT, and the order of rows inside a transaction ------------------------------------

    update_split: str
    """Which UPDATEs that change a unique key or the handle key are sent as DELETE and INSERT. `never` (up to 6.5.3,
    6.6–7.1.1, 7.2, 7.3, 9.0.0-beta.1), `several`: those in a transaction of two or more rows of the table (6.5.4),
    `all` (6.5.5+, 7.1.2+, 7.4+: cdc/model/sink.go trySplitAndSortUpdateEvent; new from 9.0.0-beta.2:
    pkg/eventservice/event_scanner.go appendRow)."""

    split_by_text: bool
    """Whether NULL and the text `null` in a key are the same when an UPDATE is looked at for a changed key (classic:
    cdc/model/sink.go ColumnValueString); new compares the values (pkg/common/event/codec.go IsUKChanged)."""

    split_interleaved: bool
    """Whether the DELETE of a split UPDATE takes its place among the UPDATEs, and its INSERT stands behind all others
    (new: pkg/eventservice/event_scanner.go commitTxn); classic sorts DELETEs first, UPDATEs, then INSERTs, and the
    halves between them."""

    raw_change_events: bool
    """Whether `output-raw-change-event` leaves UPDATEs whole (6.5.10+, 7.1.6, 7.5.3+, 8.1.1+, 8.2+: cdc/model/sink.go;
    new from 8.5.4: pkg/eventservice/event_scanner.go)."""

    filters_halves: bool
    """Whether event filters look at the DELETE and the INSERT of a split UPDATE, each by itself (new from 8.5.4:
    pkg/common/event/dml_event.go AppendRow); classic filters the UPDATE and splits what is left."""

    handle_split: str
    """What becomes of an UPDATE without old value (`enable-old-value = false`, up to 7.3). `sorted`: one that changes
    the handle key is DELETE and INSERT, DELETEs standing first, and others lose their old row (up to 4.0.14, 5.0.3,
    5.1.0: cdc/entry/mounter.go); `in place`: the same, the halves after each other (4.0.15+, 5.0.4+, 5.1.1+, up to
    6.5.4 and 7.1.1, 7.2, 7.3: cdc/processor/pipeline/sink.go, cdc/processor/sinkmanager/table_sink_wrapper.go);
    `as any`: as with old value, which it keeps (6.5.5+, 7.1.2+)."""

    updates_before_inserts: bool
    """Whether the UPDATEs of a transaction stand before its INSERTs (6.1.6+, 6.5.2+, 7.1+: cdc/sorter/encoding/key.go,
    cdc/processor/sourcemanager/engine/pebble/encoding/key.go); elsewhere both go by row key, behind the DELETEs."""

    # -- which rows share a message ------------------------------------------------------------------------------

    group_by_partition_key: bool
    """Whether rows in one Open Protocol message share the dispatcher's partition key: table, hash or commit-ts (7.4+:
    cdc/sink/dmlsink/mq/worker.go); elsewhere a message mixes the tables of its partition in commit order."""

    flush_rows: int
    """How many rows of a partition are encoded at a time, a message holding rows of one such flush alone (2048 from
    6.0: cdc/sink/mq_flush_worker.go); 0: as many as come until the next watermark (up to 5.4:
    cdc/sink/mq.go runWorker)."""

    # -- what a statement becomes --------------------------------------------------------------------------------

    multi_schema_change: bool
    """Whether TiDB makes one job (61) of an ALTER TABLE with several specs (TiDB 6.2+: ddl/multi_schema_change.go)."""

    foreign_key_index: bool
    """Whether ADD FOREIGN KEY on columns that begin no index adds that index too, both as one job 61 (TiDB 6.5+:
    ddl/ddl_api.go CreateForeignKey)."""

    codes_search_indexes: bool
    """Whether a job whose text has ADD FULLTEXT INDEX (230) or begins with CREATE HYBRID INDEX (231) gets the code that
    TiCDC has for it, whatever TiDB's is (new: logservice/schemastore/persist_storage.go handleDDLJob)."""

    ddl_text: str
    """How the query is written: `raw` as it was typed (4.0.0, 4.0.1), `marked`: as typed, TiDB's features put in
    comments by regular expressions (4.0.2+: cdc/changefeed.go, tidb sessionctx/binloginfo AddSpecialComment),
    `restored` from its syntax tree (5.2.4, 5.3.1+: cdc/owner/changefeed.go, 6.5+ cdc/owner/ddl_sink.go
    addSpecialComment; new: logservice/schemastore/utils.go)."""

    ddl_mark: str
    """What opens the comment around SHARD_ROW_ID_BITS and PRE_SPLIT_REGIONS in marked text: `/*!90000 ` in 4.0.2–4.0.4,
    `/*T! ` from 4.0.5 (tidb sessionctx/binloginfo)."""

    ddl_text_placement: bool
    """Whether placement clauses stay in a restored text (before 6.0, whose cdc/owner/changefeed.go sets
    SkipPlacementRuleForRestore)."""

    ddl_text_ttl_off: bool
    """Whether TTL_ENABLE is restored as 'OFF' (7.0+: cdc/owner/ddl_sink.go RestoreWithTTLEnableOff)."""

    ddl_text_charset: bool
    """Whether the job's charset is the introducer of string defaults (6.5.2+, 7.1+: cdc/owner/ddl_sink.go), not always
    utf8mb4."""

    ddl_text_joined: bool
    """Whether several statements in one job's text are sent joined by `;` (new: logservice/schemastore/utils.go
    transformDDLJobQuery); classic stops."""

    rebuilds_drop: bool
    """Whether DROP TABLE and DROP VIEW are written anew, one per table with its database and without IF EXISTS (6.1+:
    cdc/model/sink.go FromJob)."""

    splits_renames: bool
    """Whether RENAME TABLE of several tables (47) becomes one RENAME (14) for each (6.1+: cdc/model/sink.go
    FromRenameTablesJob); in 5.4 and 6.0 it is one event without a table."""

    renames_in_lower_case: bool
    """Whether the databases in RENAME of several tables are in lower case (6.1, 6.2: cdc/owner/schema.go
    parseRenameTables)."""

    rebuilds_exchange: bool
    """Whether EXCHANGE PARTITION is written anew with its databases (6.5.4+, 7.1.1+: cdc/model/sink.go)."""

    create_tables_code: int
    """Type code of the events that CREATE TABLES (60) is split into: 60 (8.2+: cdc/entry/schema_storage.go
    BuildDDLEvents) or 3 (new: pkg/common/event/ddl_event.go GetEvents); 0 where 60 is not replicated."""

    keeps_statement_end: bool
    """Whether the parts of a RENAME or CREATE of several tables end in `;` (new: pkg/common/event/ddl_event.go)."""

    escapes_rebuilt_names: bool
    """Whether back-quotes in names of rebuilt DROP statements are doubled (new from 8.5.6: there)."""

    restores_rebuilt: bool
    """Whether a statement that TiCDC writes anew is restored as others are (classic: cdc/owner/ddl_sink.go
    addSpecialComment); elsewhere it is sent as it is written (new:
    logservice/schemastore/persist_storage_ddl_handlers.go)."""

    rebuilds_rename: bool
    """Whether a RENAME of one table is written anew, too, and event filters and errors have what is written for all
    pairs (new: logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventForRenameTable); classic
    keeps the statement."""

    rename_as_written: bool
    """Whether a rebuilt RENAME spells its tables as the statement does (new: there); classic as they are called
    (cdc/model/sink.go FromRenameTablesJob)."""

    rename_event_in_lower_case: bool
    """Whether the event of a RENAME of one table has its new database in lower case, as TiDB's job has it (6.5.4+,
    7.1.2+, 7.4+: cdc/entry/schema/snapshot.go FillSchemaName); not in new."""

    exchange_from_restored: bool
    """Whether the partition and WITHOUT VALIDATION of a rebuilt EXCHANGE PARTITION are looked for in the restored text
    (new: logservice/schemastore/persist_storage_ddl_handlers.go
    buildPersistedDDLEventForExchangePartition); classic looks in the text as it was typed (cdc/model/sink.go)."""

    exchange_keeps_quotes: bool
    """Whether back-quotes in the name of that partition stay (new from 8.5.7:
    logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventForExchangePartition)."""

    create_like_finds_schema: bool
    """Whether CREATE TABLE … LIKE gets the schema of the other table, where it names none and that is another one (new
    from 8.5.7: logservice/schemastore/persist_storage_ddl_handlers.go setReferTableForCreateTableLike)."""

    view_finds_schemas: bool
    """Whether CREATE VIEW over tables of other schemas has the query that TiDB keeps, which names them (new from 8.5.7:
    pkg/common/event/ddl_query_normalizer.go)."""

    # -- where and how a statement goes --------------------------------------------------------------------------

    single_table_ddl: frozenset[int]
    """Action types that hold back only their own table, not all of them (6.5.2+, 7.0+: cdc/owner/ddl_manager.go
    nonGlobalDDLs)."""

    watermark_after_ddl: bool
    """Whether a watermark follows a DDL at once (6.1+: cdc/owner/ddl_sink.go)."""

    exchange_event_of_plain: bool
    """Whether the event of EXCHANGE PARTITION is the plain table's, in the topic of the partitioned one (new:
    logservice/schemastore/persist_storage_ddl_handlers.go buildDDLEventForExchangeTablePartition); classic the other
    way round."""

    canal_ddl_in_partition_0: bool
    """Whether Canal-JSON's DDL goes to partition 0 alone (5.4+: cdc/sink/mq.go, later GetDDLDispatchRuleByProtocol
    of cdc/sink/**/mq)."""

    tidb_extension: bool
    """Whether Canal-JSON knows `enable-tidb-extension`: `_tidb` and watermarks (5.4+: cdc/sink/codec/canal_flat.go)."""

    canal_build_time: bool
    """Whether Canal-JSON's `ts` is the time of encoding (5.4+: cdc/sink/codec/canal_flat.go); 0 before."""

    canal_renames: frozenset[int]
    """Action types that are Canal-JSON's RENAME (pkg/sink/codec/canal/canal_entry.go convertDdlEventType)."""

    canal_alters: frozenset[int]
    """Action types that are Canal-JSON's ALTER (there)."""

    open_empty_names: bool
    """Whether a DDL's key in Open Protocol has `scm` and `tbl` where they are empty (new:
    pkg/sink/codec/open/codec.go)."""

    open_escapes_html: bool
    """Whether Open Protocol escapes `<`, `>`, `&`, U+2028, U+2029 and invalid UTF-8 (encoding/json, classic); the new
    architecture's writer (pkg/util/json_writer.go) does not."""

    # == what is sent at all ===========================================================================================

    # -- which statements are sent -------------------------------------------------------------------------------

    allowed_ddl: frozenset[int]
    """Action types that are replicated at all (`ddlWhiteListMap`, pkg/filter/filter.go; new: pkg/filter/ddl.go)."""

    eligibility: str
    """What becomes of a DDL on a table without a valid index, without force-replicate. `stays`: a table that once had
    none is ignored until it is dropped, its DROP TABLE is sent (up to 6.0: cdc/entry/schema_storage.go). `after`: the
    table after the DDL decides (5.1.5, 6.1+: cdc/owner, cdc/entry/schema/snapshot.go). `error`: so, but a changefeed
    error where the DDL takes the last valid index away (6.5.10+, 7.1.6, 7.5.2+, 8.1+: cdc/puller/ddl_puller.go
    checkIneligibleTableDDL). `silent`: by the table after, or the one dropped (new: pkg/filter/filter.go)."""

    rename_filter: str
    """How the table filter decides about RENAME. `new-name`: by the new name (up to 6.2). `new-schema`: one pair by the
    old table's name in the new schema (6.3–6.5.3, 6.6, 7.0–7.1.1, 7.2, 7.3: cdc/puller/ddl_puller.go handleJob).
    `old-name`: by the old name, an error where only the new one matches (6.5.4+, 7.1.2+, 7.4+). `names-alone`: so, but
    no snapshot of tables is asked, and names may be swapped (new: logservice/schemastore)."""

    rename_errors_wrapped: frozenset[str]
    """Which errors of a RENAME are inside of a CDC:ErrHandleDDLFailed (cdc/puller/ddl_puller.go): of `one` pair that
    enters the filter, of `several`, of the schema `snapshot`. All in 6.5.4–6.5.9, 7.1.2–7.1.5, 7.4–7.5.1, 7.6, 8.0;
    not `one` in 6.5.10+, 7.5.7, 8.1+; `snapshot` alone in 7.1.6; none elsewhere."""

    rename_quotes_names: bool
    """Whether back-quotes in the names of a rebuilt RENAME are doubled, and the statement's own schemas stay (new from
    8.5.6: logservice/schemastore/persist_storage_ddl_handlers.go)."""

    rename_finds_old_schema: bool
    """Whether a RENAME of one table that names no schema gets the old schema as it is spelled (new from 8.5.7:
    logservice/schemastore)."""

    exchange_passes_by_either: bool
    """Whether EXCHANGE PARTITION passes the table filter where one of its tables does (new:
    logservice/schemastore/persist_storage_ddl_handlers.go buildDDLEventForExchangeTablePartition); classic asks it for
    the database of the plain table and the name of the partitioned one."""

    start_ts_discards_ddl: bool
    """Whether a DDL in ignore-txn-start-ts leaves TiCDC's schema as it was (6.5.4–6.5.7, 7.1.2–7.1.3, 7.4–7.5.0, 7.5.7,
    7.6, 8.5.4+: pkg/filter/filter.go ShouldDiscardDDL); elsewhere it is not sent, but applied."""

    system_schemas: frozenset[str]
    """Databases that are never replicated, in upper case and compared so (pkg/filter/utils.go IsSysSchema; tidb
    pkg/util/filter/schema.go)."""

    cdc_schemas: frozenset[str]
    """Databases of TiCDC's and Lightning's own that are never replicated (pkg/filter/utils.go: tidb_cdc from 6.5.9,
    7.1.4, 7.5.1, 8.0; lightning_task_info from 8.2)."""

    cdc_schemas_in_any_case: bool
    """Whether databases of TiCDC's and Lightning's own are compared in lower case (new from 8.5.4:
    pkg/filter/utils.go), not as they are written."""

    # -- event filters -------------------------------------------------------------------------------------------

    event_filter_names: frozenset[str]
    """What `ignore-event` accepts (6.2+: pkg/filter/sql_event_filter.go SupportedEventTypes); empty: no event
    filters."""

    event_type_from_sql: bool
    """Whether the event type of a DDL is read from its SQL text (6.2–7.6: pkg/filter/utils.go ddlToEventType), not
    from its action type."""

    event_filter_discards: bool
    """Whether a DDL that an event filter ignores leaves TiCDC's schema, too (6.5.4–6.5.7, 7.1.2–7.1.3, 7.4, 7.5.0, 7.6:
    there)."""

    event_filter_rename: str
    """By which name event filters judge a RENAME. `new-name` (6.2–6.5.3, 6.5.8–6.5.11, 6.6–7.1.1, 7.1.4–7.1.6, 7.2,
    7.3, 7.5.1–7.5.5, 8.0–8.5.0: pkg/filter/sql_event_filter.go shouldSkipDDL). `both-names`: as the table filter does,
    where both are ignored it is skipped, where the old one alone is it is CDC:ErrSyncRenameTableFailed (6.5.4–6.5.7,
    7.1.2–7.1.3, 7.4, 7.5.0, 7.6: cdc/puller/ddl_puller.go). `old-name` (6.5.12, 7.5.6+, 8.5.1+, new: there)."""

    event_filter_ddl: bool
    """Whether event filters look at statements at all (not in new 9.0.0-beta.1, -beta.2:
    logservice/schemastore/persist_storage_ddl_handlers.go)."""

    unclassified_events: frozenset[str]
    """Names that pass `ignore-event`'s check and then are no valid event type, and whose DDLs fail in every event
    filter that matches their table (new: pkg/binlog-filter/filter.go ClassifyEvent)."""

    event_matcher_folds_case: bool
    """Whether the matcher of an event filter follows `case-sensitive` (new: pkg/filter/sql_event_filter.go); classic
    always minds the case."""

    event_filter_sees_sent_text: bool
    """Whether `ignore-sql` looks at the text that is sent (new: logservice/schemastore/utils.go transformDDLJobQuery);
    classic at the statement before it is restored (cdc/owner/ddl_manager.go)."""

    event_filter_needs_old_name: bool
    """Whether a RENAME that is judged by an old name which TiCDC does not know is CDC:ErrTableIneligible (classic:
    pkg/filter/sql_event_filter.go shouldSkipDDL); new takes the new name."""

    bad_event_filter_stops: bool
    """Whether an `ignore-sql` that is no regular expression, or an `ignore-event` that is no valid event type, is
    CDC:ErrFilterRuleInvalid (new: pkg/filter/sql_event_filter.go newSQLEventRule); classic logs it and goes on without
    the rule's `ignore-event` and `ignore-sql`."""

    checks_expressions_first: bool
    """Whether the expressions of event filters are checked against every table before anything is sent (classic:
    pkg/filter/expr_filter.go verify); new looks at one when a row needs it (pkg/filter/filter.go Verify)."""

    # == what can be asked for =========================================================================================

    # -- settings ------------------------------------------------------------------------------------------------

    options: frozenset[str]
    """Which of the settings that not every release has it knows: `?name` is a parameter of the sink-uri, which is
    ignored elsewhere, the others are keys and tables of changefeed.toml, which is refused elsewhere (pkg/config/*.go,
    pkg/cmd/util StrictDecodeFile)."""

    protocols: frozenset[str]
    """Names that `protocol` takes, in any case (canal-json from 4.0.9, open-protocol by that name from 5.4:
    cdc/sink/codec/interface.go, pkg/config/sink_protocol.go)."""

    unknown_protocol: str
    """TiCDC's code for a protocol that is missing or unknown (5.4+: there); empty: a warning, and Open Protocol is
    taken (up to 5.3)."""

    uri_bound_by_gin: bool
    """Whether the sink-uri's parameters are read by gin (7.1+: pkg/sink/kafka/options.go): an empty one is a zero, and
    what does not parse is CDC:ErrMySQLInvalidConfig. Before, an empty one is as none, and CDC:ErrKafkaInvalidConfig."""

    client_error: str
    """TiCDC's code for settings that its client of Kafka refuses (cdc/sink/**/mq, from 6.6 cdc/sinkv2)."""

    codec_error: str
    """TiCDC's code for an encoder's option that is out of range (cdc/sink/codec, from 7.0 pkg/sink/codec)."""

    max_batch_size: int
    """Default of `max-batch-size`: 4096 in 4.0.9–4.0.12 and 5.0.0, then 16; 0: no limit (up to 4.0.8). From
    cdc/sink/codec/json.go, pkg/sink/codec/common/config.go."""

    max_message_bytes: int
    """Default of `max-message-bytes`: 512 MiB up to 4.0.8, 64 MiB up to 4.0.15, 5.0.5, 5.1.3 and 5.2.1, 1 MiB in
    4.0.16, 5.2.2, 5.2.3 and 5.3.0, then 10 MiB (cdc/sink/codec/json.go; pkg/config/sink.go)."""

    batch_size_sets_bytes: bool
    """Whether `max-batch-size` of the sink-uri sets max-message-bytes in its stead (4.0.9: cdc/sink/mq.go)."""

    new_topic_partitions: int
    """Partitions of a topic that TiCDC creates without `partition-num`: 4, or 3 (4.0.16, 5.0.6, 5.1.4+, 5.2.4, 5.3.1+:
    cdc/sink/producer/kafka, pkg/sink/kafka/options.go)."""

    refuses_zero_partitions: bool
    """Whether `partition-num=0` is an error (4.0.5, 4.0.16, 5.2.4, 5.3.1+: there), not as if it were not given."""

    case_sensitive: bool
    """Default of `case-sensitive`: false from 6.5.6, 7.1.3, 7.5 (pkg/config/replica_config.go)."""

    old_value: bool
    """Default of `enable-old-value` (true from 5.0: pkg/config/config.go), which cannot be chosen from 7.4 on."""

    canal_forces_old_value: bool
    """Whether Canal-JSON turns enable-old-value on (5.1.4+, 5.2.4, 5.3.1+: pkg/cmd/cli, pkg/config/sink.go); elsewhere
    it is refused without (cdc/sink/mq.go)."""

    force_replicate_needs_old_value: bool
    """Whether force-replicate without enable-old-value is refused (4.0.8–6.5.2, 6.6, 7.0, 7.1.0: pkg/cmd/cli,
    cdc/api/v2/api_helpers.go)."""

    topic_limit: str
    """What becomes of a max-message-bytes above what topic or broker take. `ignored`: nothing, Kafka refuses the
    message (up to 4.0.15, 5.0.5, 5.1.3, 5.2.3 and in 5.3.0). `refuses`: an error for Open Protocol (4.0.16). `lowers`:
    their limit counts (5.0.6, 5.1.4+, 5.2.4, 5.3.1+: cdc/sink/producer/kafka, pkg/sink/kafka/options.go)."""

    topic_limit_margin: int
    """How many bytes below that limit max-message-bytes is kept (128 from 7.4: there, maxMessageBytesOverhead)."""

    checks_insync_replicas: bool
    """Whether a replication-factor below `min.insync.replicas` is an error (5.4+: there, validateMinInsyncReplicas)."""

    tidb_extension_refusal: str
    """What the encoder of Open Protocol says to enable-tidb-extension=true (an error in 6.0–6.5.1, 6.6, 7.0:
    cdc/sink/codec/common/config.go Validate); empty: nothing, it has no effect."""

    kafka_refuses_tidb_extension: bool
    """Whether the Kafka sink refuses enable-tidb-extension, even as false, for other protocols than Canal-JSON (5.4:
    cdc/sink/producer/kafka/config.go)."""
