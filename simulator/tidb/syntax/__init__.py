"""The syntax trees of TiDB's statements. `from simulator.tidb import syntax` gives them all: `syntax.CreateTable`."""

from simulator.tidb.syntax.alter import *
from simulator.tidb.syntax.definitions import *
from simulator.tidb.syntax.expressions import *
from simulator.tidb.syntax.queries import *
from simulator.tidb.syntax.statements import *
