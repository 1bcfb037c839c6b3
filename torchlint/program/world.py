"""The world in which programs are followed: their options, which files they are, and the accelerators."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

Setting = bool | int | float | str


class World(NamedTuple):
    """What the configuration says about a normal run.

    ``options`` are the values of options by :func:`option_name`. ``programs`` are the files that are programs, or None
    if the files themselves show that: in a configuration as globs, and as paths with forward slashes where programs are
    followed. ``hot`` are patterns of functions that are steps, or ``@decorators`` of such. ``allowed_waits`` are
    contexts, and comments that begin with ``#``, whose waits are accepted. ``upload_helper`` is the project's function
    that copies to the device. ``scripts`` are the functions that the project installs as commands, ``module:function``.
    ``files`` are the option files that programs may read, with their contents. ``said`` are names of options
    with the values that option files of the project give them, and after a dash those that scripts and pages pass; and
    all words of option files, without a name.
    """

    options: tuple[tuple[str, Setting], ...] = ()
    programs: tuple[str, ...] | None = None
    accelerators: int = 1
    scripts: tuple[str, ...] = ()
    hot: tuple[str, ...] = ()
    allowed_waits: tuple[str, ...] = ()
    upload_helper: str = ""
    files: tuple[tuple[str, bytes], ...] = ()
    said: tuple[tuple[str, str], ...] = ()

    def renamed(self, names: Mapping[str, str]) -> World:
        """The same with the names of programs in place of their paths."""
        if self.programs is None:
            return self
        slashed = {path.replace("\\", "/"): name for path, name in names.items()}
        return self._replace(programs=tuple(sorted(slashed[path] for path in self.programs if path in slashed)))


USUAL = World()


def option_name(written: str) -> str:
    """The one name of an option that is written ``--use-wandb``, ``use-wandb`` or ``use_wandb``."""
    return written.lstrip("-").replace("-", "_")


def setting(options: Iterable[tuple[str, Setting]], written: str) -> Setting | None:
    """The value that an option is given; None if it is given none."""
    name = option_name(written)
    return next((value for option, value in options if option == name), None)


def setting_of(
    options: Iterable[tuple[str, Setting]], dest: str, names: Iterable[str], *, switches_off: bool
) -> Setting | None:
    """The value that an option of an argument parser is given: by ``dest``, or by one of its names.

    A name of an option that ``switches_off`` something says whether it is written on the command line.
    """
    found = setting(options, dest)
    if found is not None:
        return found
    written = next((value for name in names if (value := setting(options, name)) is not None), None)
    return not written if switches_off and written is not None else written


def otherwise(written: str, value: Setting) -> str:
    """How a run differs in which an option does not have the value that it is given."""
    if isinstance(value, bool):
        return f"without `{written}`" if value else f"with `{written}`"
    return f"with another `{written}`"


def matches(names: Collection[str], function: ast.AST, hot: Collection[str]) -> bool:
    """Whether patterns mean a function of these dotted names, or with one of its decorators."""
    decorators = [ast.unparse(each).partition("(")[0] for each in getattr(function, "decorator_list", ())]
    names = [*names, *(f"@{each}" for each in decorators), *(f"@{each.rpartition('.')[2]}" for each in decorators)]
    return any(fnmatchcase(name, each) or fnmatchcase(name, f"*.{each}") for name in names for each in hot)
