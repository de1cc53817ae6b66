"""A pytest plugin that runs a memory policy over labelled cases, offline, from recorded replies. It never loads by itself.

A project turns it on with `pytest_plugins = ["evals.pytest_plugin"]` in the conftest.py beside its pytest configuration, or with
`-p evals.pytest_plugin`. Replies are kept in `recordings/NAME.jsonl` beside the test module NAME.py. What is run and how it is scored is in
`evals.testing`; nothing of it is loaded before a test asks for it.

- A failed assertion fails a test. So does a request that is not recorded, as what the policy sends has changed, where the test itself calls
  `salience_run` or `salience_extract`. Where a fixture calls them, pytest reports an ERROR at setup of each test that uses it, as of
  anything that is raised in a fixture. For failures let the fixture return a function that the tests call (`tests/examples` has one).
- A call that failed, and anything else that keeps the policy from being judged, is an error, in the terminal and in JUnit. pytest knows
  errors of the set-up only, and so it says "at setup".
- Unused replies are told with -v, and stay: a part of the tests (`-k`, one file) cannot tell what the others use. What a new reply
  supersedes (same model, policy name, case, repeat and part, another request) is taken out by `--salience-record`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evals.errors import WorkbenchError
from evals.report.safe import printable

if TYPE_CHECKING:
    from evals.cases import Case
    from evals.results import CaseResult, CellResult
    from evals.testing.fixtures import ExtractCase, RunPolicy
    from evals.testing.running import Laboratory
    from salience import Policy

_MARKER = "salience_cases"
_MARKER_KEYS = ("data", "split", "tag", "ids")
_FIXTURES = ("salience_run", "salience_extract")


class SessionState:
    """What the plugin keeps for one session.

    Attributes:
        mode: "replay", "record" or "live".
        laboratory: What runs rows; made at the first use.
        used: Recording -> keys that were replayed, in this process and its workers.
        added: Recording -> keys that were recorded, likewise.
        told: Lines for the summary.
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.laboratory: Laboratory | None = None
        self.used: dict[str, set[Any]] = {}
        self.added: dict[str, set[Any]] = {}
        self.told: list[str] = []

    def open(self) -> Laboratory:
        """Return what runs rows."""
        if self.laboratory is None:
            from evals.testing.running import Laboratory

            self.laboratory = Laboratory(self.mode)  # type: ignore[arg-type]
        return self.laboratory

    def gather(self, recordings: Iterable[tuple[str, Sequence[Any], Sequence[Any]]]) -> None:
        """Take over which replies were used and added."""
        for path, used, added in recordings:
            self.used.setdefault(path, set()).update(map(tuple, used))
            self.added.setdefault(path, set()).update(map(tuple, added))


_STATE = pytest.StashKey[SessionState]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("salience", "memory policies")
    group.addoption("--salience-live", action="store_true", help="ask the real models; recordings are neither read nor written")
    group.addoption("--salience-record", action="store_true", help="ask the real models for what is not recorded, and record it")
    parser.addini("salience_recordings", "folder of recorded replies (default: recordings, beside each test file)", default="")
    parser.addini("salience_model", "provider/model that tests ask unless they name one", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Check the options and register the marker."""
    live, record = (bool(config.getoption(name, False)) for name in ("salience_live", "salience_record"))
    if live and record:
        raise pytest.UsageError(
            "--salience-live and --salience-record do not go together: live neither reads nor writes recordings; give one of them"
        )
    config.stash[_STATE] = SessionState("live" if live else "record" if record else "replay")
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(data='extraction', split='dev', tag=None, ids=None): run the test once for each labelled case, as the fixture "
        "salience_case",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each labelled case."""
    marker = metafunc.definition.get_closest_marker(_MARKER)
    if marker is None or "salience_case" not in metafunc.fixturenames:
        return
    try:
        cases = _marked(marker, metafunc.definition.path.parent)
    except WorkbenchError as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {printable(str(error))}") from None
    metafunc.parametrize("salience_case", cases, ids=[case.id for case in cases])


def _marked(marker: pytest.Mark, beside: Path) -> list[Case]:
    """The cases that a marker names."""
    from evals.data.files import load_dataset
    from evals.data.select import Selection, select
    from evals.testing.running import located

    odd = [repr(value) for value in marker.args] + [name for name in marker.kwargs if name not in _MARKER_KEYS]
    if odd:
        raise WorkbenchError(f"{_MARKER} takes {', '.join(_MARKER_KEYS)} by name, got {odd[0]}")
    given = marker.kwargs
    dataset = load_dataset(located(given.get("data", "extraction"), beside)).to_score(given.get("split", "dev"))
    selection = Selection(ids=_words(given.get("ids")), tags=_words(given.get("tag")))
    return list(select(dataset.cases, selection))


def _words(value: str | Iterable[str] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


@pytest.fixture(scope="module")
def salience_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunPolicy:
    """Run a policy over labelled cases and return the scored row, an `evals.results.CellResult`.

    `salience_run(policy, model=..., cases=..., data=..., split=..., matcher=..., rubric=..., repeats=...)`: a policy is a shipped one's
    name, a path or a `salience.Policy`; `cases` are ids, `evals.cases.Case`s or a file, and without them the whole split. Figures are in
    `result.figures["f1"].value` with `.low` and `.high`.
    """
    state, config, path = request.config.stash[_STATE], request.config, request.path
    recording = _folder(config, path) / f"{path.stem}.jsonl"

    def run(
        policy: str | Path | Policy = "default",
        *,
        model: str | None = None,
        cases: Sequence[str | Case] | str | Path | None = None,
        data: str | Path = "extraction",
        split: str = "dev",
        matcher: str = "classifier",
        rubric: str | Path = "default",
        repeats: int = 1,
    ) -> CellResult:
        __tracebackhide__ = True
        from evals.testing.running import UnrecordedError, Wanted

        try:
            wanted = Wanted(
                policy=policy, model=_model(model, config), cases=cases, data=data, split=split, matcher=matcher, rubric=rubric,
                repeats=repeats,
            )  # fmt: skip
            return state.open().row(wanted, recording, tmp_path_factory.mktemp("salience"), path.parent)
        except UnrecordedError as error:
            message = str(error)
        except WorkbenchError as error:
            error.args = (printable(str(error), keep_lines=True), *error.args[1:])
            raise error.with_traceback(None) from None
        pytest.fail(message)

    return run


@pytest.fixture
def salience_case(request: pytest.FixtureRequest) -> Case:
    """The labelled case of a test that `@pytest.mark.salience_cases` runs once for each case."""
    pytest.fail(f"salience_case needs @pytest.mark.{_MARKER}(data=..., split=..., tag=..., ids=...) on {request.node.name}", pytrace=False)


@pytest.fixture
def salience_extract(salience_run: RunPolicy, salience_case: Case) -> ExtractCase:
    """Run a policy over the test's own case and return the scored case, an `evals.results.CaseResult`.

    `salience_extract(policy, model=..., matcher=..., rubric=...)`: predictions with what became of each are in `.outcome.predictions`, the
    required memories that were not found in `.outcome.missed`, the reply's text in `.reply`.
    """

    def extract(
        policy: str | Path | Policy = "default",
        *,
        model: str | None = None,
        matcher: str = "classifier",
        rubric: str | Path = "default",
    ) -> CaseResult:
        __tracebackhide__ = True
        row = salience_run(policy, model=model, cases=[salience_case], matcher=matcher, rubric=rubric)
        if not row.cases:
            raise WorkbenchError(f"case {salience_case.id!r} could not be scored: {row.unscored[0].message}")
        return row.cases[0]

    return extract


def _model(given: str | None, config: pytest.Config) -> str:
    name = given or str(config.getini("salience_model"))
    if not name:
        raise pytest.UsageError(
            "no model is given: name one with model='provider/model', or set salience_model in the pytest configuration"
        )
    return name


def _folder(config: pytest.Config, path: Path) -> Path:
    """The folder of the recordings of a test file."""
    given = str(config.getini("salience_recordings"))
    if not given:
        return path.parent / "recordings"
    return (config.inipath.parent if config.inipath else config.rootpath) / given


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a mistake or a failed call as an error: pytest calls everything an error that kept a test from being run."""
    report = yield
    concerned = any(name in getattr(item, "fixturenames", ()) for name in _FIXTURES)
    if concerned and report.when == "call" and call.excinfo is not None and isinstance(call.excinfo.value, WorkbenchError):
        report.when = "setup"
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ARG001 - the hook's names
    """Take over what a worker of pytest-xdist used and recorded."""
    found = getattr(node, "workeroutput", {}).get("salience")
    if found:
        node.config.stash[_STATE].gather(found)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close what was opened; in the process that is no worker, sort what was recorded."""
    state = session.config.stash[_STATE]
    if state.laboratory is not None:
        found = [(str(one.path), sorted(one.used), sorted(one.added)) for one in state.laboratory.recordings.values()]
        state.laboratory.close()
        state.gather(found)
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["salience"] = [(path, list(keys), list(state.added[path])) for path, keys in state.used.items()]
        return
    if state.used:
        from evals.testing.tidying import finish

        state.told = finish(state.used, state.added, verbose=session.config.get_verbosity() > 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Tell what was recorded, and with -v what was not used."""
    told = config.stash[_STATE].told
    if told:
        terminalreporter.section("salience")
        for line in told:
            terminalreporter.line(line)
