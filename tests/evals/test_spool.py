"""Values that wait in memory or on disk come back the same either way."""

import pytest

from evals.data.dataset import Cases, Dataset
from evals.data.files import load_dataset
from evals.spool import Spool


@pytest.mark.parametrize("budget", [0, 40, 1 << 20])
def test_what_was_appended_comes_back_wherever_it_waits(budget):
    spool = Spool(dict[str, int], budget=budget)
    values = [{"n": n, "x" * (n % 7): n} for n in range(50)]
    for value in values:
        spool.append(value)
        assert spool[len(spool) - 1] == value
    assert len(spool) == 50
    assert [spool[i] for i in reversed(range(50))] == values[::-1]
    assert list(spool.pick(range(50))) == values
    assert list(spool.pick([3, 4, 40, 41, 49])) == [values[i] for i in (3, 4, 40, 41, 49)]
    for wrong in (-1, 50):
        with pytest.raises(IndexError):
            spool[wrong]


def test_values_larger_than_a_block_come_back():
    spool = Spool(str, budget=0)
    values = ["a", "b" * 3_000_000, "c", "d" * 1_100_000, "e"]
    for value in values:
        spool.append(value)
    assert list(spool.pick(range(5))) == values
    assert list(spool.pick([1, 3])) == [values[1], values[3]]


def test_reading_in_order_and_out_of_order_may_mix_with_appending():
    spool = Spool(int, budget=0)
    spool.append(0)
    running = spool.pick(range(2))
    assert next(running) == 0
    spool.append(1)
    assert spool[0] == 0
    assert spool[1] == 1


@pytest.mark.parametrize("budget", [0, 1 << 30])
def test_cases_are_the_same_in_memory_and_on_disk(budget):
    bundled = load_dataset()
    cases = Cases(iter(bundled.cases), budget=budget)
    assert list(cases) == list(bundled.cases)
    assert cases[-1] == bundled.cases[len(cases) - 1]
    assert cases[2:5] == tuple(bundled.cases)[2:5]
    assert Dataset(name="d", version="", cases=cases).hash == bundled.hash
    dev = Dataset(name="d", version="", cases=cases).of_split("dev")
    assert dev.hash == bundled.of_split("dev").hash
    assert {case.split for case in dev.cases} == {"dev"}
    assert [case.id for case in dev.cases] == list(dev.cases.ids)
    assert [case.conversation for case in dev.cases] == list(dev.cases.conversations)
    picked = dev.cases.pick([1, 3]).pick([1])
    assert [case.id for case in picked] == [dev.cases.ids[3]]
    with pytest.raises(IndexError):
        picked[1]
