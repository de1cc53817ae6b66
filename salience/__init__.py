"""What is worth remembering of a conversation: a turn and any model client in, atomic scored candidate memories out.

Standard library only. `create_salience_extractor(client).extract_salient(Turn("..."))` is all that is needed to begin.
A name loads the module that it comes from when it is first used, so that importing the package costs next to nothing.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would cost most of the import

if TYPE_CHECKING:
    from salience.calibration import CalibrationMap
    from salience.consolidation import AsyncModelConsolidator, ModelConsolidator, create_consolidator
    from salience.consolidation_core import consolidation_steps
    from salience.consolidation_policy import ConsolidationExample, ConsolidationPolicy
    from salience.consolidation_protocols import (
        AsyncConsolidator,
        AsyncMemoryExtractor,
        Consolidator,
        MemoryExtractor,
        aconsolidate_with,
        consolidate_with,
    )
    from salience.consolidation_reply import read_consolidation
    from salience.consolidation_requests import build_consolidation_request, render_consolidation_messages
    from salience.consolidation_types import (
        ConsolidationBatch,
        ConsolidationDecision,
        ConsolidationResult,
        ExtractedMemory,
        KnownMemory,
        RecallResult,
    )
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
    from salience.prompts.recall import CONSOLIDATION_SYSTEM_PROMPT, RECALL_SYSTEM_PROMPT
    from salience.protocols import (
        AsyncChatClient,
        AsyncLlmClient,
        AsyncSalienceExtractor,
        ChatClient,
        LlmClient,
        Message,
        SalienceExtractor,
    )
    from salience.recall import read_recall, recall_policy, recall_requests
    from salience.rendering import render_messages, render_turn
    from salience.reply import read_reply
    from salience.requests import Request, RequestBuilder, build_request, build_requests
    from salience.types import Candidate, Dropped, ExtractionResult, ExtractOptions, Reply, ReplyReading, Status, Turn

_HOMES = {
    "calibration": "CalibrationMap",
    "consolidation": "AsyncModelConsolidator ModelConsolidator create_consolidator",
    "consolidation_core": "consolidation_steps",
    "consolidation_policy": "ConsolidationExample ConsolidationPolicy",
    "consolidation_protocols": "AsyncConsolidator AsyncMemoryExtractor Consolidator MemoryExtractor aconsolidate_with consolidate_with",
    "consolidation_reply": "read_consolidation",
    "consolidation_requests": "build_consolidation_request render_consolidation_messages",
    "consolidation_types": "ConsolidationBatch ConsolidationDecision ConsolidationResult ExtractedMemory KnownMemory RecallResult",
    "errors": "OptionError PolicyError SalienceError SeamError",
    "extractor": "AsyncModelSalienceExtractor ModelSalienceExtractor create_salience_extractor read_result read_results",
    "parts": "split_turn",
    "policy": "Decoding Example Policy",
    "prompts": "SALIENCE_SYSTEM_PROMPT",
    "prompts.recall": "CONSOLIDATION_SYSTEM_PROMPT RECALL_SYSTEM_PROMPT",
    "protocols": "AsyncChatClient AsyncLlmClient AsyncSalienceExtractor ChatClient LlmClient Message SalienceExtractor",
    "recall": "read_recall recall_policy recall_requests",
    "rendering": "render_messages render_turn",
    "reply": "read_reply",
    "requests": "Request RequestBuilder build_request build_requests",
    "types": "Candidate Dropped ExtractOptions ExtractionResult Reply ReplyReading Status Turn",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "CONSOLIDATION_SYSTEM_PROMPT",
    "RECALL_SYSTEM_PROMPT",
    "SALIENCE_SYSTEM_PROMPT",
    "AsyncChatClient",
    "AsyncConsolidator",
    "AsyncLlmClient",
    "AsyncMemoryExtractor",
    "AsyncModelConsolidator",
    "AsyncModelSalienceExtractor",
    "AsyncSalienceExtractor",
    "CalibrationMap",
    "Candidate",
    "ChatClient",
    "ConsolidationBatch",
    "ConsolidationDecision",
    "ConsolidationExample",
    "ConsolidationPolicy",
    "ConsolidationResult",
    "Consolidator",
    "Decoding",
    "Dropped",
    "Example",
    "ExtractOptions",
    "ExtractedMemory",
    "ExtractionResult",
    "KnownMemory",
    "LlmClient",
    "MemoryExtractor",
    "Message",
    "ModelConsolidator",
    "ModelSalienceExtractor",
    "OptionError",
    "Policy",
    "PolicyError",
    "RecallResult",
    "Reply",
    "ReplyReading",
    "Request",
    "RequestBuilder",
    "SalienceError",
    "SalienceExtractor",
    "SeamError",
    "Status",
    "Turn",
    "aconsolidate_with",
    "build_consolidation_request",
    "build_request",
    "build_requests",
    "consolidate_with",
    "consolidation_steps",
    "create_consolidator",
    "create_salience_extractor",
    "read_consolidation",
    "read_recall",
    "read_reply",
    "read_result",
    "read_results",
    "recall_policy",
    "recall_requests",
    "render_consolidation_messages",
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
