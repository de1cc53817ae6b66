"""Vectors of texts from an OpenAI-compatible service. Nothing is stored or compared here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from salience.errors import OptionError
from salience.providers.openai_calls import Service, Steps, deliver
from salience.providers.openai_errors import ProviderError
from salience.providers.openai_outcomes import Send
from salience.providers.openai_replies import read_vectors
from salience.providers.openai_requests import encode
from salience.providers.openai_secrets import Key
from salience.providers.openai_settings import Retry, check_model

KNOWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_MOST_TEXTS, _MOST_CHARS, _LARGEST_ANSWER = 128, 200_000, 64 << 20
_PROBE = "dimensions"


class _Embeddings:
    """What both shells share: the core without input or output.

    Args:
        model: The model's name.
        api_key: The key; None for `OPENAI_API_KEY`, "" for none.
        base_url: The base address of another service, or None for OpenAI.
        dimensions: Ask for vectors of this length; None for the model's own.
        timeout: Seconds for one attempt.
        retry: When a call is sent again.

    Raises:
        MissingKeyError: OpenAI is asked, and there is no key.
        OptionError: A value is of the wrong type or out of range.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        api_key: str | Key | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        *,
        timeout: float = 60.0,
        retry: Retry | None = None,
    ) -> None:
        key = api_key if isinstance(api_key, Key) else Key(api_key)
        del api_key  # a traceback shows no key
        self.model = check_model(model)
        if dimensions is not None and (type(dimensions) is not int or dimensions < 1):
            raise OptionError(f"dimensions must be None or a whole number from 1 up, got {dimensions!r}")
        self._asked_dimensions = dimensions
        self._service = Service(key, base_url, timeout, retry)
        self._dimensions = dimensions or (KNOWN_DIMENSIONS.get(model) if self._service.endpoint.is_openai else None)

    def __repr__(self) -> str:
        """Return model and address, no key."""
        service = getattr(self, "_service", None)  # a traceback may show a client that was refused
        return f"{type(self).__name__}({self.model!r}, {service.endpoint.shown!r})" if service else f"{type(self).__name__}()"

    @property
    def name(self) -> str:
        """What tells these vectors from others: the model, and the length where one was asked for."""
        return f"openai/{self.model}" + (f"@{self._asked_dimensions}" if self._asked_dimensions else "")

    def _steps(self, texts: Sequence[str]) -> Steps[list[list[float]]]:
        if isinstance(texts, str):
            raise OptionError("embed_batch takes a sequence of strings; embed takes one string")
        for place, text in enumerate(texts):
            if not isinstance(text, str):
                raise OptionError(f"texts[{place}] must be a string, got {type(text).__name__}")
        said = [text for text in texts if text.strip()]
        if len(said) < len(texts) and not said and self._dimensions is None:
            said = [_PROBE]  # how long a vector of zeros is, only the service can tell
        found: list[list[float]] = []
        for batch in batches(said):
            found += yield from self._batch_steps(batch)
        vectors = iter(found)
        return [next(vectors) if text.strip() else [0.0] * (self._dimensions or 0) for text in texts]

    def _batch_steps(self, batch: list[str]) -> Steps[list[list[float]]]:
        entry: dict[str, Any] = {"model": self.model, "input": batch}
        if self._asked_dimensions:
            entry["dimensions"] = self._asked_dimensions
        peer = self._service.peer(self.model)
        answer, _ = yield from deliver(Send("/embeddings", encode(entry), _LARGEST_ANSWER), peer, self._service.retry)
        vectors = read_vectors(answer, len(batch), self._dimensions, peer)
        self._dimensions = len(vectors[0])
        return vectors


class OpenAIEmbeddings(_Embeddings):
    """Vectors of texts; an `EmbeddingsProvider`. Arguments and errors are those of `OpenAIClient`, and `dimensions`, the length to ask for.

    Texts go in batches of up to 128 with up to 200,000 characters together; vectors come back in the order of the texts. An empty text
    or one of white space, which services refuse, is not sent: its vector is all zeros.
    """

    @property
    def dimensions(self) -> int:
        """The length of every vector: as asked for, as known of the model, else as the service sends it, for which it is asked once."""
        if self._dimensions is None:
            self.embed(_PROBE)
        if self._dimensions is None:
            raise ProviderError("the service sent no vector")  # unreachable: embed has raised
        return self._dimensions

    def embed(self, text: str) -> list[float]:
        """Return the vector of one text.

        Raises:
            OptionError: It is no string.
            ProviderError: The call failed; its class says how.
        """
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts, in their order. Where one batch fails there is none at all.

        Raises:
            OptionError: A text is no string; the message says which.
            ProviderError: A call failed; its class says how.
        """
        return self._service.run(self._steps(texts))


class AsyncOpenAIEmbeddings(_Embeddings):
    """`OpenAIEmbeddings` for asyncio; the same contract, but for `dimensions`."""

    @property
    def dimensions(self) -> int:
        """The length of every vector.

        Raises:
            OptionError: It is not known before the first call.
        """
        if self._dimensions is None:
            raise OptionError(
                f"the dimensions of {self.model!r} are known after the first call; give dimensions=..., or embed a text first"
            )
        return self._dimensions

    async def embed(self, text: str) -> list[float]:
        """Return the vector of one text; see `OpenAIEmbeddings.embed`."""
        return (await self.embed_batch([text]))[0]

    async def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts, in their order; see `OpenAIEmbeddings.embed_batch`."""
        return await self._service.run_async(self._steps(texts))

    async def aclose(self) -> None:
        """Let the client's threads end. It may be called twice, and a later call works."""
        self._service.close()


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield texts in their order, as many together as one request takes."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == _MOST_TEXTS or size + len(text) > _MOST_CHARS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
