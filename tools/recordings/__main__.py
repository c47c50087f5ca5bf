"""Put the plan to a model, and keep what it says: `python -m tools.recordings`.

python -m tools.recordings --left                       # how much is not recorded yet
python -m tools.recordings tasks corrections            # these sets, by LocalModel("qwen")
python -m tools.recordings tasks --prune                # leave out what the plan no longer asks for
python -m tools.recordings --model needle+smollm2
python -m tools.recordings --model endpoint             # by OPENAI_BASE_URL, OPENAI_API_KEY and ZOOLAB_MODEL

Each set becomes <into>/<model>-<set>.jsonl. Its first line says who answered: the file of the weights, its
checksum, what ran it, the settings, and the day. What is recorded already is not asked again, so the command
goes on where it was stopped, and begins with what comes with zoolab: `gzip -n9` packs the longer file again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.recordings.holding import begin, hold_all, left_of, prune
from tools.recordings.planning import PLAN, RecordingPlan, plan
from zoolab.errors import ZoolabError
from zoolab.models.openai import OpenAIModel
from zoolab.records import Model
from zoolab_course.local import LocalModel


def run(arguments: Sequence[str]) -> int:
    """Record, or say what is left: 0 nothing is left, 1 something is, 2 could not run."""
    parser = argparse.ArgumentParser(prog="python -m tools.recordings")
    parser.add_argument("sets", nargs="*", metavar="SET", help="sets of the plan, by default all")
    parser.add_argument("--model", default="qwen", help="a local model, or endpoint; by default %(default)s")
    parser.add_argument("--plan", type=Path, default=PLAN, metavar="FILE", help="by default plan.toml")
    parser.add_argument("--into", type=Path, default=Path("recordings"), metavar="DIR")
    parser.add_argument("--left", action="store_true", help="only say what is left")
    parser.add_argument("--prune", action="store_true", help="leave out what the plan does not ask for")
    options = parser.parse_args(arguments)
    options.into.mkdir(parents=True, exist_ok=True)
    left = 0
    try:
        for each in () if options.left else plan(options.sets, options.plan):
            path = _path_of(each, options)
            begin(path)
            if options.prune:
                _say(f"{each.name}: {prune(each, path)} pairs are left out")
            else:
                hold_all(each, _model_of(options.model, each), path, _say)
        # Tools keep what they did to their world, so this begins from fresh ones.
        for each in plan(options.sets, options.plan):
            missing = left_of(each, _path_of(each, options))
            _say(f"{each.name}: {missing} of {len(each.conversations)} conversations are left")
            left += missing
    except ZoolabError as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if left else 0


def _path_of(each: RecordingPlan, options: argparse.Namespace) -> Path:
    into: Path = options.into
    return into / f"{options.model}-{each.name}.jsonl"


def _model_of(name: str, of: RecordingPlan) -> Model:
    return OpenAIModel(settings=of.settings) if name == "endpoint" else LocalModel(name, **of.settings)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
