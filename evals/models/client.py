"""An opened model as a client of the library: what `salience.AsyncChatClient` asks for, over calls that are sent again where that helps.

Extractors and consolidators of `salience` take it as it is. It caches nothing and records nothing but how often it was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evals.models.base import Model, ModelReply
from evals.models.calling import Caller, Retry
from salience.protocols import Message


class ModelClient:
    """Asks one model, with one seed.

    Args:
        model: Who answers. Whoever opened it closes it.
        seed: Seed of the model's sampling, for models that take one; None leaves the model's default.
        retry: When a failed call is sent again.

    Attributes:
        calls: How many answers were asked for; one that is sent again counts once, and so does one that fails in the end.
        fallbacks: What servers refused of the requests and was left out, by name; see `ModelReply.fallbacks`.
    """

    def __init__(self, model: Model, *, seed: int | None = None, retry: Retry | None = None) -> None:
        self.model, self.seed = model, seed
        self.calls = 0
        self.fallbacks: set[str] = set()
        self._caller = Caller(model, retry=retry)

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> ModelReply:
        """Return the answer to a list of messages; see `Model.chat` for the arguments.

        Raises:
            CallError: The call was given up; `attempts` says after how many requests.
            ModelError: The model cannot be had at all.
        """
        self.calls += 1
        reply = await self._caller.chat(messages, schema=schema, max_tokens=max_tokens, temperature=temperature, seed=self.seed)
        self.fallbacks.update(reply.fallbacks)
        return reply
