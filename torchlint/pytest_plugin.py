"""``pytest --torchlint-confirm``: observes a test run and reports verdicts for the findings in the code it runs."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

_FAILED = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("torchlint", "findings of torchlint, confirmed by the tests")
    group.addoption("--torchlint-confirm", action="store_true", help="observe the tests, and report verdicts")
    group.addoption("--torchlint-on", default="auto", choices=("auto", "gpu", "sim", "cpu"), help="default: auto")
    group.addoption("--torchlint-evidence", metavar="DIR", help="keep the evidence in this folder")


def pytest_configure(config: pytest.Config) -> None:
    """Start to observe, if the option is given; a controller of pytest-xdist leaves that to its workers."""
    if not config.getoption("--torchlint-confirm"):
        return
    worker: Any = getattr(config, "workerinput", None)
    path = worker["torchlint"] if worker is not None else _ordered(config)
    observer = _Observer(path, reports=worker is None)
    config.pluginmanager.register(observer, "torchlint-observer")
    if worker is not None or not config.getoption("numprocesses", None):
        observer.begin()


def _ordered(config: pytest.Config) -> str:
    """Lint what the tests import, and write the order; returns its path."""
    from dataclasses import replace

    from torchlint.config.config import ConfigError
    from torchlint.config.configurations import configurations
    from torchlint.confirm import order, prepare
    from torchlint.confirm.imports import closure
    from torchlint.run import session
    from torchlint.run.discovery import discover
    from torchlint.run.discovery.sources import is_notebook

    root = str(config.rootpath)
    try:
        plan = session.plan_of(configurations(root))
        wanted = [argument.partition("::")[0] for argument in config.args]
        named = [name for name in wanted if os.path.exists(name)]
        found, *_ = discover.files(named, plan.scopes.configurations, os.getcwd())
        tests = [path for path in found if not is_notebook(path)]
        bases = [root, os.path.join(root, "src"), *(entry for entry in sys.path if _below(entry, root))]
        paths = dict.fromkeys(path for test in tests for path in closure(test, [os.path.dirname(test), *bases]))
        what = prepare.Program("pytest", None, tuple(map(str, config.invocation_params.args)), root)
        directory = prepare.folder(config.getoption("--torchlint-evidence"))
        made = prepare.make(what, prepare.findings_of(list(paths), plan), list(paths), plan, directory)
        return order.write(replace(made, mode=config.getoption("--torchlint-on")))
    except (ConfigError, order.OrderProblem) as problem:
        raise pytest.UsageError(f"torchlint: {problem}") from None


def _below(entry: str, root: str) -> bool:
    return bool(entry) and "site-packages" not in entry and os.path.realpath(entry).startswith(os.path.realpath(root))


class _Observer:
    """Observes one process; the main process also reports."""

    def __init__(self, path: str, *, reports: bool) -> None:
        self._path = path
        self._reports = reports
        self._observation: Any = None
        self._text = ""

    def begin(self) -> None:
        """Install the instruments."""
        try:
            from torchlint.runtime import modes, processes
            from torchlint.runtime.observation import Observation
        except ImportError:
            from torchlint.base.version import installation

            raise pytest.UsageError(f"--torchlint-confirm needs PyTorch: {installation('runtime')}") from None
        with open(self._path, encoding="utf-8") as stream:
            order = json.load(stream)
        try:
            mode, notes = modes.resolve(order)
        except modes.Refused as refused:
            raise pytest.UsageError(f"torchlint: {refused}") from None
        self._observation = Observation(order, mode, notes)
        # After pytest's own hook, which must see test modules first.
        processes.mark_modules(self._observation.marks, at=_after_pytest())
        self._observation.start()
        processes.follow(self._observation, self._path)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist the path of the order."""
        node.workerinput["torchlint"] = self._path

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the evidence; in the main process, judge it."""
        if self._observation is not None:
            from torchlint.runtime import processes

            processes.unfollow()
            self._observation.stop()
            self._observation.finish()
        if self._reports:
            failed, self._text = _judged(os.path.dirname(self._path))
            if failed and session.exitstatus == 0:
                session.exitstatus = _FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the verdicts."""
        if self._text:
            terminalreporter.section("torchlint")
            terminalreporter.write(self._text)


def _after_pytest() -> int:
    names = [type(finder).__name__ for finder in sys.meta_path]
    return names.index("AssertionRewritingHook") + 1 if "AssertionRewritingHook" in names else 0


def _judged(directory: str) -> tuple[bool, str]:
    """The report, and whether the run exceeds its budget."""
    from pathlib import Path

    from torchlint.config.configurations import load
    from torchlint.confirm import evidence, order, prices
    from torchlint.confirm.budget import BudgetProblem
    from torchlint.confirm.result import result
    from torchlint.confirm.text import render
    from torchlint.text.visible import visible

    try:
        made = order.read(directory)
        config = load(Path(made.base))
        found = result(made, evidence.read(directory, made.run), prices.load(prices.DEFAULT), config.budget)
    except (order.OrderProblem, evidence.EvidenceProblem, BudgetProblem) as problem:
        return True, f"torchlint: error: {visible(str(problem))}\n"
    return found.fails(None), render(found)
