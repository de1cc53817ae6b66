"""Facts out of a text (contract B1): what is asked, and what is read out of the replies. Nothing is sent here.

The request is that of any extraction (`salience.requests`), long texts included, under a `Policy` with the recall prompt. Only the reply
differs: a fact has no salience. Options, calibration and threshold of the policy are not used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from salience.consolidation_types import ExtractedMemory, RecallResult
from salience.errors import OptionError, PolicyError
from salience.lenient_json import Allowance, Broken, Obj, whole_number
from salience.merging import merge_replies, merge_status, statement_key
from salience.policy import Decoding, Policy
from salience.prompts.recall import RECALL_SCHEMA, RECALL_SYSTEM_PROMPT, is_from_prompt
from salience.reply_items import clean_text, read_item
from salience.reply_search import Answer, find_answer
from salience.requests import Request, build_requests, turn_parts
from salience.types import Dropped, Reply, Status, Turn

_DECODER = json.JSONDecoder(parse_int=whole_number)


def recall_policy(name: str = "plain") -> Policy:
    """Return a policy of recall that ships.

    Args:
        name: "plain" is the prompt alone and needs no more than an `LlmClient`; "default" has a reply schema, a limit of 1,500 tokens and
            temperature 0.

    Raises:
        PolicyError: There is none of that name.
    """
    if name == "plain":
        return Policy("recall-plain", RECALL_SYSTEM_PROMPT)
    if name == "default":
        return Policy("recall-default", RECALL_SYSTEM_PROMPT, schema_json=RECALL_SCHEMA, decoding=Decoding(1500, 0.0))
    raise PolicyError(f"there is no recall policy named {name!r}; shipped: default, plain; Policy.load(...) loads one of yours from a file")


def as_turn(text: str | Turn) -> Turn:
    """Return a text as a turn; a `Turn` brings its date and source along.

    Raises:
        OptionError: It is neither.
    """
    if isinstance(text, Turn):
        return text
    if not isinstance(text, str):
        raise OptionError(f"text must be a string or a salience.Turn, got {type(text).__name__}")
    return Turn(text)


def recall_requests(policy: Policy, text: str | Turn) -> tuple[Request, ...]:
    """Return what to ask about a text: one request, or one for each part of a text longer than the policy's `max_turn_chars`."""
    return build_requests(policy, as_turn(text))


def read_recall(policy: Policy, text: str | Turn, replies: Sequence[Reply]) -> RecallResult:
    """Return the facts that the replies to `recall_requests` hold; never raises, whatever the replies.

    A fact that is stated twice is kept once. What is the prompt's own text, its example included, is dropped.

    Args:
        policy: The policy that the requests were made with.
        text: The whole text.
        replies: The model's answers, in the order of the requests.

    Raises:
        OptionError: There are more replies or fewer than the text has parts.
    """
    turn = as_turn(text)
    number = len(turn_parts(policy, turn))
    if len(replies) != number:
        raise OptionError(f"replies must be {number}, one for each of recall_requests(policy, text), got {len(replies)}")
    found: dict[str, ExtractedMemory] = {}
    dropped: list[Dropped] = []
    statuses: list[Status] = []
    for reply in replies:
        contents, status, left_out = _read(reply)
        statuses.append(status)
        dropped += left_out
        for content in contents:
            key = statement_key(content)
            if is_from_prompt(content, policy.system, [turn.text]):
                dropped.append(Dropped("the prompt's own text", content[:200]))
            elif key in found:
                dropped.append(Dropped("stated twice", content[:200]))
            else:
                found[key] = ExtractedMemory(content)
    status = statuses[0] if number == 1 else merge_status(statuses)
    return RecallResult(tuple(found.values()), replies[0] if number == 1 else merge_replies(replies), status, tuple(dropped), number)


def _read(reply: Reply) -> tuple[list[str], Status, list[Dropped]]:
    clean = clean_text(reply.text)
    body = clean.strip().strip("\ufeff").strip()
    answer = find_answer(body, Allowance.for_length(len(body)))
    contents: list[str] = []
    dropped: list[Dropped] = []
    for element in answer.elements:
        content, reason = _content(element)
        if content:
            contents.append(content)
        else:
            shown = body[element.start : element.end][:200] if isinstance(element, Obj | Broken) else str(element)[:200]
            dropped.append(Dropped(reason, shown))
    return contents, _status(reply, answer, exact=clean == reply.text and not dropped and _is_json(body), usable=bool(contents)), dropped


def _content(element: object) -> tuple[str, str]:
    """Return the fact that an element states, or "" and why there is none. A string alone is a fact: lists of them are common."""
    if isinstance(element, Broken):
        return "", element.reason
    raw = {"content": element} if isinstance(element, str) else {"content": element.get("content")} if isinstance(element, Obj) else None
    if raw is None:
        return "", "not an object"
    item = read_item({**raw, "salience": 1})
    return (item.candidate.content, "") if item.candidate else ("", item.reason)


def _is_json(body: str) -> bool:
    """Return whether a reply is valid JSON of the form asked for, or the array alone."""
    if not body.startswith(("{", "[")) or not body.endswith(("}", "]")):
        return False
    try:
        value = _DECODER.decode(body)
    except (ValueError, RecursionError):
        return False
    items = value.get("memories") if isinstance(value, dict) and len(value) == 1 else value
    return isinstance(items, list) and all(isinstance(one, dict) for one in items)


def _status(reply: Reply, answer: Answer, *, exact: bool, usable: bool) -> Status:
    if answer.truncated or (reply.finish_reason == "length" and not usable and not answer.said_nothing):
        return "truncated"
    if usable:
        return "ok" if exact else "repaired"
    return "empty" if answer.said_nothing else "malformed"
