"""The chat clients: two shells, sync and async, over the steps of `openai_calls`. `salience.providers.openai` exports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from salience.protocols import Message
from salience.providers.openai_calls import Service, Steps, chat_steps, usual_style
from salience.providers.openai_replies import OpenAIReply
from salience.providers.openai_requests import Asked, Learned
from salience.providers.openai_secrets import Key
from salience.providers.openai_settings import Retry, check_model


class _Client:
    """What both shells share: the core without input or output.

    Args:
        api_key: The key; None for `OPENAI_API_KEY`, "" for none.
        model: The model's name.
        base_url: The base address of another service, such as "http://localhost:11434/v1"; None for OpenAI.
        timeout: Seconds for one attempt, from the first byte sent to the last one read.
        retry: When a call is sent again.
        require_schema: Whether a call fails where the server refuses its schema. Else it is asked without, and the reply says so.

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
        timeout: float = 120.0,
        retry: Retry | None = None,
        require_schema: bool = False,
    ) -> None:
        key = api_key if isinstance(api_key, Key) else Key(api_key)
        del api_key  # a traceback shows no key
        self.model = check_model(model)
        self._require_schema = require_schema
        self._service = Service(key, base_url, timeout, retry)
        self._learned = Learned(usual_style(self._service.endpoint))

    def __repr__(self) -> str:
        """Return model and address, no key."""
        service = getattr(self, "_service", None)  # a traceback may show a client that was refused
        return (
            f"{type(self).__name__}(model={self.model!r}, base_url={service.endpoint.shown!r})" if service else f"{type(self).__name__}()"
        )

    def _steps(self, asked: Asked) -> Steps[OpenAIReply]:
        service = self._service
        return chat_steps(asked, self._learned, service.peer(self.model), service.retry, require_schema=self._require_schema)


def _two_messages(system: str, prompt: str) -> Asked:
    return Asked(({"role": "system", "content": system}, {"role": "user", "content": prompt}))


class OpenAIClient(_Client):
    """A `ChatClient` and `LlmClient` over an OpenAI-compatible service. The module says how a call goes.

    Args:
        api_key: The key; None for `OPENAI_API_KEY`, "" for none.
        model: The model's name.
        base_url: The base address of another service; None for OpenAI.
        timeout: Seconds for one attempt.
        retry: When a call is sent again.
        require_schema: Whether a call fails where the server refuses its schema. Else it is asked without, and the reply says so.

    Raises:
        MissingKeyError: OpenAI is asked, and there is no key.
        OptionError: A value is of the wrong type or out of range.
    """

    def complete(self, *, system: str, prompt: str) -> str:
        """Return the model's answer to one system and one user text, "" for an empty answer.

        Raises:
            ProviderError: The call failed; its class says how.
        """
        return self._service.run(self._steps(_two_messages(system, prompt))).text

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> OpenAIReply:
        """Return the model's answer to a list of messages.

        Args:
            messages: Mappings with `role` and `content`, sent unchanged and in order.
            schema: A JSON schema for the answer. One whose root is no object may come back within an object, under the key "items".
            max_tokens: The most tokens of the answer, from 1 up, under whichever name the server takes; None for the server's default.
            temperature: From 0 up; None for the server's default.

        Raises:
            OptionError: An argument is of the wrong type or out of range.
            ProviderError: The call failed; its class says how.
        """
        return self._service.run(self._steps(Asked(tuple(messages), schema, max_tokens, temperature)))


class AsyncOpenAIClient(_Client):
    """`OpenAIClient` for asyncio; the same contract. Up to 32 calls are in flight at once, in threads; a cancelled one is broken off."""

    async def complete(self, *, system: str, prompt: str) -> str:
        """Return the model's answer to one system and one user text; see `OpenAIClient.complete`."""
        return (await self._service.run_async(self._steps(_two_messages(system, prompt)))).text

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> OpenAIReply:
        """Return the model's answer to a list of messages; see `OpenAIClient.chat`."""
        return await self._service.run_async(self._steps(Asked(tuple(messages), schema, max_tokens, temperature)))

    async def aclose(self) -> None:
        """Let the client's threads end. It may be called twice, and a later call works."""
        self._service.close()

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the client."""
        await self.aclose()
