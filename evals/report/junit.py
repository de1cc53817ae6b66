"""A report as JUnit XML, which CI services show: a suite for each row, a test for each case. Text in, text out.

A case whose required memories are found, without a false positive and in a reply that can be read, passes. One that was scored and is not
so is a `failure`. One that could not be scored (its call failed, its reply is missing, no matcher can read it) is an `error`, and never
a failure: it tells nothing of the model's answers. Few extractors pass many cases: a gate on figures says more than these tests.

The seconds of a suite are those of its calls. A report does not keep them by case, so every scored case has an equal share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree as ET  # it only writes here

from evals.metrics.counts import UNREADABLE
from evals.metrics.outcomes import FALSE_POSITIVES, Prediction
from evals.report.safe import clip, printable
from evals.results import CaseResult, CellResult, Excluded, Report

_MESSAGE = 300
_UNREADABLE_AS = {"truncated": "the reply was cut off", "malformed": "the reply cannot be read", "too_long": "the input was too long"}


def junit_xml(report: Report) -> str:
    """Return a report as a JUnit XML document (XML 1.0, UTF-8); what does not print is written out.

    Args:
        report: The report.
    """
    suites = [_suite(cell, report.notices) for cell in report.cells]
    root = ET.Element("testsuites", name=printable(report.folder))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("time", _seconds(sum(cell.seconds for cell in report.cells)))
    root.extend(suites)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(cell: CellResult, notices: tuple[str, ...]) -> ET.Element:
    tests = [*_scored(cell), *_unscored(cell)]
    suite = ET.Element("testsuite", name=printable(cell.label), tests=str(len(tests)))
    for name, kind in (("failures", "failure"), ("errors", "error")):
        suite.set(name, str(sum(test.find(kind) is not None for test in tests)))
    suite.set("skipped", "0")
    suite.set("time", _seconds(cell.seconds))
    suite.append(_properties(cell, notices))
    suite.extend(tests)
    return suite


def _properties(cell: CellResult, notices: tuple[str, ...]) -> ET.Element:
    """The signature, every figure that is defined with its interval, and the notices."""
    found = [("signature", str(cell.signature))]
    for name, figure in cell.figures.items():
        for key, value in ((name, figure.value), (f"{name}_low", figure.low), (f"{name}_high", figure.high)):
            found += [(key, repr(value))] if value is not None else []
    found += [("notice", notice) for notice in notices]
    properties = ET.Element("properties")
    for key, text in found:
        ET.SubElement(properties, "property", name=key, value=printable(text))
    return properties


def _scored(cell: CellResult) -> Iterator[ET.Element]:
    each = _seconds(cell.seconds / max(1, len(cell.cases)))
    for result in cell.cases:
        name = result.case.id + (f" (repeat {result.repeat})" if cell.signature.repeats > 1 else "")
        test = _test(cell, name, each)
        faults = list(_faults(result))
        if faults:
            kinds = [kind for kind, _ in faults]
            message = clip("; ".join(text for _, text in faults), _MESSAGE)
            failure = ET.SubElement(test, "failure", type=", ".join(dict.fromkeys(kinds)), message=message)
            failure.text = "\n".join(text for _, text in faults)
        yield test


def _unscored(cell: CellResult) -> Iterator[ET.Element]:
    """The cases that are in no figure. Which repeat it was is not known, so repeats of one case are numbered."""
    seen: Counter[str] = Counter()
    entries: list[Excluded] = [*cell.failed, *cell.missing, *cell.unscored]
    for entry in entries:
        seen[entry.case] += 1
        name = entry.case + (f" (not scored {seen[entry.case]})" if cell.signature.repeats > 1 else "")
        test = _test(cell, name, "0.000")
        message = printable(entry.message, keep_lines=True)
        error = ET.SubElement(test, "error", type=printable(entry.kind), message=clip(message, _MESSAGE))
        error.text = message
        yield test


def _test(cell: CellResult, name: str, seconds: str) -> ET.Element:
    return ET.Element("testcase", classname=printable(cell.label), name=printable(name), time=seconds)


def _faults(result: CaseResult) -> Iterator[tuple[str, str]]:
    """What keeps a scored case from passing, as a word and a line: memories missed, false positives, a reply that cannot be read."""
    if result.status in UNREADABLE:
        yield "unreadable", _UNREADABLE_AS[result.status]
    contents = {memory.id: memory.content for memory in result.case.memories}
    for name in result.outcome.missed:
        parted = result.outcome.parted.get(name)
        how = f" ({parted} in what was returned)" if parted in ("merged", "split") else f" ({parted})" if parted else ""
        yield "missed", printable(f"missed {name}: {contents.get(name, '')}{how}")
    for entry in result.outcome.predictions:
        if _is_false(entry):
            where = f"{entry.label}: " if entry.label and entry.label not in entry.reason else ""
            yield entry.outcome, printable(f"{entry.outcome}: {entry.content} ({where}{entry.reason})")


def _is_false(entry: Prediction) -> bool:
    """Whether a prediction is a false positive or a violation; a secret violates below the operating threshold too."""
    return entry.outcome == "violation" or (entry.counted and entry.outcome in FALSE_POSITIVES)


def _seconds(value: float) -> str:
    return f"{value:.3f}"
