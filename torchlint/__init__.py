"""torchlint: a linter for PyTorch performance anti-patterns.

This package exports the public API, which docs/api.md describes. Exports are imported on first use, so that
``torchlint --version`` and a run in which no file needs parsing start fast. The package itself imports nothing at all;
``__main__`` says why.
"""

__all__ = [
    "Config",
    "ConfigError",
    "Finding",
    "RegistryError",
    "__version__",
    "fix_source",
    "lint_paths",
    "lint_source",
    "read_config",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchlint.api import (
        Config,
        ConfigError,
        Finding,
        RegistryError,
        fix_source,
        lint_paths,
        lint_source,
        read_config,
    )
    from torchlint.base.version import __version__


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name == "__version__":
        from torchlint.base.version import __version__

        return __version__
    if name in __all__:
        import torchlint.api

        return getattr(torchlint.api, name)
    if name == "runtime":  # imports torch, unlike everything else
        from importlib import import_module

        return import_module("torchlint.runtime")
    raise AttributeError(f"module 'torchlint' has no attribute {name!r}")
