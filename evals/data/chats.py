"""ChatGPT's and Claude's exports of a person's conversations as cases that nobody has labelled.

Both are the `conversations.json` of the export. What becomes of it:

- Each message of the user is a case; the four messages before it are its `context`. Cases of one conversation share `conversation`;
  all are of split "dev" and carry the tag "unlabelled".
- Of a conversation that branches, the branch that was open last is read. Hidden and system messages, reasoning, pictures and what
  the assistant runs are left out.
- What the user spoke is read as text, and text that was attached stands below the message. The language is detected, and English where
  that cannot tell.
- A conversation that is not as it must be is left out whole and named with what is wrong, and one that comes again is left out; the
  others are read.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.cases import UNLABELLED, Case
from evals.data.foreign import ForeignData, Tally, build_case, given
from evals.data.parts import field, iso_day, json_entries, one_of, require_file, whole
from evals.errors import DataError
from evals.matching.language import language_of

CONTEXT = 4
"""Messages before a message that are its context."""
_DETECTED_BY = 2_000
_TEXT_TYPES = ("text", "multimodal_text")


@dataclass(frozen=True, slots=True)
class _Said:
    """A message of a conversation, in order."""

    role: str
    content: str
    date: str | None


def open_chatgpt(path: Path) -> ForeignData:
    """Return ChatGPT's export as unlabelled cases.

    Raises:
        DataError: There is no such file; reading raises it where the file is no such export, or no conversation in it can be read.
    """
    return _open(path, "ChatGPT export", _chatgpt_name, _chatgpt)


def open_claude(path: Path) -> ForeignData:
    """Return Claude's export as unlabelled cases.

    Raises:
        DataError: There is no such file; reading raises it where the file is no such export, or no conversation in it can be read.
    """
    return _open(path, "Claude export", _claude_name, _claude)


def _open(path: Path, what: str, name_of: Callable[[Any, str], str], said_in: Callable[[Any, str, Tally], list[_Said]]) -> ForeignData:
    require_file(path, what)

    def source(tally: Tally) -> Iterator[tuple[str, Case]]:
        read: set[str] = set()
        for number, entry in enumerate(json_entries(path, "conversations"), start=1):
            place = f"{path}: conversation {number}"
            try:
                name = whole(name_of(entry, place), place, tally, "an id")
                if name in read:
                    tally.skip("a conversation that was read already", place)
                    continue
                cases = list(_cases(name, said_in(entry, place, tally), place))
            except DataError as error:
                tally.skip_faulty("a conversation", error, place)
                continue
            if not cases:
                tally.skip("a conversation in which the user says nothing", place)
                continue
            read.add(name)
            yield from cases

    return ForeignData(name=path.stem, source=source)


def _cases(name: str, said: list[_Said], place: str) -> Iterator[tuple[str, Case]]:
    for index, one in enumerate(said):
        if one.role != "user":
            continue
        before = [{"role": other.role, "content": other.content} for other in said[max(0, index - CONTEXT) : index]]
        fields = {
            "id": f"{name}-{index + 1}", "conversation": name, "split": "dev", "tags": [UNLABELLED],
            "language": language_of(one.content[:_DETECTED_BY], "en"),
            "date": one.date, "context": before, "messages": [{"role": "user", "content": one.content}], "memories": [],
        }  # fmt: skip
        yield f"{place}: message {index + 1}", build_case(fields, f"{place}: message {index + 1}")


def _chatgpt_name(entry: Any, place: str) -> str:
    return field(entry, "conversation_id", str, place, optional=True) or str(field(entry, "id", str, place))


def _chatgpt(entry: Any, place: str, tally: Tally) -> list[_Said]:
    nodes = field(entry, "mapping", dict, place)
    current = field(entry, "current_node", str, place, optional=True) or _last_leaf(nodes, place)
    path: list[Any] = []
    seen: set[str] = set()
    while current is not None:
        if current not in nodes or current in seen:
            raise DataError(f"{place}: mapping: node {given(current)} {'is its own ancestor' if current in seen else 'is missing'}")
        seen.add(current)
        path.append(nodes[current])
        current = field(nodes[current], "parent", str, f"{place}: node {given(current)}", optional=True)
    if len(path) < len(nodes):
        tally.note("a conversation with other branches, of which the one open last was read", place)
    said = [_chatgpt_message(node, f"{place}: node {given(node.get('id'))}", tally) for node in reversed(path)]
    return [one for one in said if one is not None]


def _last_leaf(nodes: dict[str, Any], place: str) -> str | None:
    leaves = [key for key, node in nodes.items() if not field(node, "children", list, f"{place}: node {given(key)}", optional=True)]
    return leaves[-1] if leaves else None


def _chatgpt_message(node: Any, place: str, tally: Tally) -> _Said | None:
    message = field(node, "message", dict, place, optional=True)
    if message is None:
        return None  # the root
    role = field(field(message, "author", dict, place), "role", str, place)
    hidden = (field(message, "metadata", dict, place, optional=True) or {}).get("is_visually_hidden_from_conversation")
    content = field(message, "content", dict, place)
    kind = field(content, "content_type", str, place)
    if role not in ("user", "assistant") or hidden:
        tally.skip("a hidden message, or one of the system or a tool", place)
        return None
    if (field(message, "recipient", str, place, optional=True) or "all") != "all":
        tally.skip("a message to a tool, which the person did not see", place)
        return None
    if kind not in _TEXT_TYPES:
        tally.skip(f"a message that is no text ({_shown(kind)})", place)
        return None
    texts = []
    for part in field(content, "parts", list, place):
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("content_type") == "audio_transcription":
            texts.append(field(part, "text", str, place))
        else:
            tally.skip("a picture, sound or file in a message", place)
    date = _from_epoch(field(message, "create_time", float, place, optional=True), place)
    return _said(role, "\n".join(texts), date, place, tally)


def _said(role: str, text: str, date: str | None, place: str, tally: Tally) -> _Said | None:
    if not text.strip():
        tally.skip("a message without text", place)
        return None
    return _Said(role, whole(text, place, tally), date)


def _shown(word: str) -> str:
    """Return a word of the export as a reason shows it: where it is an odd one, as messages show a value."""
    return word if word.isidentifier() and len(word) <= 40 else given(word)


def _from_epoch(seconds: float | None, place: str) -> str | None:
    try:
        return None if seconds is None else datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        raise DataError(f"{place}: create_time must be seconds since 1970, got {given(seconds)}") from None


def _claude_name(entry: Any, place: str) -> str:
    return str(field(entry, "uuid", str, place))


def _claude(entry: Any, place: str, tally: Tally) -> list[_Said]:
    messages = field(entry, "chat_messages", list, place)
    said = [_claude_message(messages[index], f"{place}: message {index + 1}", tally) for index in _open_branch(messages, place, tally)]
    return [one for one in said if one is not None]


def _open_branch(messages: list[Any], place: str, tally: Tally) -> Sequence[int]:
    """Return the indexes of the messages that lead to the last one; of all where the export does not tell their ids and parents."""
    ids, parents = (
        [field(message, name, str, f"{place}: message {number}", optional=True) for number, message in enumerate(messages, start=1)]
        for name in ("uuid", "parent_message_uuid")
    )
    if not messages or None in ids or None in parents:
        return range(len(messages))
    by_id = {name: index for index, name in enumerate(ids)}
    path: dict[int, None] = {}
    index: int | None = len(messages) - 1
    while index is not None and index not in path:
        path[index] = None
        index = by_id.get(parents[index])
    if len(path) < len(messages):
        tally.note("a conversation with other branches, of which the one open last was read", place)
    return list(reversed(path))


def _claude_message(message: Any, place: str, tally: Tally) -> _Said | None:
    role = one_of(field(message, "sender", str, place), {"human": "user", "user": "user", "assistant": "assistant"}, "sender", place)
    texts = []
    for block in field(message, "content", list, place, optional=True) or []:
        if field(block, "type", str, place) == "text":
            texts.append(field(block, "text", str, place))
        else:
            tally.skip(f"a part of a message that is no text ({_shown(block['type'])})", place)
    text = "\n".join(texts) if texts else field(message, "text", str, place, optional=True) or ""
    for attached in field(message, "attachments", list, place, optional=True) or []:
        extracted = field(attached, "extracted_content", str, place, optional=True)
        if extracted and extracted.strip():
            text = f"{text}\n\n{extracted}".strip()
            tally.note("a message with attached text, which stands below it", place)
    for _ in field(message, "files", list, place, optional=True) or []:
        tally.skip("a picture, sound or file in a message", place)
    created = field(message, "created_at", str, place, optional=True)
    return _said(role, text, None if created is None else iso_day(created, f"{place}: created_at"), place, tally)
