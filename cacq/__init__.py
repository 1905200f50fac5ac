"""cacq: very many standing queries over live streams, sharing their work through one adaptive eddy."""

from cacq.data.types import NEVER
from cacq.deliver.deltas import Deltas
from cacq.engine import Engine
from cacq.errors import (
    CacqError,
    CatalogError,
    DataError,
    FunctionError,
    OptionError,
    ResultsLost,
    SqlError,
)  # fmt: skip
from cacq.handle import Query
from cacq.stream import Pushed
from cacq.warm import warm_up

__version__ = "0.2.0"
__all__ = [
    "NEVER", "CacqError", "CatalogError", "DataError", "Deltas", "Engine", "FunctionError", "OptionError", "Pushed",
    "Query", "ResultsLost", "SqlError", "warm_up",
]  # fmt: skip
