"""What the calls of a row took: tokens, seconds and money, added up over records."""

from __future__ import annotations

from collections import Counter

from evals.prices import Price
from evals.runlog import Record


class Usage:
    """What the calls of a cell took.

    Args:
        price: What the model's tokens cost, None where it is not known.
    """

    def __init__(self, price: Price | None) -> None:
        self.price = price
        self.input: int | None = None
        self.output: int | None = None
        self.unknown = False
        self.seconds = self.spent = 0.0
        self.cached = self.reasoning_only = 0
        self.fallbacks: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        """Add a call."""
        self.seconds += record.seconds
        self.cached += record.cached
        self.reasoning_only += record.reasoning_only
        self.fallbacks.update(record.fallbacks)
        if record.error is not None:
            return  # a call that failed is not billed, and tells no tokens
        if record.input_tokens is None or record.output_tokens is None:
            self.unknown = True
            return
        self.input = (self.input or 0) + record.input_tokens
        self.output = (self.output or 0) + record.output_tokens
        if self.price is not None and not record.cached:
            self.spent += self.price.of(record.input_tokens, record.output_tokens)

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Input and output tokens, None where a reply did not tell."""
        return (None, None) if self.unknown else (self.input, self.output)

    @property
    def costs(self) -> tuple[float | None, float | None]:
        """What all calls cost, and what those cost that were made and not taken from the cache."""
        if self.price is None or self.unknown:
            return None, None
        return self.price.of(self.input or 0, self.output or 0), self.spent
