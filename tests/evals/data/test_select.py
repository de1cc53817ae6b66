"""Choosing cases: by id, tag, limit and share."""

import pytest

from evals.cases import Case
from evals.data.dataset import Cases
from evals.data.select import Selection, select
from evals.errors import WorkbenchError


def case(number, *tags):
    message = {"role": "user", "content": f"turn {number}"}
    return Case(
        id=f"case-{number}", conversation=f"c{number // 2}", split="dev", language="en", tags=tags, messages=(message,), memories=()
    )


CASES = Cases([case(n, "even" if n % 2 == 0 else "odd", *(["third"] if n % 3 == 0 else [])) for n in range(10)])


def ids(**chosen):
    return [int(name.removeprefix("case-")) for name in select(CASES, Selection(**chosen)).ids]


def test_all_that_is_given_holds_at_once():
    assert ids() == list(range(10))
    assert ids(ids=("case-7", "case-2")) == [2, 7]
    assert ids(tags=("odd",)) == [1, 3, 5, 7, 9]
    assert ids(tags=("third", "odd")) == [0, 1, 3, 5, 6, 7, 9]
    assert ids(ids=("case-6", "case-7"), tags=("third",)) == [6]
    assert len(ids(tags=("odd",), limit=3)) == 3
    assert set(ids(tags=("odd",), limit=3, seed=4)) < {1, 3, 5, 7, 9}


def test_shares_are_disjoint_even_and_make_the_whole():
    whole = ids(limit=7, seed=3)
    shares = [ids(limit=7, seed=3, shard=(k, 3)) for k in (1, 2, 3)]
    assert [len(share) for share in shares] == [3, 2, 2]
    assert [n for one in zip(*([*share, None] for share in shares), strict=False) for n in one if n is not None][:7] == whole
    assert sorted(n for share in shares for n in share) == sorted(whole)


def test_what_is_not_there_is_said_with_what_is():
    with pytest.raises(WorkbenchError, match=r"no case 'case-11' in this split; did you mean .*case-1"):
        ids(ids=("case-11",))
    with pytest.raises(WorkbenchError, match="no chosen case has the tag 'prime'; there are: even, odd, third"):
        ids(tags=("prime",))
    with pytest.raises(WorkbenchError, match="10 cases cannot be cut into 11 shares"):
        ids(shard=(1, 11))
    with pytest.raises(WorkbenchError, match="k from 1 to n, got 4/3"):
        ids(shard=(4, 3))
