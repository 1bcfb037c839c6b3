"""Tests meet LibCST as torchlint imports it, which has to be before anybody else does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import torchlint.analysis  # noqa: F401


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What torchlint remembers for a user is not the developer's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("home")))
        yield
