"""Where memories go: a store, hosts that fill it, and the seams they use. Standard library only; numpy is used where it is installed.

Nothing in `salience` outside of this package imports it. A name loads the module that it comes from when it is first used.
"""

from importlib import import_module

TYPE_CHECKING = False  # as in `salience`

if TYPE_CHECKING:
    from salience.memory.checks import storable, utc_now
    from salience.memory.embeddings import EmbeddingModel, EmbeddingsProvider, HashedNgrams, model_of
    from salience.memory.enriching import EnrichmentResult, Skipped
    from salience.memory.enrichment import aenrich, aenrich_from_turn, enrich, enrich_from_turn
    from salience.memory.errors import EmbeddingsError, LinesError, StoreError, UnknownMemoryError
    from salience.memory.host import AsyncMemory, Memory, create_memory
    from salience.memory.host_core import RememberResult
    from salience.memory.jsonl import ImportResult, export_lines, import_lines
    from salience.memory.records import Hit, Known, NewMemory, StoredMemory
    from salience.memory.sqlite import SqliteStore
    from salience.memory.store import Store, StoreTurn, TurnMark
    from salience.memory.writing import Change

_HOMES = {
    "checks": "storable utc_now",
    "embeddings": "EmbeddingModel EmbeddingsProvider HashedNgrams model_of",
    "enrichment": "aenrich aenrich_from_turn enrich enrich_from_turn",
    "enriching": "EnrichmentResult Skipped",
    "errors": "EmbeddingsError LinesError StoreError UnknownMemoryError",
    "host": "AsyncMemory Memory create_memory",
    "host_core": "RememberResult",
    "jsonl": "ImportResult export_lines import_lines",
    "records": "Hit Known NewMemory StoredMemory",
    "sqlite": "SqliteStore",
    "store": "Store StoreTurn TurnMark",
    "writing": "Change",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AsyncMemory",
    "Change",
    "EmbeddingModel",
    "EmbeddingsError",
    "EmbeddingsProvider",
    "EnrichmentResult",
    "HashedNgrams",
    "Hit",
    "ImportResult",
    "Known",
    "LinesError",
    "Memory",
    "NewMemory",
    "RememberResult",
    "Skipped",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreTurn",
    "StoredMemory",
    "TurnMark",
    "UnknownMemoryError",
    "aenrich",
    "aenrich_from_turn",
    "create_memory",
    "enrich",
    "enrich_from_turn",
    "export_lines",
    "import_lines",
    "model_of",
    "storable",
    "utc_now",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'salience.memory' has no attribute {name!r}")
    value: object = getattr(import_module(f"salience.memory.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
