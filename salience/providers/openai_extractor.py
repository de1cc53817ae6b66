"""Facts and their consolidation over an OpenAI-compatible service: a consolidator with its client. What is asked is decided elsewhere."""

from __future__ import annotations

from dataclasses import replace

from salience.consolidation import AsyncModelConsolidator, ModelConsolidator
from salience.consolidation_policy import ConsolidationPolicy
from salience.policy import Decoding, Policy
from salience.providers.openai_client import AsyncOpenAIClient, OpenAIClient
from salience.providers.openai_secrets import Key
from salience.providers.openai_settings import Retry
from salience.recall import recall_policy


def structured_policies(policy: ConsolidationPolicy | None, recall: Policy | None) -> tuple[ConsolidationPolicy, Policy]:
    """Return the policies given, else the shipped ones with a reply schema.

    Without their limit of tokens and their temperature: a model that thinks, as the default one does, takes the thinking out of the limit
    and may have nothing left to answer with, and it refuses a temperature.
    """
    if policy is None:
        policy = replace(ConsolidationPolicy.load("default"), name="structured", decoding=Decoding())
    if recall is None:
        recall = replace(recall_policy("default"), name="recall-structured", decoding=Decoding())
    return policy, recall


class OpenAIExtractor(ModelConsolidator):
    """Finds facts and consolidates them with a model of OpenAI's or of any compatible service, with structured output.

    Everything else is as in `ModelConsolidator`; how a call goes, `salience.providers.openai` says. A failed call is a `ProviderError`:
    nothing is decided then, and the caller still has the text.

    Args:
        api_key: The key; None for `OPENAI_API_KEY`, "" for none.
        model: The model's name.
        base_url: The base address of another service; None for OpenAI.
        policy: What to ask about new facts and known memories; None for the shipped prompt with a reply schema.
        recall: What to ask about a text; the same holds.
        timeout: Seconds for one attempt.
        retry: When a call is sent again.

    Raises:
        MissingKeyError: OpenAI is asked, and there is no key.
        OptionError: A value is of the wrong type or out of range.
    """

    def __init__(
        self,
        api_key: str | Key | None = None,
        model: str = "gpt-5-nano",
        base_url: str | None = None,
        *,
        policy: ConsolidationPolicy | None = None,
        recall: Policy | None = None,
        timeout: float = 120.0,
        retry: Retry | None = None,
    ) -> None:
        key = api_key if isinstance(api_key, Key) else Key(api_key)
        del api_key  # a traceback shows no key
        consolidation, finding = structured_policies(policy, recall)
        super().__init__(OpenAIClient(key, model, base_url, timeout=timeout, retry=retry), policy=consolidation, recall=finding)

    def __repr__(self) -> str:
        """Return the client, no key."""
        return f"{type(self).__name__}({getattr(self, 'llm', None)!r})"


class AsyncOpenAIExtractor(AsyncModelConsolidator):
    """`OpenAIExtractor` for asyncio; the same contract."""

    def __init__(
        self,
        api_key: str | Key | None = None,
        model: str = "gpt-5-nano",
        base_url: str | None = None,
        *,
        policy: ConsolidationPolicy | None = None,
        recall: Policy | None = None,
        timeout: float = 120.0,
        retry: Retry | None = None,
    ) -> None:
        key = api_key if isinstance(api_key, Key) else Key(api_key)
        del api_key  # a traceback shows no key
        consolidation, finding = structured_policies(policy, recall)
        super().__init__(AsyncOpenAIClient(key, model, base_url, timeout=timeout, retry=retry), policy=consolidation, recall=finding)

    def __repr__(self) -> str:
        """Return the client, no key."""
        return f"{type(self).__name__}({getattr(self, 'llm', None)!r})"

    async def aclose(self) -> None:
        """Let the client's threads end. It may be called twice, and a later call works."""
        await self.llm.aclose()
