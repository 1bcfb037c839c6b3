"""The version of torchlint, which the build backend reads from here, and where it is installed from."""

from __future__ import annotations

__version__ = "0.1.0"
REPOSITORY = "https://github.com/torchlint/torchlint"


def installation(extra: str) -> str:
    """The command that installs torchlint with the packages of an extra. No package index has torchlint yet."""
    return f'pip install "torchlint[{extra}] @ git+{REPOSITORY}"'
