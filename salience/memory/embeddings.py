"""The seam to an embeddings model, and a local default that needs no model: hashed character n-grams."""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from salience.errors import OptionError, SeamError
from salience.memory.steps import Call, Steps

Vector = Sequence[float]

# What nearly every memory begins with, in the languages of the bundled data, tells none from another.
_SUBJECT = re.compile(
    r"\b(?:the )?users?(?: s)?\b|\b(?:der |die )?(?:be)?nutzer(?:in)?s?\b|\b(?:el |la |o |a )?usu[aá]ri[oa]s?\b|\bl utilisat(?:eur|rice)\b"
    r"|\bпользовател\w*|\bالمستخدمة?\b|उपयोगकर्ता|用户|用戶|ユーザー|사용자"
)


class EmbeddingModel(NamedTuple):
    """What must agree for two vectors to be comparable."""

    name: str
    dimensions: int


@runtime_checkable
class EmbeddingsProvider(Protocol):
    """Turns text into vectors whose cosine tells how alike two texts are.

    1. `name` changes whenever the same text would get another vector; a store keeps it and refuses vectors of another.
    2. `dimensions` is the length of every vector, from 1.
    3. `embed_batch` returns one vector a text, in order; `embed(text)` is `embed_batch([text])[0]`. Any str is allowed, also "".
    4. The numbers are finite; they need not be normalised. All zeros means: like nothing.
    5. Failures (network, quota) are exceptions. Methods may be coroutine methods where an asynchronous host uses them.
    """

    @property
    def name(self) -> str:
        """What tells this model from others."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        ...

    def embed(self, text: str) -> Vector:
        """Return the vector of one text."""
        ...

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return the vectors of several texts, in order."""
        ...


def model_of(embeddings: EmbeddingsProvider) -> EmbeddingModel:
    """Return what identifies a provider's vectors.

    Raises:
        OptionError: It has no usable name or dimensions.
    """
    name, dimensions = getattr(embeddings, "name", None), getattr(embeddings, "dimensions", None)
    if not isinstance(name, str) or not name.strip() or isinstance(dimensions, bool) or not isinstance(dimensions, int) or dimensions < 1:
        raise OptionError(
            f"embeddings must have a name (text), dimensions (from 1), embed and embed_batch, such as HashedNgrams(); "
            f"{type(embeddings).__name__} has name {name!r} and dimensions {dimensions!r}"
        )
    return EmbeddingModel(name, dimensions)


def embed_all(embeddings: EmbeddingsProvider, texts: Sequence[str]) -> Steps[list[Vector]]:
    """Return the vectors of texts, in order.

    Raises:
        SeamError: The provider returns another number of vectors.
    """
    if not texts:
        return []
    vectors = yield Call(embeddings.embed_batch, (list(texts),))
    found = list(vectors) if isinstance(vectors, Iterable) else None
    if found is None or len(found) != len(texts):
        raise SeamError(f"{type(embeddings).__name__}.embed_batch must return {len(texts)} vectors for {len(texts)} texts")
    return found


class HashedNgrams:
    """A lexical embedding without model, key, network or dependency: counts of character n-grams and words, hashed and normalised.

    Texts are alike as far as they are spelt alike. It finds what is said again in nearly the same words, in any script, and knows
    nothing of meaning: "likes" and "dislikes" are near each other, "car" and "automobile" far apart, and so is any text from its
    translation. "The user" and its like are left out, as they stand in nearly every memory. Use a real model where meaning matters.

    Args:
        dimensions: The length of the vectors, from 16. Distances carry noise of about 1 / sqrt(dimensions) from collisions.
    """

    def __init__(self, dimensions: int = 384) -> None:
        if isinstance(dimensions, bool) or not isinstance(dimensions, int) or dimensions < 16:
            raise OptionError(f"dimensions must be a whole number from 16 up, got {dimensions!r}")
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """Names the method and its version; the dimensions are kept beside it."""
        return "hashed-ngrams-1"

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""
        return self._dimensions

    def embed(self, text: str) -> Vector:
        """Return the vector of a text, of length 1, or all zeros for a text without letters or digits."""
        counts: dict[int, float] = {}
        for piece, weight in _pieces(text):
            code = zlib.crc32(piece.encode("utf-8", "replace"))
            place = (code >> 1) % self._dimensions
            counts[place] = counts.get(place, 0.0) + (weight if code & 1 else -weight)  # signs let collisions cancel
        vector = [0.0] * self._dimensions
        length = math.sqrt(sum(count * count for count in counts.values()))
        for place, count in counts.items():
            vector[place] = count / length if length else 0.0
        return vector

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return the vectors of several texts, in order."""
        return [self.embed(text) for text in texts]


def _pieces(text: str) -> list[tuple[str, float]]:
    """Return what a text consists of, with weights: words, and runs of 3 and 4 characters in them (1 and 2 in dense scripts)."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(one if one.isalnum() or unicodedata.category(one)[0] == "M" else " " for one in folded)
    words = _SUBJECT.sub(" ", plain).split() or plain.split()
    pieces = []
    for word in words:
        dense = any("぀" <= one <= "鿿" for one in word)
        framed = word if dense else f"^{word}$"
        pieces.append((f"={word}", 1.0))
        for size in (1, 2) if dense else (3, 4):
            pieces += [(framed[at : at + size], 0.5) for at in range(len(framed) - size + 1)]
    return pieces
