"""ChatGPT's and Claude's exports of a person's conversations as cases that nobody has labelled.

Both are the `conversations.json` of the export. What becomes of it:

- Each message of the user is a case; the four messages before it are its `context`. Cases of one conversation share `conversation`;
  all are of split "dev" and carry the tag "unlabelled".
- Of a conversation that branches, the branch that was open last is read. Hidden and system messages, reasoning, pictures and what
  the assistant runs are left out.
- Text that was attached stands below the message. The language is detected, and English where that cannot tell.
- A conversation that is not as it must be is left out whole and named with what is wrong; the others are read.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.cases import UNLABELLED, Case
from evals.data.foreign import ForeignData, Tally, build_case, given
from evals.data.parts import field, iso_day, json_entries, one_of, require_file
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
    return _open(path, "ChatGPT export", _chatgpt)


def open_claude(path: Path) -> ForeignData:
    """Return Claude's export as unlabelled cases.

    Raises:
        DataError: There is no such file; reading raises it where the file is no such export, or no conversation in it can be read.
    """
    return _open(path, "Claude export", _claude)


_Reader = Callable[[Any, str, Tally], tuple[str, list[_Said]]]


def _open(path: Path, what: str, read: _Reader) -> ForeignData:
    require_file(path, what)

    def source(tally: Tally) -> Iterator[tuple[str, Case]]:
        for number, entry in enumerate(json_entries(path, "conversations"), start=1):
            place = f"{path}: conversation {number}"
            try:
                name, said = read(entry, place, tally)
                cases = list(_cases(name, said, place))
            except DataError as error:
                tally.skip(f"a conversation that is not as it must be ({str(error).removeprefix(f'{path}: ')})", place)
                continue
            if not cases:
                tally.skip("a conversation in which the user says nothing", place)
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


def _chatgpt(entry: Any, place: str, tally: Tally) -> tuple[str, list[_Said]]:
    name = field(entry, "conversation_id", str, place, optional=True) or field(entry, "id", str, place)
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
    return name, [one for one in said if one is not None]


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
    if kind not in _TEXT_TYPES:
        tally.skip(f"a message that is no text ({kind})", place)
        return None
    texts = []
    for part in field(content, "parts", list, place):
        if isinstance(part, str):
            texts.append(part)
        else:
            tally.skip("a picture, sound or file in a message", place)
    text = "\n".join(texts)
    if not text.strip():
        return None
    return _Said(role, text, _from_epoch(field(message, "create_time", float, place, optional=True), place))


def _from_epoch(seconds: float | None, place: str) -> str | None:
    try:
        return None if seconds is None else datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        raise DataError(f"{place}: create_time must be seconds since 1970, got {given(seconds)}") from None


def _claude(entry: Any, place: str, tally: Tally) -> tuple[str, list[_Said]]:
    name = field(entry, "uuid", str, place)
    messages = _open_branch(field(entry, "chat_messages", list, place), place, tally)
    said = [_claude_message(message, f"{place}: message {number}", tally) for number, message in enumerate(messages, start=1)]
    return name, [one for one in said if one.content.strip()]


def _open_branch(messages: list[Any], place: str, tally: Tally) -> list[Any]:
    """Return the messages that lead to the last one; all of them where the export does not tell their parents."""
    if not all(isinstance(message, dict) and isinstance(message.get("parent_message_uuid"), str) for message in messages):
        return messages
    by_id = {message.get("uuid"): message for message in messages}
    path: list[Any] = []
    one = messages[-1] if messages else None
    while one is not None and one not in path:
        path.append(one)
        one = by_id.get(one["parent_message_uuid"])
    if len(path) < len(messages):
        tally.note("a conversation with other branches, of which the one open last was read", place)
    return path[::-1]


def _claude_message(message: Any, place: str, tally: Tally) -> _Said:
    role = one_of(field(message, "sender", str, place), {"human": "user", "user": "user", "assistant": "assistant"}, "sender", place)
    texts = []
    for block in field(message, "content", list, place, optional=True) or []:
        if field(block, "type", str, place) == "text":
            texts.append(field(block, "text", str, place))
        else:
            tally.skip(f"a part of a message that is no text ({block['type']})", place)
    text = "\n".join(texts) if texts else field(message, "text", str, place, optional=True) or ""
    for attached in field(message, "attachments", list, place, optional=True) or []:
        extracted = field(attached, "extracted_content", str, place, optional=True)
        if extracted and extracted.strip():
            text = f"{text}\n\n{extracted}".strip()
            tally.note("a message with attached text, which stands below it", place)
    for _ in field(message, "files", list, place, optional=True) or []:
        tally.skip("a picture, sound or file in a message", place)
    created = field(message, "created_at", str, place, optional=True)
    return _Said(role, text, None if created is None else iso_day(created, f"{place}: created_at"))
