"""What all tests run in: LibCST as torchlint imports it, before anything else does, and a cache of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

import torchlint.analysis  # noqa: F401

# Tests run beside each other in as many processes as there are processors: threads of torch would only wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session", autouse=True)
def _signals() -> None:
    """Shells and `nohup` start what runs in the background with signals ignored, which would reach what tests start."""
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What torchlint remembers for a user is not the developer's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("home")))
        yield
