"""Whether a server's 429s have to do with how fast it is asked. Some come at random: from a busy server, or a gateway before many.

Going slower makes those no rarer, and who slows down at each of them ends at a crawl. Pure counting; no clock.
"""

from __future__ import annotations

from collections import deque

_KEPT = 64
_SPORADIC = 0.04
"""Up to this share of the last answers, 429s are no reason to go slower."""
_FEW, _MOST = 0.25, 0.75
_SOME_ANSWERS, _MANY_ANSWERS = 16, 32


class RateEvidence:
    """Keeps the shares of 429s, and tries whether half the pace makes them rarer.

    The trial rests on this: who sends at a pace r and has at most 25% refused is at most a third above what the server takes, so that at
    r / 2 nothing would be refused. If some still are (and not more than 25%), the pace is not the reason; that share, with room above it,
    is then tolerated until it is far exceeded.

    Attributes:
        tolerated: The share of 429s, 0 to 1, that says nothing about the pace.
    """

    def __init__(self) -> None:
        self.tolerated = _SPORADIC
        self._recent: deque[bool] = deque(maxlen=_KEPT)
        self._mark: float | None = None
        self._below = False
        self._answers = self._refused = 0

    @property
    def is_random(self) -> bool:
        """Whether a trial has shown that 429s come whatever the pace."""
        return self.tolerated > _SPORADIC

    def add(self, is_refused: bool) -> None:
        """Count an answer."""
        self._recent.append(is_refused)
        if self._below:
            self._answers += 1
            self._refused += is_refused

    def objects(self, pace: float, *, is_limited: bool) -> bool:
        """Return whether a 429, which is already counted, is a reason to go slower.

        Args:
            pace: Requests a second at which it came.
            is_limited: Whether the pace was lowered before; then one 429 is not enough to lower it again.
        """
        answers, refused = len(self._recent), sum(self._recent)
        share = refused / answers
        if share <= self.tolerated or (self.is_random and answers < _MANY_ANSWERS):
            return False
        self.tolerated = _SPORADIC
        if self._below:
            return self._judge()
        if is_limited and answers < _SOME_ANSWERS and not (refused > 1 and share >= _MOST):
            return False
        if self._mark is None or share > _FEW:
            self._mark = pace if share <= _FEW else None
        elif pace <= self._mark / 2:
            self._below, self._answers, self._refused = True, 0, 0
        return True

    def _judge(self) -> bool:
        """Return whether to go slower in the middle or at the end of a trial."""
        still = self._refused / self._answers
        if self._answers < _MANY_ANSWERS and self._refused <= _FEW * _MANY_ANSWERS:
            return False
        self._mark, self._below = None, False
        if still > _FEW:
            return True
        self.tolerated = 3 * still + _SPORADIC
        return False

    def start_anew(self) -> None:
        """Forget the last answers, as the pace has changed."""
        self._recent.clear()
