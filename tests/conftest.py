"""The environment of all tests: LibCST imported the way torchlint does it, and a separate cache."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Tests start hundreds of processes, and compiling torchlint takes longer than what most of them do.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import torchlint.analysis  # noqa: E402, F401
from tests import quick  # noqa: E402
from tests.browser import chromium  # noqa: E402, F401 - a fixture of all tests that open pages

pytest_plugins = ["torchlint.testing", "pytester"]

# Tests run in as many processes as there are processors, so more threads of torch would only wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Rules that happen to be installed beside torchlint are not what these tests are about.
os.environ["TORCHLINT_DISABLE_PLUGINS"] = "1"


# The modules that take longest, which processes begin with, so that none is left alone with one at the end.
LONGEST = (
    "test_confirm test_scan test_plugin_docs test_fixtures test_steps test_site test_stored test_server "
    "test_server_evidence test_precommit test_loader_workers test_testing test_waits test_hostile_output test_html "
    "test_differential test_first_imports test_faults test_fuzz test_simulation test_shortcuts test_gpu_programs"
).split()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``-m quick``, leave out the modules without quick tests, some of which take long to import."""
    left_out = config.getoption("markexpr") == "quick" and not quick.may_have_quick_tests(collection_path)
    return left_out or None


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option to run everything."""
    help_text = "also run the tests that are marked `exhaustive`: every value where representatives run by default"
    parser.getgroup("torchlint").addoption("--exhaustive", action="store_true", help=help_text)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the quick tests, before pytest selects by marks, leave out the exhaustive ones, begin with the longest."""
    for item in items:
        if quick.entry_of(item):
            item.add_marker("quick")
    if not config.getoption("--exhaustive"):
        left_out = [item for item in items if item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
    order = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture(scope="session", autouse=True)
def _signals() -> None:
    """Restore default signal handling: shells and `nohup` start background processes with some signals ignored."""
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests away from the developer's own caches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("home")))
        yield
