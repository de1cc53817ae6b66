"""Finds what one text is worth with an opened model or baseline, and keeps the evidence. Nothing is stored or printed here."""

from __future__ import annotations

from evals.cases import Case
from evals.models.base import Baseline, Model, ModelReply
from evals.models.client import ModelClient
from salience import AsyncModelSalienceExtractor, Candidate, ExtractionResult, ExtractOptions, Policy, Turn, read_results


class Listener:
    """A `salience.AsyncSalienceExtractor` for one text of a user.

    Args:
        model: Who finds the candidates. `close` closes it.
        policy: What a model is asked under; of a baseline its options alone are used.
        text: What the user said, for a baseline, which reads no turn.
        seed: Seed of the model's sampling.

    Attributes:
        policy: The policy that holds; a baseline has none but the options.
        client: The model as a client; None for a baseline.
        result: What was found, once something was.
    """

    def __init__(self, model: Model | Baseline, policy: Policy, text: str, *, seed: int = 0) -> None:
        self._model, self._text = model, text
        self.client = None if isinstance(model, Baseline) else ModelClient(model, seed=seed)
        self.policy = Policy(options=policy.options) if self.client is None else policy
        self.result: ExtractionResult | None = None

    async def extract_salient(self, turn: Turn, options: ExtractOptions | None = None) -> list[Candidate]:
        """Return the candidates, the most salient first."""
        return list((await self.extract(turn, options)).candidates)

    async def extract(self, turn: Turn, options: ExtractOptions | None = None) -> ExtractionResult:
        """Return the candidates with their evidence.

        Raises:
            CallError: A call to the model failed.
            ModelError: The model cannot be had.
        """
        if self.client is not None:
            self.result = await AsyncModelSalienceExtractor(self.client, policy=self.policy).extract(turn, options)
        elif isinstance(self._model, Baseline):
            self.result = read_results(self.policy, turn, [ModelReply(self._model.reply(self._case(turn)))], options)
        if self.result is None:
            raise TypeError(f"{self._model!r} is neither a model nor a baseline")
        return self.result

    def _case(self, turn: Turn) -> Case:
        message = {"role": "user", "content": self._text}
        return Case(id="text", conversation="text", split="dev", language="en", date=turn.date, messages=(message,), memories=())

    async def close(self) -> None:
        """Close the model."""
        if self.client is not None:
            await self.client.model.close()
