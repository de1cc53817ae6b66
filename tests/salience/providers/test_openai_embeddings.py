"""Vectors over real HTTP on loopback: order, batches, what is checked, and what an odd answer is called."""

import asyncio
import base64
import struct
from typing import Any

import pytest

from salience import OptionError
from salience.memory.embeddings import EmbeddingsProvider
from salience.providers.openai import AsyncOpenAIEmbeddings, BadReplyError, MissingKeyError, OpenAIEmbeddings, RequestError, Retry
from salience.providers.openai_embeddings import batches
from tests.salience.providers.loopback import KEY, Answer, Got, Loopback, error, ok, serving

FAST = Retry(base=0.001)


def vectors_of_lengths(got: Got) -> Answer:
    """Answer with the length of each text and 1, the last text first."""
    rows = [{"index": place, "embedding": [float(len(text)), 1]} for place, text in enumerate(got.entry["input"])]
    return ok({"data": rows[::-1]})


def client(server: Loopback, **options: Any) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(**{"model": "e", "api_key": KEY, "base_url": server.url, "retry": FAST, **options})


def test_the_request_and_the_order() -> None:
    with serving(by=vectors_of_lengths) as server:
        model = client(server)
        assert model.embed_batch(["a", "bbb", "ééé€"]) == [[1.0, 1.0], [3.0, 1.0], [4.0, 1.0]]
        assert model.embed("ab") == [2.0, 1.0]
        assert model.embed_batch([]) == []
    first, second = server.got
    assert (first.path, first.headers["authorization"]) == ("/v1/embeddings", f"Bearer {KEY}")
    assert first.body == '{"model":"e","input":["a","bbb","ééé€"]}'.encode()
    assert second.entry == {"model": "e", "input": ["ab"]}


def test_many_texts_go_in_batches_and_come_back_in_order() -> None:
    texts = ["x" * (number % 50 + 1) for number in range(300)]
    with serving(by=vectors_of_lengths) as server:
        found = client(server).embed_batch(texts)
    assert [vector[0] for vector in found] == [len(text) for text in texts]
    assert [len(got.entry["input"]) for got in server.got] == [128, 128, 44]


def test_batches_by_length() -> None:
    assert [len(batch) for batch in batches(["x" * 90_000] * 3 + ["x" * 300_000, "y"])] == [2, 1, 1, 1]
    assert list(batches([])) == []


def test_the_async_twin_gives_the_same() -> None:
    async def run(url: str) -> tuple[Any, ...]:
        model = AsyncOpenAIEmbeddings("e", KEY, url, retry=FAST)
        with pytest.raises(OptionError, match=r"known after the first call; give dimensions=\.\.\."):
            _ = model.dimensions
        found = await model.embed_batch(["a", "bb"]), await model.embed("ccc"), model.dimensions
        await model.aclose()
        return found

    with serving(by=vectors_of_lengths) as server:
        assert asyncio.run(run(server.url)) == ([[1.0, 1.0], [2.0, 1.0]], [3.0, 1.0], 2)


def test_dimensions_asked_for_known_and_found() -> None:
    assert (OpenAIEmbeddings(api_key=KEY).dimensions, OpenAIEmbeddings(api_key=KEY).name) == (1536, "openai/text-embedding-3-small")
    assert OpenAIEmbeddings("text-embedding-3-large", KEY).dimensions == 3072
    assert (OpenAIEmbeddings(api_key=KEY, dimensions=256).dimensions, OpenAIEmbeddings(api_key=KEY, dimensions=256).name) == (
        256,
        "openai/text-embedding-3-small@256",
    )
    with serving(by=vectors_of_lengths) as server:
        model = client(server)
        assert [model.dimensions, model.dimensions] == [2, 2]
        assert len(server.got) == 1
        asked = client(server, dimensions=2)
        assert asked.embed("abc") == [3.0, 1.0]
        assert server.got[1].entry["dimensions"] == 2


def test_base64_and_answers_without_an_index() -> None:
    packed = base64.b64encode(struct.pack("<2f", 0.5, -2.0)).decode()
    with serving(ok({"data": [{"embedding": packed}, {"embedding": [1, 2]}]})) as server:
        assert client(server).embed_batch(["a", "b"]) == [[0.5, -2.0], [1.0, 2.0]]


ROW = {"index": 0, "embedding": [1.0]}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"data": []}, "0 vectors for 2 texts"),
        ({"data": [ROW]}, "1 vectors for 2 texts"),
        ({"data": [ROW, ROW]}, "wrong indexes"),
        ({"data": [ROW, {"index": 2, "embedding": [1.0]}]}, "wrong indexes"),
        ({"data": [ROW, {"index": "1", "embedding": [1.0]}]}, "wrong indexes"),
        ({"data": [ROW, {"index": 1, "embedding": [1.0, 2.0]}]}, "a vector of 2 dimensions for 'e', where 1 are expected"),
        ({"data": [ROW, {"index": 1, "embedding": []}]}, "no list of numbers; is 'e' an embedding model"),
        ({"data": [ROW, {"index": 1}]}, "no list of numbers"),
        ({"data": [ROW, {"index": 1, "embedding": "***"}]}, "no list of numbers"),
        ({"data": [ROW, {"index": 1, "embedding": [None]}]}, "no finite number"),
        ({"data": [ROW, {"index": 1, "embedding": [True]}]}, "no finite number"),
        ({"data": [ROW, {"index": 1, "embedding": [float("nan")]}]}, "no finite number"),
        ({"data": [ROW, {"index": 1, "embedding": [10**400]}]}, "no finite number"),
        ({"data": [1, 2]}, "without a list of embeddings"),
        ({"choices": []}, "without a list of embeddings"),
        ([], "without a list of embeddings"),
    ],
)
def test_odd_answers(answer: object, text: str) -> None:
    with serving(ok(answer)) as server, pytest.raises(BadReplyError, match=text):
        client(server).embed_batch(["a", "b"])
    assert len(server.got) == 1


def test_another_length_than_asked_for_or_than_before() -> None:
    with serving(ok({"data": [ROW]}), ok({"data": [{"index": 0, "embedding": [1.0, 2.0]}]})) as server:
        model = client(server)
        model.embed("a")
        with pytest.raises(BadReplyError, match="where 1 are expected"):
            model.embed("a")
        with pytest.raises(BadReplyError, match=r"where 7 are expected; give dimensions="):
            client(server, dimensions=7).embed("a")


def test_a_failed_batch_and_a_retried_one() -> None:
    with serving(error(500), error(404, "no embeddings here")) as server, pytest.raises(RequestError, match="no embeddings here"):
        client(server).embed("a")
    assert len(server.got) == 2


@pytest.mark.parametrize(
    ("texts", "text"),
    [("abc", "embed takes one string"), (["a", None], r"texts\[1\] must be a string, got NoneType"), ([3], r"texts\[0\]")],
)
def test_texts_that_are_refused_here(texts: Any, text: str) -> None:
    with serving(by=vectors_of_lengths) as server, pytest.raises(OptionError, match=text):
        client(server).embed_batch(texts)
    assert server.got == []


def test_texts_without_a_word_are_zeros_and_not_sent() -> None:
    with serving(by=vectors_of_lengths) as server:
        assert client(server).embed_batch(["", "abc", " \n"]) == [[0.0, 0.0], [3.0, 1.0], [0.0, 0.0]]
        assert client(server, dimensions=2).embed("") == [0.0, 0.0]
        assert [got.entry["input"] for got in server.got] == [["abc"]]
        assert client(server).embed_batch(["", ""]) == [[0.0, 0.0]] * 2  # asked once, as the length is not known
        assert len(server.got) == 2


def test_it_is_what_a_store_takes() -> None:
    assert isinstance(OpenAIEmbeddings(api_key=KEY), EmbeddingsProvider)


def test_arguments() -> None:
    with pytest.raises(MissingKeyError):
        OpenAIEmbeddings()
    with pytest.raises(OptionError, match="dimensions must be None or a whole number from 1 up, got 0"):
        OpenAIEmbeddings(api_key=KEY, dimensions=0)
