"""What is worth remembering of a conversation: a turn and any model client in, atomic scored candidate memories out.

Standard library only. `create_salience_extractor(client).extract_salient(Turn("..."))` is all that is needed to begin.
A name loads the module that it comes from when it is first used, so that importing the package costs next to nothing.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would cost most of the import

if TYPE_CHECKING:
    from salience.calibration import CalibrationMap
    from salience.errors import OptionError, PolicyError, SalienceError, SeamError
    from salience.extractor import (
        AsyncModelSalienceExtractor,
        ModelSalienceExtractor,
        create_salience_extractor,
        read_result,
        read_results,
    )
    from salience.parts import split_turn
    from salience.policy import Decoding, Example, Policy
    from salience.prompts import SALIENCE_SYSTEM_PROMPT
    from salience.protocols import (
        AsyncChatClient,
        AsyncLlmClient,
        AsyncSalienceExtractor,
        ChatClient,
        LlmClient,
        Message,
        SalienceExtractor,
    )
    from salience.rendering import render_messages, render_turn
    from salience.reply import read_reply
    from salience.requests import Request, RequestBuilder, build_request, build_requests
    from salience.types import Candidate, Dropped, ExtractionResult, ExtractOptions, Reply, ReplyReading, Status, Turn

_HOMES = {
    "calibration": "CalibrationMap",
    "errors": "OptionError PolicyError SalienceError SeamError",
    "extractor": "AsyncModelSalienceExtractor ModelSalienceExtractor create_salience_extractor read_result read_results",
    "parts": "split_turn",
    "policy": "Decoding Example Policy",
    "prompts": "SALIENCE_SYSTEM_PROMPT",
    "protocols": "AsyncChatClient AsyncLlmClient AsyncSalienceExtractor ChatClient LlmClient Message SalienceExtractor",
    "rendering": "render_messages render_turn",
    "reply": "read_reply",
    "requests": "Request RequestBuilder build_request build_requests",
    "types": "Candidate Dropped ExtractOptions ExtractionResult Reply ReplyReading Status Turn",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "SALIENCE_SYSTEM_PROMPT",
    "AsyncChatClient",
    "AsyncLlmClient",
    "AsyncModelSalienceExtractor",
    "AsyncSalienceExtractor",
    "CalibrationMap",
    "Candidate",
    "ChatClient",
    "Decoding",
    "Dropped",
    "Example",
    "ExtractOptions",
    "ExtractionResult",
    "LlmClient",
    "Message",
    "ModelSalienceExtractor",
    "OptionError",
    "Policy",
    "PolicyError",
    "Reply",
    "ReplyReading",
    "Request",
    "RequestBuilder",
    "SalienceError",
    "SalienceExtractor",
    "SeamError",
    "Status",
    "Turn",
    "build_request",
    "build_requests",
    "create_salience_extractor",
    "read_reply",
    "read_result",
    "read_results",
    "render_messages",
    "render_turn",
    "split_turn",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'salience' has no attribute {name!r}")
    value: object = getattr(import_module(f"salience.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
