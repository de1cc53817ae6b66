"""What is worth remembering of a conversation: a turn and any model client in, atomic scored candidate memories out.

Standard library only. `create_salience_extractor(client).extract_salient(Turn("..."))` is all that is needed to begin.
"""

from salience.calibration import CalibrationMap
from salience.errors import OptionError, PolicyError, SalienceError, SeamError
from salience.extractor import (
    AsyncModelSalienceExtractor,
    ModelSalienceExtractor,
    Request,
    build_request,
    create_salience_extractor,
    read_result,
)
from salience.policy import Decoding, Example, Policy
from salience.prompts import SALIENCE_SYSTEM_PROMPT
from salience.protocols import AsyncChatClient, AsyncLlmClient, AsyncSalienceExtractor, ChatClient, LlmClient, Message, SalienceExtractor
from salience.rendering import render_messages, render_turn
from salience.reply import read_reply
from salience.types import Candidate, Dropped, ExtractionResult, ExtractOptions, Reply, ReplyReading, Status, Turn

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
    "SalienceError",
    "SalienceExtractor",
    "SeamError",
    "Status",
    "Turn",
    "build_request",
    "create_salience_extractor",
    "read_reply",
    "read_result",
    "render_messages",
    "render_turn",
]
