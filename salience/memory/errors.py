"""The errors of the memory hosts. Errors of an extractor or an embeddings provider are never wrapped: they reach the caller as they are."""

from salience.errors import SalienceError


class StoreError(SalienceError):
    """A store cannot be opened, read or written."""


class UnknownMemoryError(StoreError):
    """An id names no live memory of this user. Whether it names one of another user is not told."""


class EmbeddingsError(SalienceError, ValueError):
    """A vector does not fit: other dimensions, no finite numbers, or made by another model than those that the store holds."""


class LinesError(StoreError, ValueError):
    """JSON Lines that cannot be taken in; nothing of them was.

    Attributes:
        faults: (line number from 1, what is wrong with it) of every faulty line, in order; at most 100.
    """

    def __init__(self, message: str, faults: tuple[tuple[int, str], ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults
