"""A plan: the rules, the configuration for each file, and what is to be done with the files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.config.config import ConfigError
from torchlint.config.scopes import Scopes
from torchlint.model import FileResult, Finding
from torchlint.project.merged import Project
from torchlint.run.discovery.context import NONE, Context

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.config.scopes import Scope
    from torchlint.program.world import World
    from torchlint.project.followed import FollowedFile
    from torchlint.rule import Rule
    from torchlint.run.linting.file import Analysis
    from torchlint.run.linting.screened import Screened
    from torchlint.run.recorded.evidence import Evidence


class Plan(NamedTuple):
    """All known rules, and the configuration for each file.

    ``around`` are files that are linted together with those of the run, but of which nothing is reported;
    ``evidence`` is what earlier runs of the program have shown.
    """

    rules: tuple[type[Rule], ...]
    scopes: Scopes
    exhaustive: bool = False
    around: Context = NONE
    evidence: Evidence | None = None

    @property
    def config(self) -> Config:
        """The configuration for the run as a whole."""
        return self.scopes.first.config

    @property
    def active(self) -> frozenset[str]:
        """The ids of the rules that it enables."""
        return self.scopes.first.active

    def scope(self, path: str) -> Scope:
        """The configuration and rules for one file. Raises ``ConfigError``."""
        return self.scopes.of(path, self.rules)

    def world(self, contents: Mapping[str, bytes]) -> World:
        """The world in which the programs of these files run, given by path. Raises ``ConfigError``."""
        from torchlint.run.worlds import world_of

        return world_of(contents, self.scopes.configurations)

    def with_shown(self, followed: dict[str, FollowedFile], contents: Mapping[str, bytes]) -> dict[str, FollowedFile]:
        """What following the programs tells of files, together with what earlier runs have shown of them."""
        return self.evidence.added(followed, contents) if self.evidence is not None else followed

    def fails(self, finding: Finding) -> bool:
        """Whether a finding makes the run fail (``fail-on``). That a file is written in Python 2 never does."""
        least = self.scope(finding.path).config.fail_on
        return least is not None and finding.severity.rank >= least.rank and not finding.is_notice

    def with_context(self, paths: Sequence[str]) -> list[str]:
        """These files and those around them, each once: a file may have several paths.

        Files with a wrong configuration are left out, unless they are among ``paths``.
        """
        real = set(map(os.path.realpath, paths)) if self.around.files else set()
        others = (path for path in self.around.files if os.path.realpath(path) not in real)
        return [*paths, *filter(self._is_configured, others)]

    def _is_configured(self, path: str) -> bool:
        try:
            self.scope(path)
        except ConfigError:
            return False
        return True

    def lint(self, data: bytes, path: str) -> FileResult:
        """Lint the bytes of one file, as a project of its own."""
        return self.analyze(data, path).result

    def analyze(
        self,
        data: bytes,
        path: str,
        project: Project | None = None,
        known: Screened | None = None,
        seconds: float | None = None,
    ) -> Analysis:
        """Lint the bytes of one file, and collect its facts or use those of a project.

        Without a project it is one of its own. ``seconds`` replaces the time limit of the configuration.
        """
        from torchlint.run.following import follow_programs
        from torchlint.run.linting.file import analyze

        config, active = self.scope(path)
        if seconds is not None:
            config = config._replace(time_limit=seconds)
        if project is None:
            followed = follow_programs([{path: data}], self.world)
            project = Project(followed=self.with_shown(followed, {path: data}))
        return analyze(data, path, self.rules, active, config, project, exhaustive=self.exhaustive, known=known)

    def screen(self, data: bytes, path: str, project: Project | None = None) -> Screened:
        """Only prefilter the bytes of one file."""
        from torchlint.run.linting.file import screen_alone

        config, active = self.scope(path)
        return screen_alone(data, path, self.rules, active, config, project, exhaustive=self.exhaustive)
