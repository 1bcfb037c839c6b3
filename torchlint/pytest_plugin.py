"""Observes tests: ``--torchlint-confirm`` reports verdicts for the findings in the code that they run.

With ``--torchlint-no-waits`` a test fails in which a hot function waits for the device.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

import pytest

_FAILED = 1
_MARK = "torchlint_no_waits"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("torchlint", "findings of torchlint, confirmed by the tests")
    group.addoption("--torchlint-confirm", action="store_true", help="observe the tests, and report verdicts")
    group.addoption("--torchlint-no-waits", action="store_true", help="hot functions must not wait for the device")
    group.addoption("--torchlint-on", default="auto", choices=("auto", "gpu", "sim", "cpu"), help="default: auto")
    group.addoption("--torchlint-evidence", metavar="DIR", help="keep the evidence in this folder")


def pytest_configure(config: pytest.Config) -> None:
    """Start to observe, if the option is given; a controller of pytest-xdist leaves that to its workers."""
    config.addinivalue_line("markers", f"{_MARK}: with --torchlint-no-waits, the whole test is a hot function")
    if config.getoption("--torchlint-no-waits"):
        _forbid_waits(config)
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
        with open(self._path, encoding="utf-8") as stream:
            self._observation = _observation(json.load(stream))
        from torchlint.runtime import processes

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


def _observation(order: dict[str, Any]) -> Any:
    """An observation that has not started."""
    try:
        from torchlint.runtime import modes
        from torchlint.runtime.observation import Observation
    except ImportError:
        from torchlint.base.version import installation

        raise pytest.UsageError(f"torchlint: observing tests needs PyTorch: {installation('runtime')}") from None
    try:
        return Observation(order, *modes.resolve(order))
    except modes.Refused as refused:
        raise pytest.UsageError(f"torchlint: {refused}") from None


def _after_pytest() -> int:
    names = [type(finder).__name__ for finder in sys.meta_path]
    return names.index("AssertionRewritingHook") + 1 if "AssertionRewritingHook" in names else 0


def _forbid_waits(config: pytest.Config) -> None:
    """Fail tests in which a hot function waits; a controller of pytest-xdist leaves that to its workers."""
    from pathlib import Path

    from torchlint.config.config import ConfigError
    from torchlint.config.configurations import load
    from torchlint.testing.no_waits import Guard

    if config.getoption("--torchlint-confirm"):
        raise pytest.UsageError("torchlint: --torchlint-no-waits and --torchlint-confirm need runs of their own")
    if config.getoption("numprocesses", None):
        return
    root = str(config.rootpath)
    try:
        guard = Guard(load(Path(root)).world, root)
    except ConfigError as problem:
        raise pytest.UsageError(f"torchlint: {problem}") from None
    config.pluginmanager.register(_NoWaits(guard, root, config.getoption("--torchlint-on")), "torchlint-no-waits")


class _NoWaits:
    """Fails tests in which a hot function waits for the device, where that is not allowed."""

    def __init__(self, guard: Any, root: str, mode: str) -> None:
        from torchlint.runtime.block import order

        self._guard, self._test, self._marked = guard, False, ""
        self._found: dict[str, None] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="torchlint-")
        self._observation = _observation({**order(mode, self._folder.name), "roots": [root]})
        self._observation.start()
        recorder = self._observation.recorder
        self._observation.patches.set(recorder, "add", self._heard(recorder, recorder.add))

    def _heard(self, recorder: Any, add: Any) -> Any:
        def heard(kind: str, *args: Any, **facts: Any) -> None:
            waits = kind == "sync" or (kind in ("upload", "download") and not facts.get("non_blocking"))
            if waits and self._test and recorder.listening:
                way = str(facts.get("how") or facts.get("why"))
                what = way if kind == "sync" else f"{kind} by {way}"
                line = self._guard.unexpected(sys._getframe(1), what, self._marked)
                self._found.update({line: None} if line else {})
            add(kind, *args, **facts)

        return heard

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        """Run a test, and let it fail if a hot function has waited."""
        self._test, self._marked = True, item.name if item.get_closest_marker(_MARK) else ""
        outcome = yield
        self._test, found, self._found = False, self._found, {}
        if found and outcome.excinfo is None:
            outcome.force_exception(pytest.fail.Exception("\n".join(found), pytrace=False))

    def pytest_unconfigure(self) -> None:
        """Take the instruments out."""
        self._observation.stop()
        self._folder.cleanup()


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
