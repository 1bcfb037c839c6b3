"""The environment of all tests: LibCST imported the way torchlint does it, and a separate cache."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

import torchlint.analysis  # noqa: F401
from tests.browser import chromium  # noqa: F401 - a fixture of all tests that open pages

pytest_plugins = ["torchlint.testing", "pytester"]

# Tests run in as many processes as there are processors, so more threads of torch would only wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Rules that happen to be installed beside torchlint are not what these tests are about.
os.environ["TORCHLINT_DISABLE_PLUGINS"] = "1"


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
