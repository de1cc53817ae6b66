r"""Splits a long turn into parts that a model can read one by one. What the model makes of them is put together in `salience.merging`.

A part is a piece of the turn's text. Where it begins inside a message, the message's header `[role: name] ` is put in front of it, so
that the model knows who speaks. Nothing but white space between two parts is left out.

Context. Where it is short enough, the end of the part before is repeated at the start of a part: whole sentences, or a whole short message,
of up to an eighth of the limit (where even a sentence had to be cut: words). Without it "She is allergic to latex" has nobody
to be about, and "Yes, do that" no question. What a model finds in both parts is merged where it says the same; a model that
says it in other words says it twice, which later consolidation mends, while a lost name stays lost. It gives way where it would
cut what is whole without it.

What splitting cannot do: a part knows nothing of later parts, so what is corrected there is still found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from salience.boundaries import (
    LEVELS,
    LINE,
    MESSAGE,
    PARAGRAPH,
    SENTENCE,
    WORD,
    Level,
    boundaries,
    last_boundary,
    last_safe_cut,
    skip_space,
)
from salience.errors import OptionError
from salience.types import MIN_TURN_CHARS, Turn

_HEADER = re.compile(r"\[[^\[\]\s][^\[\]\r\n]*\](?: |\Z)")
# In a text of `Turn.from_messages`, every line that begins with a bracket is a header after a blank line.
_NO_HEADER = re.compile(r"(?<!\n)\n\[|\n\[(?![^\[\]\s][^\[\]\r\n]*\](?: |\Z))")


def split_turn(turn: Turn, limit: int) -> tuple[Turn, ...]:
    """Split a turn into parts whose texts have at most `limit` characters each, repeated headers and context included.

    Parts end between messages where they can, else between paragraphs, sentences, lines, words, and at last inside a run without
    spaces; what fits into a part whole is not cut. Messages are told apart in a text of the form that `Turn.from_messages` gives;
    any other text is one message without a header. A header of more than a quarter of the limit is repeated shortened.

    Args:
        turn: Any turn.
        limit: The most characters of a part's text; from 200.

    Returns:
        The parts in order, at least one, each with the source, observed, date and meta of the turn; the turn itself, alone, if its text
        is not longer than the limit. Time is linear in the text's length.

    Raises:
        OptionError: `turn` is no Turn, or `limit` no whole number from 200 up.
    """
    if not isinstance(turn, Turn):
        raise OptionError(f"turn must be a salience.Turn, got {type(turn).__name__}; see Turn(...) and Turn.from_messages([...])")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < MIN_TURN_CHARS:
        raise OptionError(f"limit must be a whole number from {MIN_TURN_CHARS} up, got {limit!r}")
    if len(turn.text) <= limit:
        return (turn,)
    return tuple(replace(turn, text=text) for text in _Splitter(turn.text, limit).parts())


class _Splitter:
    """One text and how it is split.

    A part is `text[start:end]` with a header in front where that begins inside a message. `core` is where what is new in it
    begins: `text[start:core]` is the context. The `speaker` of an index is the header of the message that it lies in, as it is
    repeated.
    """

    def __init__(self, text: str, limit: int) -> None:
        self.text, self.limit = text, limit
        self.stop = len(text.rstrip())
        self.is_chat = bool(_HEADER.match(text)) and not _NO_HEADER.search(text)

    def parts(self) -> Iterator[str]:
        start = core = skip_space(self.text, 0)
        speaker, head = self.header(start), ""
        while self.stop > start + self.limit - len(head):
            end, level = self.end_of_part(core, start + self.limit - len(head), self.speaker_at(core, start, speaker))
            yield head + self.text[start:end].rstrip()
            following = skip_space(self.text, end)
            begin = self.begin_of_context(following, level, max(core, following - self.limit // 8), start, speaker)
            speaker = self.speaker_at(begin, start, speaker)
            start, core = begin, following
            head = self.head_at(start, speaker)
        yield head + self.text[start : self.stop]

    def end_of_part(self, core: int, high: int, speaker: str) -> tuple[int, Level | None]:
        """Return where the part whose new text begins at `core` ends, at most `high`, and the level of that boundary (None: in a run)."""
        best, low = core, self.after_header(core)
        for level in LEVELS:
            found = last_boundary(level, self.text, core if level is MESSAGE else max(low, best), high)
            if found is not None:
                best = found
            following = skip_space(self.text, best)
            if found is not None and level is MESSAGE:
                speaker, low = self.header(following), self.after_header(following)
            if best == core:
                continue
            room = self.limit - len(self.head_at(following, speaker))
            if 2 * (best - core) >= high - core or self.unit_length(level, following, room):
                return best, level
        safe = last_safe_cut(self.text, max(low, best), high)
        return (safe or high, None) if safe or best == core else (best, WORD)

    def unit_length(self, level: Level, start: int, room: int) -> int:
        """Return the length of the paragraph (message, sentence, ...) that begins at `start`; 0 if it is longer than `room`."""
        low = start if level is MESSAGE else self.after_header(start)  # a message may be empty
        end = next(boundaries(level, self.text, low, start + room), None)
        if end is None and self.stop <= start + room:
            end = self.stop
        return 0 if end is None else end - start

    def begin_of_context(self, core: int, level: Level | None, low: int, since: int, speaker: str) -> int:
        """Return where the context of the part whose new text begins at `core` begins, at least `low`; `core` if it has none."""
        reach = max(0, low - self.limit // 4)
        line = self.text.rfind("\n", reach, low) + 1
        if reach <= line < low:  # never in the middle of a header
            low = max(low, self.after_header(line))
        kinds = {LINE: (LINE,), WORD: (WORD,), None: (WORD,)}.get(level, (PARAGRAPH, SENTENCE))
        starts = [self.first_start(kind, low, core) for kind in kinds]
        begin = min(starts)
        head = self.head_at(begin, self.speaker_at(begin, since, speaker))
        room = self.limit - len(self.head_at(core, self.speaker_at(core, since, speaker)))
        needed = next(filter(None, (self.unit_length(kind, core, room) for kind in LEVELS)), 0)
        return begin if len(head) + core - begin + needed <= self.limit else core

    def first_start(self, level: Level, low: int, high: int) -> int:
        """Return the first index from `low` on that follows a boundary; `high` if there is none before that."""
        for boundary in boundaries(level, self.text, low - 4, high):
            start = skip_space(self.text, boundary)
            if start >= low:
                return min(start, high)
        return high

    def is_block(self, at: int) -> bool:
        return self.is_chat and self.text.startswith("[", at) and (at == 0 or self.text[at - 1] == "\n")

    def header(self, at: int) -> str:
        """Return the header of the message that begins at `at` as it is repeated, "" if none does."""
        found = _HEADER.match(self.text, at) if self.is_block(at) else None
        if found is None:
            return ""
        if len(found[0]) <= self.limit // 4:
            return found[0]
        cut = last_safe_cut(self.text, at + 1, at + self.limit // 4 - 3) or at + 1
        return f"{self.text[at:cut]}…] "

    def after_header(self, at: int) -> int:
        """Return where the content of the message that begins at `at` begins; `at` if none does or its header is long."""
        header = self.header(at)
        return at + len(header) if self.text.startswith(header, at) else at

    def speaker_at(self, at: int, since: int, speaker: str) -> str:
        """Return the speaker at `at`, given that of an earlier index."""
        found = self.text.rfind("\n\n[", since, at + 1) if self.is_chat else -1
        return speaker if found < 0 else self.header(found + 2)

    def head_at(self, at: int, speaker: str) -> str:
        """Return what is put in front of a part that begins at `at`."""
        return "" if self.is_block(at) else speaker
