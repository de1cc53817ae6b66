"""Clients of OpenAI and of every server that speaks its chat completions and embeddings: OpenAI, Azure, Ollama, vLLM, llama.cpp and others.

The standard library does the talking; there is no package to install. Nothing here decides what is worth remembering.

How a call goes, for all of them:

1. It is sent up to `Retry.attempts` times: again after 408, 409, 425, 429, 5xx and a failed connection, waiting as Retry-After says or
   longer each time. Other 4xx, a spent quota, a timeout and an unreadable answer end it at once, each with its own `ProviderError`.
2. A server that refuses a parameter is asked in another way, which is remembered: the other name of the token limit, a schema within an
   object, a schema that is not strict, no schema, no temperature. `OpenAIReply.fallbacks` names what was left out.
3. `timeout` bounds one attempt as a whole, whatever the server drips. An answer has 16 MiB at the most (vectors: 64 MiB).
4. Redirects are not followed. Proxies of the environment are used, but not for this machine.
5. The key goes into one header and nowhere else: no message, repr or reply shows it, also where a server sends it back, and a client
   cannot be pickled. A server other than OpenAI's may need none; `api_key=""` sends none even where `OPENAI_API_KEY` is set.
"""

from salience.providers.openai_client import AsyncOpenAIClient, OpenAIClient
from salience.providers.openai_embeddings import AsyncOpenAIEmbeddings, OpenAIEmbeddings
from salience.providers.openai_errors import (
    BadReplyError,
    DeadlineError,
    KeyRefusedError,
    MissingKeyError,
    NoConnectionError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RefusalError,
    RequestError,
    ServerError,
)
from salience.providers.openai_extractor import AsyncOpenAIExtractor, OpenAIExtractor
from salience.providers.openai_replies import OpenAIReply
from salience.providers.openai_settings import Retry

__all__ = [
    "AsyncOpenAIClient",
    "AsyncOpenAIEmbeddings",
    "AsyncOpenAIExtractor",
    "BadReplyError",
    "DeadlineError",
    "KeyRefusedError",
    "MissingKeyError",
    "NoConnectionError",
    "OpenAIClient",
    "OpenAIEmbeddings",
    "OpenAIExtractor",
    "OpenAIReply",
    "ProviderError",
    "QuotaError",
    "RateLimitError",
    "RefusalError",
    "RequestError",
    "Retry",
    "ServerError",
]
