"""C4: the local embedding, vectors as bytes, and the two searches."""

import math
import random
import subprocess
import sys

import pytest

from salience import OptionError
from salience.memory import EmbeddingModel, EmbeddingsError, EmbeddingsProvider, HashedNgrams, model_of
from salience.memory.vectors import MatrixIndex, PlainIndex, pack, unpack

TWO = EmbeddingModel("two", 2)


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_the_local_default_is_a_provider():
    embeddings = HashedNgrams(64)
    assert isinstance(embeddings, EmbeddingsProvider)
    assert model_of(embeddings) == EmbeddingModel("hashed-ngrams-1", 64)
    assert HashedNgrams().dimensions == 384


@pytest.mark.parametrize("text", ["Tove bakes rye bread", "我从九月起改吃素", "हिंदी में", "x", "naïve café"])
def test_vectors_have_length_one(text):
    assert math.isclose(cosine(*[HashedNgrams().embed(text)] * 2), 1.0)


@pytest.mark.parametrize("text", ["", " ", "?!", "\ud800"])
def test_text_without_letters_is_like_nothing(text):
    assert set(HashedNgrams().embed(text)) == {0.0}


def test_case_and_compatibility_forms_are_the_same():
    embeddings = HashedNgrams()
    assert embeddings.embed("Ｔove BAKES") == embeddings.embed("tove bakes")


def test_batch_and_single_agree():
    embeddings = HashedNgrams()
    assert embeddings.embed_batch(["a cat", "a dog"]) == [embeddings.embed("a cat"), embeddings.embed("a dog")]


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("User's sister Tove bakes rye bread", "The user's sister Tove bakes rye bread", "User flies gliders on Sundays"),
        ("用户从九月起改吃素", "用户九月起吃素", "用户喜欢滑翔机"),
        ("Der Nutzer wohnt in Bremen", "Der Nutzer wohnt seit 2019 in Bremen", "Der Nutzer spielt Cello"),
    ],
)
def test_nearly_the_same_words_are_near(text, near, far):
    embeddings = HashedNgrams()
    asked = embeddings.embed(text)
    assert cosine(asked, embeddings.embed(near)) > 0.5
    assert cosine(asked, embeddings.embed(far)) < 0.4


def test_vectors_do_not_depend_on_the_process():
    code = "from salience.memory import HashedNgrams; print(hash(tuple(HashedNgrams(32).embed('rye bread'))))"
    outs = {
        subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    }
    assert len(outs) == 1


@pytest.mark.parametrize("dimensions", [15, 0, -1, 1.5, True, "64"])
def test_dimensions_are_checked(dimensions):
    with pytest.raises(OptionError, match="dimensions must be a whole number from 16 up"):
        HashedNgrams(dimensions)


def test_a_provider_without_a_name_is_refused():
    class Nameless:
        dimensions = 3

    with pytest.raises(OptionError, match="Nameless has name None and dimensions 3"):
        model_of(Nameless())


def test_packing_normalises():
    assert list(unpack(pack([3, 4], TWO))) == pytest.approx([0.6, 0.8])
    assert list(unpack(pack([0, 0], TWO))) == [0, 0]
    assert list(unpack(pack([3e300, 4e300], TWO))) == pytest.approx([0.6, 0.8])  # squares would overflow
    assert list(unpack(pack([3e-300, 4e-300], TWO))) == pytest.approx([0.6, 0.8])  # squares would vanish
    assert len(pack([3, 4], TWO)) == 8


@pytest.mark.parametrize(
    ("vector", "message"),
    [([1], "2 numbers, and returned one of 1"), ([1, math.nan], "not finite"), ([1, math.inf], "not finite"), (["a", 1], "of numbers")],
)
def test_vectors_that_do_not_fit_are_refused(vector, message):
    with pytest.raises(EmbeddingsError, match=message):
        pack(vector, TWO)


@pytest.mark.parametrize("kind", [PlainIndex, MatrixIndex])
def test_the_nearest_come_first_and_earlier_ones_before_their_equals(kind):
    index = kind(2)
    vectors = {"far": [-1, 0], "late": [1, 0], "side": [0, 1], "early": [1, 0]}
    rows = {"far": 1, "late": 9, "side": 2, "early": 4}
    index.put(sorted((rows[name], name, pack(vector, TWO)) for name, vector in vectors.items()))
    assert index.search(pack([2, 0], TWO), 3, ()) == [("early", 1.0), ("late", 1.0), ("side", 0.0)]
    assert index.search(pack([2, 0], TWO), 2, {"early"}) == [("late", 1.0), ("side", 0.0)]
    assert index.search(pack([2, 0], TWO), 99, ()) == [("early", 1.0), ("late", 1.0), ("side", 0.0), ("far", -1.0)]
    assert index.search(pack([0, 0], TWO), 2, ()) == [("far", 0.0), ("side", 0.0)]


@pytest.mark.parametrize("kind", [PlainIndex, MatrixIndex])
def test_an_empty_index_finds_nothing(kind):
    index = kind(2)
    index.drop(7)
    assert index.search(pack([1, 0], TWO), 5, ()) == []
    assert index.size == 0


def test_both_searches_agree_through_writes_and_drops():
    draw, model = random.Random(5), EmbeddingModel("m", 16)
    plain, matrix = PlainIndex(16), MatrixIndex(16)
    row = 0
    for _ in range(40):
        fresh = [(row + at, f"m{row + at}", pack([draw.gauss(0, 1) for _ in range(16)], model)) for at in range(draw.randint(0, 9))]
        row += len(fresh)
        gone = draw.sample(range(row), draw.randint(0, min(row, 8)))
        for index in (plain, matrix):
            index.put(fresh)
            index.put(fresh[:1])  # what is known is left as it is
            for one in gone:
                index.drop(one)
        asked, without = pack([draw.gauss(0, 1) for _ in range(16)], model), {f"m{draw.randrange(row or 1)}"}
        ours, theirs = plain.search(asked, 6, without), matrix.search(asked, 6, without)
        assert [one for one, _ in ours] == [one for one, _ in theirs]
        assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=1e-5)
