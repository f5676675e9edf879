"""Tables from CREATE TABLE: columns, types, defaults and keys, completed as TiDB does."""
