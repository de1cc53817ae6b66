"""The options of `salience tune` and its actions; only argparse."""

from __future__ import annotations

import argparse
from collections.abc import Callable

TUNE = """\
examples:
  salience tune --list
  salience tune --optimizer labeled -m embedded/smollm2 --base embedded-default --dry-run
  salience tune --task consolidation --optimizer gepa -m ollama/NAME --writer openai/NAME --max-cost 2
  salience tune --optimizer copro -m ollama/NAME --variants prompts.txt
  salience tune gate .salience/tuned/NAME/artefact.json
  salience tune export .salience/tuned/NAME/artefact.json --py prompt.py --policy policy.json

The search learns on train and chooses on dev; only `tune gate` opens test. The same command again goes on where it was ended, from the
replies in the project's cache, to the same prompt. Exit code 1: nothing that was tried is better than the base on dev."""

Verb = Callable[..., argparse.ArgumentParser]


def tune_verbs(
    make: Verb, whole: Callable[[str], int], seed: Callable[[str], int], amount: Callable[[str], float], seconds: Callable[[str], float]
) -> None:
    """Add the verb.

    Args:
        make: Makes a verb from name, handler, text and epilog.
        whole: Reads a whole number from 1 up.
        seed: Reads one from 0 up.
        amount: Reads an amount from 0 up.
        seconds: Reads seconds above 0.
    """
    tune = make("tune", "evals.cli.tune:run", "Search a better prompt for a model, and prove it.", TUNE)
    tune.add_argument("--list", action="store_true", help="the optimisers: what each changes, needs and costs")
    tune.add_argument("--task", default="extraction", choices=["extraction", "consolidation"], help="what is tuned (default: extraction)")
    tune.add_argument("--optimizer", default="bootstrap-rs", metavar="NAME", help="see --list (default: bootstrap-rs)")
    tune.add_argument("-m", "--model", default="embedded/smollm2", metavar="NAME", help="provider/model that is tuned for")
    tune.add_argument("--base", default="default", metavar="NAME|FILE", help="policy to begin from (default: default)")
    tune.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="of the optimiser; see --list")
    tune.add_argument("--writer", metavar="NAME", help="provider/model that writes prompts")
    tune.add_argument("--writer-url", metavar="URL", help="an OpenAI-compatible server for the writer")
    tune.add_argument(
        "--variants", metavar="FILE", help="prompts of your own instead of a writer: a JSON array, or texts between lines ---"
    )
    tune.add_argument("--examples-as", choices=["turns", "system"], default="turns", help="where examples go (default: turns)")
    tune.add_argument("--data", metavar="DATA", help="labelled data with train and dev (default: the bundled data of the task)")
    tune.add_argument("--train", type=whole, metavar="N", help="at most N train cases, drawn evenly over conversations")
    tune.add_argument("--dev", type=whole, metavar="N", help="at most N dev cases, likewise")
    tune.add_argument("--language", action="append", default=[], metavar="CODE", help="only cases in this language; repeat for more")
    tune.add_argument("--violation-weight", type=amount, default=0.0, metavar="X", help="taken off for each forbidden kind (default: 0)")
    tune.add_argument("--noise-weight", type=amount, default=0.0, metavar="X", help="taken off for each trivial memory (default: 0)")
    tune.add_argument(
        "--length-weight", type=amount, default=0.0, metavar="X", help="taken off for 1,000 characters of prompt (default: 0)"
    )
    tune.add_argument("--most-chars", type=whole, metavar="N", help="the longest prompt that may be chosen (default: 12000)")
    tune.add_argument("--name", metavar="NAME", help="of the policy and its folder (default: made of task, model, optimiser and base)")
    tune.add_argument("-o", "--output", metavar="DIR", help="folder for the artefact (default: .salience/tuned/NAME)")
    _calling(tune, whole, amount, seconds)
    tune.add_argument("--matcher", default="classifier", metavar="NAME", help="classifier, embedding or lexical (default: classifier)")
    tune.add_argument("--rubric", default="default", metavar="NAME", help="as of eval (default: default)")
    tune.add_argument("--seed", type=seed, default=0, metavar="N", help="of all that is drawn (default: 0)")
    tune.add_argument("--dry-run", action="store_true", help="say what it would cost at the most, and stop")
    actions = tune.add_subparsers(metavar="ACTION")
    gate = _action(actions, "gate", "evals.cli.tune_gate:run", "Open test once, and say whether the tuned prompt may be called better.")
    gate.add_argument("artefact", nargs="+", metavar="ARTEFACT", help="artefact.json of a search; several are judged together (Holm)")
    gate.add_argument("--against", action="append", default=[], metavar="NAME|FILE",
                      help="beat this policy too, beside the base (default: default, and embedded-default for extraction)")  # fmt: skip
    _calling(gate, whole, amount, seconds)
    export = _action(actions, "export", "evals.cli.tune_export:run", "Write a tuned prompt as constants or as a policy.")
    export.add_argument("artefact", metavar="ARTEFACT", help="artefact.json of a search")
    export.add_argument("--py", metavar="FILE", help="a Python module that imports nothing")
    export.add_argument("--ts", metavar="FILE", help="a TypeScript module")
    export.add_argument("--json", metavar="FILE", help="the artefact itself, anew")
    export.add_argument("--policy", metavar="FILE", help="a policy file for -p")
    export.add_argument("--name", metavar="NAME", help="of the policy (default: its own)")
    export.add_argument("--refused", action="store_true", help="also where the gate was not passed; the file says so")
    show = _action(actions, "show", "evals.cli.tune_export:show", "What a search tried: candidates, what changed, dev scores, a plot.")
    show.add_argument("artefact", metavar="ARTEFACT|DIR", help="artefact.json or the folder of a search")
    show.add_argument("--diff", action="store_true", help="what each candidate changes of the base's text")
    show.add_argument("--plot", metavar="FILE", help="draw the scores over calls (.png, .svg)")
    verify = _action(actions, "verify", "evals.cli.tune_export:verify", "Send cases again through the plain extractor, and compare bytes.")
    verify.add_argument("artefact", metavar="ARTEFACT|FILE", help="artefact.json, or a module or policy that was exported from one")
    verify.add_argument("-n", "--limit", type=whole, default=10, metavar="N", help="how many dev cases (default: 10)")
    verify.add_argument("-m", "--model", metavar="NAME", help="provider/model (default: that of the artefact)")
    verify.add_argument("--data", metavar="DATA", help="labelled data with dev cases (default: that of the artefact, else the bundled)")
    _calling(verify, whole, amount, seconds)


def _calling(
    parser: argparse.ArgumentParser, whole: Callable[[str], int], amount: Callable[[str], float], seconds: Callable[[str], float]
) -> None:
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server")
    parser.add_argument("-j", "--jobs", type=whole, metavar="N", help="at most N calls at once (default: what suits the model)")
    parser.add_argument("--timeout", type=seconds, default=120.0, metavar="SECONDS", help="for one attempt of a call (default: 120)")
    parser.add_argument("--max-calls", type=whole, metavar="N", help="send at most N requests now, of all models, then stop")
    parser.add_argument("--max-tokens", type=whole, metavar="N", help="use at most N tokens now, then stop")
    parser.add_argument("--max-cost", type=amount, metavar="DOLLARS", help="spend at most so much now, then stop; needs known prices")
    parser.add_argument("--prices", metavar="FILE", help="what tokens cost, TOML (default: SALIENCE_PRICES)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def _action(actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, handler: str, text: str) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=text, description=text)
    parser.set_defaults(handler=handler)
    return parser
