"""Coverage-guided inputs, found by Atheris: sources, configurations, and suppression comments.

Atheris is not a dependency; use ``pip install atheris`` if there is a wheel for the running Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from judge import fault, plan, traced

Target = Callable[[bytes], str | None]


def suppressions_fault(data: bytes) -> str | None:
    """What is wrong with the suppressions read from a text; None if nothing is."""
    from torchlint.config.select import names
    from torchlint.run.linting.suppress import scan

    text = data.decode("utf-8", "replace")
    try:
        found = scan(text)
        found.matches("TL101", "tensor-copies-ndarray", 1, 3)
        for unused in found.unused(names(plan().rules), plan().active):
            if not 1 <= unused.column <= unused.end_column or not unused.message.isprintable():
                return f"an odd complaint: {unused}"
            if unused.removal is not None and not 0 <= unused.removal[0] <= unused.removal[1] <= len(text):
                return f"removes what is not there: {unused}"
    except Exception as error:
        return traced(error)
    return None


def configuration_fault(data: bytes, file: Path) -> str | None:
    """What is wrong with how a configuration file was read: only one-line errors are allowed."""
    from torchlint.base.globs import GlobProblem, path_matches
    from torchlint.config.config import ConfigError
    from torchlint.config.configurations import load
    from torchlint.run import session

    file.write_bytes(data)
    try:
        config = load(file.parent, explicit=file)
        session.plan(config)
        path_matches(config.exclude, "package/module.py")
    except (ConfigError, GlobProblem) as error:
        return None if str(error).isprintable() else f"an error of several lines: {error}"
    except Exception as error:
        return traced(error)
    return None


def targets(out: Path) -> dict[str, Target]:
    """The fuzz targets, by kind."""
    return {
        "guided-lint": fault,
        "guided-config": lambda data: configuration_fault(data, out / "torchlint.toml"),
        "guided-suppress": suppressions_fault,
    }


def fuzz(test: Callable[[bytes], None], seeds: Sequence[bytes], folder: Path, seed: int, seconds: float) -> None:
    """Run Atheris until the time is over; it exits the process."""
    import atheris

    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds):
        (folder / f"seed-{number}").write_bytes(content)
    _instrument()
    options = [f"-max_total_time={max(1, int(seconds))}", f"-seed={seed}", "-max_len=4096", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, "-rss_limit_mb=4000", "-timeout=120", str(folder)], test)
    atheris.Fuzz()


def _instrument() -> None:
    """Let the functions of torchlint report the branches they take."""
    import types

    import atheris

    fault(COMMENTS[0] + b"import torch\ntorch.zeros(3).cuda()\n")  # import now what is usually imported late
    for name, module in list(sys.modules.items()):
        if not name.startswith("torchlint"):
            continue
        for value in list(vars(module).values()):
            holders = vars(value).values() if isinstance(value, type) and value.__module__ == name else (value,)
            for function in holders:
                if isinstance(function, types.FunctionType) and function.__module__ == name:
                    atheris.instrument_func(function)


TOML = (
    b'select = ["TL4", "loading"]\nignore = ["hardcoded-cuda"]\nexclude = ["a/", "*_pb2.py", "**/x[!a-c]?.py"]\n',
    b'fail-on = "never"\ntarget-torch = "2.4"\ntime-limit = 5\n[per-file-ignores]\n"e/**" = ["TL701"]\n',
    b'[rules.hardcoded-cuda]\nportable = "auto"\n[budget]\nuploads = 2\n',
)
COMMENTS = (
    b"x = 1  # noqa: TL101, E501 reason\ny = 2  # torchlint: ignore[TL201, tensor-copies-ndarray] why\n",
    b"# torchlint: skip-file\nf'{x!r:>{w}} # noqa' '''\n# noqa''' # NoQA\n",
    b"s = rb'\\'' \\\n# torchlint: ignore\n# torchlint: igonre[TL1] # noqa:TL999\r\n",
)
