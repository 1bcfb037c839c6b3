"""The pages of rules: Markdown files beside the modules of the rules, read only when somebody asks for them."""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """Where the page of a rule stands.

    It is the file with the name of the rule (``tensor_copies_ndarray.md``) in the folder of its module, and where there
    is no such file, as in some other packages, ``docstring``, which is that of the class.
    """

    module: str
    rule: str
    docstring: str = ""

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.rule.replace('-', '_')}.md"

    @property
    def path(self) -> str:
        """The path of the file from the folder that has the package of the module."""
        return "/".join((*self.module.split(".")[:-1], self.file))

    def read(self) -> str:
        """The text of the page, without indentation."""
        return self._beside() or _cleaned(self.docstring)

    def _beside(self) -> str:
        """The text of the file, which may be in an archive; empty if there is none."""
        from pkgutil import get_data  # slow; unlike `importlib.resources`, it also serves modules outside of packages

        try:
            data = get_data(self.module, self.file)
        except (ImportError, OSError, ValueError):
            return ""  # no such file, or a module that was not imported from anywhere
        return (data or b"").decode("utf-8", "replace").replace("\r\n", "\n").strip()


def _cleaned(docstring: str) -> str:
    """A docstring without its indentation."""
    from textwrap import dedent  # `inspect.cleandoc` would do, but importing `inspect` is slow

    first, _, rest = docstring.partition("\n")
    return f"{first.strip()}\n{dedent(rest)}".strip()
