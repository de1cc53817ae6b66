"""The reply cache: what is the same question, and what is not."""

import pytest

from evals.cache import CacheKeys, ReplyCache
from evals.errors import RunError
from evals.models.base import ModelReply
from evals.requests import RequestHasher, request_hash
from salience import Request

REQUEST = Request(({"role": "system", "content": "S"}, {"role": "user", "content": "U"}), {"type": "array", "a": 1}, 10, 0.0)
FINGERPRINT = {"engine": "e", "version": "1"}


@pytest.mark.parametrize(
    "other",
    [
        Request(({"role": "system", "content": "S"}, {"role": "user", "content": "u"}), REQUEST.schema, 10, 0.0),
        Request((REQUEST.messages[1], REQUEST.messages[0]), REQUEST.schema, 10, 0.0),
        Request(REQUEST.messages, {"a": 1, "type": "array"}, 10, 0.0),
        Request(REQUEST.messages, None, 10, 0.0),
        Request(REQUEST.messages, REQUEST.schema, 11, 0.0),
        Request(REQUEST.messages, REQUEST.schema, 10, None),
    ],
)
def test_every_part_of_a_request_changes_its_hash(other):
    assert request_hash(other) != request_hash(REQUEST)


def test_a_hasher_gives_the_same_hash_whatever_came_before():
    hasher = RequestHasher()
    others = [Request((REQUEST.messages[0], {"role": "user", "content": text}), REQUEST.schema, 10, 0.0) for text in ("a", "b", "a")]
    more = [REQUEST, Request(REQUEST.messages[1:], None, 1, 1.0)]
    for request in (*others, *more, *others):
        assert hasher.hash(request) == request_hash(request)


def test_the_key_holds_model_request_seed_and_repeat():
    def cache_key(fingerprint, request, **more):
        return CacheKeys(fingerprint).key(request, **more)

    keys = {
        cache_key(FINGERPRINT, "h", seed=None, repeat=0),
        cache_key(FINGERPRINT | {"version": "2"}, "h", seed=None, repeat=0),
        cache_key(FINGERPRINT, "i", seed=None, repeat=0),
        cache_key(FINGERPRINT, "h", seed=1, repeat=0),
        cache_key(FINGERPRINT, "h", seed=None, repeat=1),
    }
    assert len(keys) == 5
    assert cache_key(dict(reversed(FINGERPRINT.items())), "h", seed=None, repeat=0) in keys


def test_replies_come_back_also_in_another_process(tmp_path):
    reply = ModelReply("é\x00\n[]", "stop", 3, None, fallbacks=("no-schema",), reasoning_tokens=7, reasoning_only=True)
    with ReplyCache(tmp_path / "c.sqlite") as cache, ReplyCache(tmp_path / "c.sqlite") as other:
        assert cache.get("k") is None
        cache.put("k", reply, 1.5)
        assert other.get("k") == (reply, 1.5)
        other.put("k", ModelReply("new"), 0.5)
    with ReplyCache(tmp_path / "c.sqlite") as cache:
        assert cache.get("k") == (ModelReply("new"), 0.5)


def test_a_file_that_is_no_cache_is_said(tmp_path):
    (tmp_path / "c.sqlite").write_text("not a database, and long enough to be looked at as one" * 30)
    with pytest.raises(RunError, match=r"c\.sqlite: the reply cache cannot be opened"):
        ReplyCache(tmp_path / "c.sqlite")
