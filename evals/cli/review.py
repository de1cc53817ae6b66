"""`salience data review`: what a person is asked and shown in the terminal. What a decision does is in `evals.data.review`."""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, get_args

import msgspec

from evals.cases import REASONS, REASONS_WITH_CONTAINS, SILVER, About, Case, Evidence, Forbidden, Kind, Memory, Observed, Speaker
from evals.cli.output import note, print_text
from evals.data.check import validate
from evals.data.columns import with_way_out
from evals.data.dataset import Cases, Dataset
from evals.data.evidence import day_in, is_date, locate, propose, text_fault
from evals.data.files import bundled_names, load_dataset
from evals.data.foreign import is_foreign
from evals.data.review import Entry, Item, Journal, Review, Source, next_id
from evals.errors import DataError, WorkbenchError
from evals.openings import log_opening
from evals.report.safe import printable
from evals.runlog import MANIFEST, read_manifest
from evals.scorers import make_scorer
from evals.scoring import row_labels, score_run
from evals.workbench import require_extraction_run, run_data, split_name

_OPEN = ("unmatched", "near_miss", "unsupported")
_GRADES = {"9": 0.9, "7": 0.7, "5": 0.5, "3": 0.3, "1": 0.1}
_FIELDS = {"observed": get_args(Observed), "kind": get_args(Kind), "about": get_args(About), "speaker": get_args(Speaker)}
_MOST, _LEAST, _PIPED, _LONG = 110, 40, 80, 20_000  # columns of a line; characters of one text

_PREDICTION_PROMPT = "a accept, p paraphrase, f forbid, s skip, b back, q quit, ? help:"
_TURN_PROMPT = "a add, p paraphrase, f forbid, n nothing, d done, s skip, b back, q quit, ?:"
_PREDICTION_HELP = """\
a  accept: it is a memory that the labels lack
p  paraphrase: it says just what a labelled memory says
f  forbid: a weak extractor would return it, and it must not be stored"""
_TURN_HELP = """\
a  add a memory; as often as there are memories
p  add a paraphrase of a memory: other words, the same content
f  add a statement that a weak extractor would return, and must not
n  nothing: there is no memory here; the case is labelled
d  done: these are all memories; the case is labelled"""
_HELP = """\
s  skip: leave it as it is, and do not ask again
b  back: take back the last decision
m  show the messages again
q  quit; what was decided is kept, and the same command goes on
.  at any question: back to this choice
Grades: 9 forgetting it does harm, 7 durable and useful, 5 useful for weeks,
3 true but trivial, 1 noise. What a label means: datasets/GUIDELINES.md.
There is no --rubric: what no label matches is the same under every rubric."""


def run(options: argparse.Namespace) -> int:
    """Run `salience data review`; 1 if the file that was written has faults, 130 after Ctrl-C.

    Raises:
        WorkbenchError: The source or the output cannot be used, or a decision cannot be kept.
    """
    target = Path(options.output)
    side = target.with_name(f"{target.name}.review")
    if target.suffix.lower() != ".jsonl":
        raise WorkbenchError(f"{target}: cases are written as JSON Lines; choose a name that ends in .jsonl")
    if target.exists() and not side.exists():
        raise WorkbenchError(f"{target} exists already and is never overwritten; choose another file with -o")
    folder, row = split_name(options.source)
    of_run = (folder / MANIFEST).is_file()
    source, cases, items = _predictions(options, folder, row) if of_run else _turns(options)
    with closing(Journal(side, source)) as journal:
        review = Review(cases, items, journal)
        review.check_target(target)
        code = 0
        try:
            with suppress(EOFError):  # the end of the answers is as if the person had quit
                _Session(review, _Answers()).run()
        except KeyboardInterrupt:
            print_text("")  # the prompt ends without a line feed
            note("interrupted")
            code = 130
        if not journal.entries:
            side.unlink()
            note("nothing was decided, and nothing was written")
            return code
        review.write(target)
    faults = _tell(review, target, len(cases))
    left = review.tally()["left"]
    note(f"the decisions are in {side}; " + (f"the same command goes on with the {left} left" if left else "it may go now"))
    if of_run:
        note(f"salience score {folder} --data {target} scores the run on the new labels")
    return code or (1 if faults else 0)


def _tell(review: Review, target: Path, cases: int) -> int:
    """Print what was done and whether the new file is sound; return how many faults it has."""
    counts = review.tally()
    turns = "" if review.items[0].content is not None else f"labelled {counts['done']} turns; "
    print_text(
        f"{target}: {cases} cases; {turns}accepted {counts['memory']}, as paraphrase {counts['paraphrase']}, "
        f"forbidden {counts['forbid']}, skipped {counts['skip']}, left {counts['left']}"
    )
    findings, read = validate(str(target))
    print_text(f"salience data validate: {read} cases, {len(findings)} faults")
    for finding in findings[:5]:
        print_text(f"  {printable(str(finding))}")
    return len(findings)


def _predictions(options: argparse.Namespace, folder: Path, wanted: str | None) -> tuple[Source, Cases, list[Item]]:
    """What a run's row returned and no label matches, and the cases to write."""
    manifest = read_manifest(folder)
    require_extraction_run(manifest, folder, "data review labels what an extraction returned")
    label = _row(folder, wanted)
    dataset = run_data(manifest["data"], options.data, options.columns)
    named, columns = options.data or manifest["data"]["argument"], options.columns or manifest["data"]["columns"]
    covered = set(manifest["data"]["cases"])
    tests = sum(name in covered for name, split in zip(dataset.cases.ids, dataset.cases.splits, strict=True) if split == "test")
    if tests and not options.allow_test:
        raise WorkbenchError(
            f"{folder}: {tests} of its cases are test cases; labels decided from a model's predictions favour that model, and the test "
            "would no longer be fair to others. Review a run on --split dev, or label turns without predictions (salience data review "
            "FILE); --allow-test does it all the same"
        )
    if named in bundled_names():
        cases = dataset.cases.pick(place for place, name in enumerate(dataset.cases.ids) if name in covered)
        note(f"{named} is bundled: the new file holds the {len(cases)} cases that the run covered")
        if len(cases) < len(dataset.cases):
            note(f"the run was limited: the new file is a part of the split's {len(dataset.cases)} cases, no base for `salience gate`")
    else:
        cases = _ours(load_dataset(named, columns), named, columns, options.output)
    log_opening(dataset)
    report = score_run(folder, dataset, make_scorer(options.matcher, "default", manifest["seed"], (), options.judge_url), only=label)
    items: dict[tuple[str, str], Item] = {}  # repeats of a case may say a thing more than once
    for result in report.cells[0].cases:
        for one in result.outcome.predictions:
            if one.outcome in _OPEN:
                item = Item(
                    case=result.case.id, content=one.content, salience=one.salience, outcome=one.outcome, label=one.label, reason=one.reason
                )
                items.setdefault((item.case, item.key), item)
    if not items:
        raise WorkbenchError(f"{folder}: every prediction of {label} matches a label, so there is nothing to review")
    note("labels that are decided from one model's predictions favour it: review rows of several models before you compare them")
    source = Source(kind="predictions", data=cases.hash, run=f"{manifest['plan']} {manifest['created']}", row=label)
    return source, cases, list(items.values())


def _row(folder: Path, wanted: str | None) -> str:
    labels = row_labels(folder)
    rows = [label for label in labels if wanted in (None, label)]
    if len(rows) != 1:
        what = f"has no row {wanted!r}" if not rows else "has several rows; say which with RUN:model@policy"
        raise WorkbenchError(f"{folder} {what} (rows: {', '.join(labels)})")
    return rows[0]


def _turns(options: argparse.Namespace) -> tuple[Source, Cases, list[Item]]:
    """The cases of a person's own data that nobody has labelled, and all its cases to write."""
    if options.data:
        raise WorkbenchError(f"--data tells where the data of a run is, and {options.source!r} is no run (a folder with {MANIFEST})")
    try:
        dataset = load_dataset(options.source, options.columns)
    except DataError as error:
        raise (error if options.columns else with_way_out(error, Path(options.source))) from None
    for line in (*dataset.notes, dataset.silver):
        note(line) if line else None
    cases = _ours(dataset, options.source, options.columns, options.output)
    items = [Item(case=case.id) for case in cases if not case.labelled]
    if not items:
        raise WorkbenchError(
            f"{options.source}: no case carries the tag 'unlabelled', so there is nothing to label (a case without memories and without "
            "the tag says that there is nothing to remember); to review what a model returned, name a run"
        )
    return Source(kind="turns", data=cases.hash), cases, items


def _ours(dataset: Dataset, named: str, columns: Sequence[str], output: str) -> Cases:
    """All cases as our format holds them: labels of other people's data stay marked as that."""
    if Path(named).is_dir() and Path(output).resolve().parent == Path(named).resolve():
        raise WorkbenchError(f"{output}: lies in the folder {named}, whose cases it would hold again; choose a place outside")
    if not (dataset.silver and is_foreign(named, columns)):
        return dataset.cases
    return Cases(msgspec.structs.replace(case, tags=tuple(dict.fromkeys((*case.tags, SILVER)))) for case in dataset.cases)


class _CancelledError(Exception):
    """The person went back to the choice."""


class _Answers:
    """Answers of a person at a terminal, or line by line from whatever stdin is; `EOFError` at their end."""

    def __init__(self) -> None:
        self._person = sys.stdin.isatty()
        if self._person:
            with suppress(ImportError):
                importlib.import_module("readline")  # arrow keys edit the line

    def ask(self, prompt: str) -> str:
        """Return an answer without white space around it."""
        shown = f"{printable(prompt)} "
        try:
            if self._person:
                answer = input(shown)
            else:
                sys.stdout.write(shown)
                answer = sys.stdin.readline()
                print_text(answer.rstrip("\r\n"))  # what was answered stands in the transcript as it would on a terminal
                if not answer:
                    raise EOFError
        except UnicodeDecodeError as error:
            raise WorkbenchError(f"an answer is not UTF-8 text ({error.reason}); the decisions before it are kept") from None
        if answer.strip() == ".":
            raise _CancelledError
        return answer.strip()

    def pick(self, prompt: str, allowed: Mapping[str, Any], default: str = "") -> Any:
        """Ask until the answer is a key of `allowed`, or empty where there is a default; return its value."""
        while True:
            answer = self.ask(prompt) or default
            if answer in allowed:
                return allowed[answer]
            print_text(_folded("  ", f"must be one of {', '.join(allowed)}; got {answer!r}", "  "))


class _Session:
    """One sitting: shows what is to be decided, asks, and hands decisions to the review."""

    def __init__(self, review: Review, answers: _Answers) -> None:
        self._review, self._answers, self._shown = review, answers, ""
        self._width = min(_MOST, max(_LEAST, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else _PIPED

    def run(self) -> None:
        """Go through the items until all are settled and the person is content, or quits."""
        while (item := self._review.current) is None or self._step(item):
            if item is None:
                with suppress(_CancelledError):
                    if self._answers.pick("all is decided; Enter ends, b takes back the last:", {"end": True, "b": False}, "end"):
                        return
                    self._back()

    def _step(self, item: Item) -> bool:
        """Show an item and ask until something is decided; False if the person quits."""
        case = self._review.case(item.case)
        self._show(item, case)
        turn = item.content is None
        actions: dict[str, Callable[[Item, Case], bool]] = {
            "a": self._accept, "p": self._paraphrase, "f": self._forbid, "s": lambda item, _: self._decide(item, do="skip"),
            "b": lambda *_: self._back(), "m": self._messages, "?": self._help,
        }  # fmt: skip
        if turn:
            actions |= {"n": partial(self._settle, empty=True), "d": partial(self._settle, empty=False)}
        while True:
            try:
                action = self._answers.pick(_TURN_PROMPT if turn else _PREDICTION_PROMPT, {**actions, "q": None})
                if action is None:
                    return False
                if action(item, case):
                    return True
            except _CancelledError:
                continue
            except DataError as error:
                print_text(f"  not kept: {error}")

    def _decide(self, item: Item, **what: Any) -> bool:
        self._review.decide(Entry(case=item.case, item=item.key, **what))
        return True

    def _back(self) -> bool:
        entry = self._review.back()
        print_text("  there is nothing to take back" if entry is None else f"  taken back: {entry.do} in {printable(entry.case)}")
        return entry is not None

    def _settle(self, item: Item, case: Case, *, empty: bool) -> bool:
        if empty == bool(case.memories):
            there = "memories; d says that these are all" if case.memories else "no memory; n says that there is none, a adds one"
            print_text(f"  the case has {there}")
            return False
        return self._decide(item, do="done")

    def _accept(self, item: Item, case: Case) -> bool:
        content = self._statement(item)
        grade = self._answers.pick("grade 9, 7, 5, 3 or 1 (0.9 does harm if forgotten ... 0.1 noise):", _GRADES)
        evidence = self._evidence(case, content)
        role = case.messages[evidence.message]["role"]
        memory = Memory(
            id=next_id(case.memories), content=content, salience=grade, evidence=(evidence,), event_date=day_in(content),
            speaker=role if role in get_args(Speaker) else "user",  # type: ignore[arg-type]
        )  # fmt: skip
        return self._decide(item, do="memory", memory=self._fields(memory))

    def _paraphrase(self, item: Item, case: Case) -> bool:
        known = {memory.id: memory.id for memory in case.memories}
        if not known:
            print_text("  the case has no memory yet; a adds one")
            return False
        text = self._statement(item) if item.content is None else " ".join(item.content.split())
        default = item.label if item.label in known else next(iter(known)) if len(known) == 1 else None
        target = self._answers.pick(f"of which memory ({', '.join(known)}) [{default or 'no proposal'}]:", known, default or "")
        return self._decide(item, do="paraphrase", target=target, text=text)

    def _forbid(self, item: Item, case: Case) -> bool:
        content = self._statement(item)
        reasons = {str(number): name for number, name in enumerate(REASONS, start=1)}
        print_text(_folded("  ", ", ".join(f"{number} {name}" for number, name in reasons.items()), "  "))
        reason = self._answers.pick("reason, by number or name:", reasons | {name: name for name in REASONS})
        contains = None
        while reason in REASONS_WITH_CONTAINS and contains is None:
            text = self._answers.ask("the string of a message whose mere appearance is the violation:")
            if found := locate((*case.context, *case.messages), text):
                contains = found.text
            else:
                print_text(f"  {reason} needs a string that stands in a message; got {printable(text)!r}")
        return self._decide(item, do="forbid", forbidden=Forbidden(content=content, reason=reason, contains=contains))

    def _statement(self, item: Item) -> str:
        given = " ".join((item.content or "").split())
        while True:
            content = self._answers.ask("statement (Enter keeps it as it is):" if given else "statement:") or given
            if not (fault := text_fault(content)):
                return content
            print_text(f"  the statement {fault}; write it so that it stands alone, or . to go back")

    def _evidence(self, case: Case, content: str) -> Evidence:
        proposed = propose(case.messages, content)
        if proposed:
            self._say(f"  [{proposed.message}] ", proposed.text)
        prompt = f"evidence ({'Enter takes that, or ' if proposed else ''}type a piece of a message):"
        while True:
            text = self._answers.ask(prompt)
            if found := locate(case.messages, text) if text else proposed:
                return found
            print_text(f"  stands in no message of the case: {printable(text)!r}")

    def _fields(self, memory: Memory) -> Memory:
        values = {name: getattr(memory, name) for name in (*_FIELDS, "event_date")}
        print_text("  " + ", ".join(f"{name} {value or 'none'}" for name, value in values.items()))
        if not self._answers.pick("Enter keeps these, e edits them:", {"e": True, "keep": False}, "keep"):
            return memory
        for name, allowed in _FIELDS.items():
            prompt = f"{name} ({', '.join(allowed)}) [{values[name]}]:"
            values[name] = self._answers.pick(prompt, dict(zip(allowed, allowed, strict=True)), values[name])
        while True:
            day = self._answers.ask(f"event_date (2026, 2026-03 or 2026-03-14; - for none) [{values['event_date'] or 'none'}]:")
            if day in ("", "-"):
                return msgspec.structs.replace(memory, **values | ({"event_date": None} if day else {}))
            if is_date(day):
                return msgspec.structs.replace(memory, **values | {"event_date": day})
            print_text(f"  must be a year, month or day of the calendar; got {printable(day)!r}")

    def _help(self, item: Item, _: Case) -> bool:
        print_text(f"{_TURN_HELP if item.content is None else _PREDICTION_HELP}\n{_HELP}")
        return False

    def _messages(self, _: Item, case: Case) -> bool:
        for place, message in enumerate((*case.context, *case.messages), start=-len(case.context)):
            who = " ".join(filter(None, (message["role"], message.get("name"))))
            head = f"  [{'context' if place < 0 else place}] {printable(who)}: "
            for line in message["content"].split("\n"):
                self._say(head, line, "    | ")
                head = "    | "
        return False

    def _show(self, item: Item, case: Case) -> None:
        """Print the case, its messages unless they were just shown, its labels and the prediction."""
        owner = f"; owner {', '.join(case.owner.names)}" if case.owner.names else ""
        about = f"{case.id} ({case.language}, {case.date or 'no date'}; {', '.join(case.tags)}{owner})"
        self._say(f"\n{self._review.items.index(item) + 1} of {len(self._review.items)}  ", about, "  ")
        if self._shown != case.id:
            self._messages(item, case)
            self._shown = case.id
        print_text("  labelled:" if case.memories or case.forbidden else "  labelled: nothing")
        for memory in case.memories:
            more = f" (paraphrases: {len(memory.paraphrases)})" if memory.paraphrases else ""
            self._say(f"    {printable(memory.id)} {memory.salience:.1f} ", f"{memory.content}{more}")
        for one in case.forbidden:
            self._say("    must not: ", f"{one.content} ({one.reason})")
        if item.content is not None:
            self._say(f"  prediction ({item.salience:.2f}): ", item.content, "    ")
            self._say("    ", f"{item.outcome}{f' of {item.label}' if item.label else ''}: {item.reason}", "    ")

    def _say(self, first: str, text: str, rest: str = "       ") -> None:
        print_text(_folded(first, text, rest, self._width))


def _folded(first: str, text: str, rest: str, width: int = _PIPED) -> str:
    """Return foreign text as lines of a width behind `first`, the further ones behind `rest`; a wide character takes two columns."""
    shown = printable(text if len(text) <= _LONG else f"{text[:_LONG]} ... ({len(text)} characters)")
    padded = "".join(f"{char}\0" if unicodedata.east_asian_width(char) in "WF" else char for char in shown)  # \0 fills the second one
    folded = textwrap.wrap(padded, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False) or [first]
    return "\n".join(folded).replace("\0", "")
