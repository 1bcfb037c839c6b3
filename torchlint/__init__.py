"""torchlint: a linter for PyTorch performance anti-patterns.

This package exports the public API. Exports are imported on first use, so that ``torchlint --version`` and a run in
which no file needs parsing start fast. The package itself imports nothing at all; ``__main__`` says why.
"""

__all__ = ["Finding", "__version__", "fix_source", "lint_paths", "lint_source"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchlint.api import fix_source, lint_paths, lint_source
    from torchlint.base.version import __version__
    from torchlint.model import Finding


def __getattr__(name: str) -> object:
    if name == "__version__":
        from torchlint.base.version import __version__

        return __version__
    if name == "Finding":
        from torchlint.model import Finding

        return Finding
    if name in ("fix_source", "lint_paths", "lint_source"):
        import torchlint.api

        return getattr(torchlint.api, name)
    if name == "runtime":  # imports torch, unlike everything else
        from importlib import import_module

        return import_module("torchlint.runtime")
    raise AttributeError(f"module 'torchlint' has no attribute {name!r}")
