"""Runs scripted programs under observation in one process, and prints their verdicts as JSON.

``python -m tests.programs_runner [--mode gpu] FILE...``. A line ``# on: cpu``, ``# steps: 3`` or ``# rules: TL506`` at
the top of a program sets how it is observed.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import random
import re
import shutil
import sys
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.distributions import Distribution

from torchlint.config.config import Config
from torchlint.confirm import evidence, order, prepare, prices
from torchlint.confirm.documents import verdict_document
from torchlint.confirm.result import Result, result
from torchlint.model import Finding
from torchlint.run import session
from torchlint.run.plan import Plan
from torchlint.runtime import processes, script
from torchlint.runtime.observation import Observation


def settings(path: str) -> dict[str, str]:
    """The settings at the top of a program."""
    return dict(re.findall(r"^# (on|steps|rules): (\S+)$", Path(path).read_text(encoding="utf-8"), re.MULTILINE))


def observed(path: str, mode: str | None = None) -> Result:
    """Run one program, and judge it."""
    wanted = settings(path)
    rules = wanted.get("rules")
    plan = session.plan(Config(preview=True, extend_select=(rules,) if rules else ()))
    what = prepare.Program(path, None, (), os.path.realpath(path))
    directory = tempfile.mkdtemp(dir=_folder())
    made = prepare.make(what, _findings(path, plan), [what.file], plan, directory)
    made = replace(
        made, mode=mode or wanted.get("on", "sim"), steps=int(wanted["steps"]) if "steps" in wanted else None
    )
    _run(order.write(made), made.mode)
    return result(made, evidence.read(directory, made.run), prices.load(prices.DEFAULT), {})


@cache
def _findings(path: str, plan: Plan) -> list[Finding]:
    """The findings of a program by its whole path: what is in a folder of tests is not followed as a program."""
    return [one for one in session.run([os.path.realpath(path)], plan).findings if one.rule != "TL000"]


def _folder() -> str:
    """A folder for the evidence of all programs, which is written once more when this process ends."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return folder


def _run(path: str, mode: str) -> None:
    ordered: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    _fresh()
    observation = Observation(ordered, mode)
    before = (list(sys.argv), list(sys.path), sys.modules["__main__"])
    is_available = torch.cuda.is_available
    observation.start()
    processes.follow(observation, path)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            script.run(observation, script=ordered["script"], module=None, arguments=[])
        observation.finish()
    finally:
        processes.unfollow()
        observation.stop()
        sys.argv[:], sys.path[:], sys.modules["__main__"] = before
        torch.cuda.is_available = is_available  # a program may have replaced it


def _fresh() -> None:
    """Restore the global state of torch that programs change."""
    if "torch._dynamo.utils" in sys.modules:
        torch._dynamo.utils.counters.clear()  # what an earlier program has compiled
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    torch.use_deterministic_algorithms(False)
    Distribution.set_default_validate_args(True)  # compilation turns it off for the process
    cudnn = torch.backends.cudnn
    cudnn.enabled, cudnn.benchmark, cudnn.deterministic = True, False, False


def verdicts(path: str, mode: str | None = None) -> list[dict[str, Any]]:
    """The verdicts of a program, with rule and line."""
    judged = observed(path, mode)
    return [
        {"rule": finding.rule, "line": finding.span.line, **verdict_document(verdict)}
        for finding, verdict in zip(judged.findings, judged.verdicts, strict=True)
    ]


def main() -> None:
    """Print the verdicts of each program by rule and line."""
    paths, mode = sys.argv[1:], None
    if paths[0] == "--mode":
        mode, paths = paths[1], paths[2:]
    sys.stdout.write(json.dumps({path: verdicts(path, mode) for path in paths}) + "\n")


if __name__ == "__main__":
    main()
