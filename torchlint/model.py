"""The records that the parts of torchlint exchange. Standard library only.

Lines and columns count from 1; columns count characters, not bytes. Every record is frozen and picklable, so that it
can cross process boundaries and be cached.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple

from torchlint.base.pages import Page

SYNTAX_ERROR = "TL000"
UNUSED_SUPPRESSION = "TL001"


class Severity(str, enum.Enum):
    """The severity of a finding: ``error`` (wrong or dead code), ``warning``, or ``info`` (advice)."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error."""
        return ("info", "warning", "error").index(self.value)


class Safety(str, enum.Enum):
    """Whether a fix keeps values, aliasing, exceptions, random stream and comments."""

    SAFE = "safe"
    UNSAFE = "unsafe"


class Heat(str, enum.Enum):
    """How often code runs."""

    ONCE = "once"
    EPOCH = "epoch"
    STEP = "step"
    ELEMENT = "element"

    @property
    def rank(self) -> int:
        """0 for once up to 3 for every element of a step."""
        return ("once", "epoch", "step", "element").index(self.value)


class Span(NamedTuple):
    """A range of source text; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Evidence(NamedTuple):
    """A fact that supports a finding, with its position; in a notebook, lines count from the beginning of ``cell``.

    ``context`` says that it only tells how often the code runs: what the finding is about does not happen there.
    """

    line: int
    column: int
    text: str
    cell: int | None = None
    context: bool = False


class Edit(NamedTuple):
    """Replace the text of a span; in a notebook, of a span in ``cell``."""

    span: Span
    text: str
    cell: int | None = None


class Fix(NamedTuple):
    """Text edits under a verb phrase. ``caveat`` says what an unsafe fix may change."""

    title: str
    safety: Safety
    edits: tuple[Edit, ...]
    caveat: str | None = None


class Recipe(NamedTuple):
    """How a run confirms a finding: data for the runtime companion.

    ``probe`` names a function in ``torchlint.confirm.probes``; ``span`` selects the code whose events count
    (``finding``: its own span, ``evidence``: also the positions of its evidence, ``run``: everything); ``seen``
    describes what counts as confirmed. ``least`` is the number of events required, in the whole run or per step
    (``each``), ``flags`` is the state of backend flags to look for, and ``functions`` are the PyTorch functions, by
    dotted name, whose calls are counted.
    """

    probe: str
    span: str
    seen: str
    least: float = 1
    each: str = "run"
    flags: tuple[tuple[str, bool], ...] = ()
    functions: tuple[str, ...] = ()


class Observed(NamedTuple):
    """What a recording of a run shows at a line: how often, and what it took.

    ``kind`` is a name of :data:`torchlint.knowledge.observations.KINDS`. ``times`` and ``microseconds`` are those of
    all ``steps`` recorded, and of the whole recording if that has no steps. ``share`` is the part of the steps' time.
    ``source`` is the file it was read from. Where the recording does not name the line, ``function`` is the function
    that it is in, and ``lines`` are all that it may be, in order, of which ``line`` is the first; without ``lines``,
    ``line`` is the first of the function. ``detail`` is what
    the recording itself says, on one line. ``idle_us`` is how much of the time left the GPU without work. ``evaluates``
    says that the steps are those of an evaluation, ``modeled`` that the time is that of a price list, and ``columns``
    where on the line the expression begins and ends, if that is known and on one line.
    """

    kind: str
    path: str
    line: int
    times: int
    steps: int
    microseconds: float
    source: str
    lines: tuple[int, ...] = ()
    function: str = ""
    share: float | None = None
    detail: str = ""
    idle_us: float = 0.0
    evaluates: bool = False
    modeled: bool = False
    columns: tuple[int, int] | None = None


class Recording(NamedTuple):
    """What a recording of a run says as a whole.

    ``form`` says in words what it is. ``step_us`` is the time of the median step, and
    ``steps_us`` that of all steps; ``totals`` are count and microseconds
    of each kind in all steps, ``unmatched`` are lines without a file among those of the run, as ``path:line``, and
    ``notes`` say what it lacks. ``idle_us`` is how long waits and copies left the GPU without work in all steps.
    ``evaluates`` and ``modeled`` are those of the totals, as in :class:`Observed`.
    """

    source: str
    form: str
    steps: int = 0
    step_us: float | None = None
    totals: tuple[tuple[str, int, float], ...] = ()
    unmatched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    steps_us: float | None = None
    idle_us: float = 0.0
    evaluates: bool = False
    modeled: bool = False


class Recorded(NamedTuple):
    """What recordings show: as a whole, and at lines that no finding is about."""

    recordings: tuple[Recording, ...]
    unreported: tuple[Observed, ...] = ()


class Finding(NamedTuple):
    """One place where a rule fired.

    ``statement`` holds the first and last line of the statement around it: a suppression comment may stand on any of
    these lines. ``None`` means that no comment can suppress it. In a notebook, lines count from the beginning of
    ``cell``, which counts all cells from 1. ``cause`` says in the plural what places of the file have in common, such
    as ``requests for CUDA``. Reports show those of one rule, severity and cause as one finding, whose ``places`` are
    the findings that it stands for. ``seen`` is what recordings of runs show at its lines. ``step`` is the loop that
    makes the steps in which it happens, by path and line, where that is known from following the program.
    """

    rule: str
    name: str
    topic: str
    severity: Severity
    path: str
    span: Span
    message: str
    heat: Heat | None = None
    evidence: tuple[Evidence, ...] = ()
    fix: Fix | None = None
    cell: int | None = None
    fingerprint: str = ""
    statement: tuple[int, int] | None = None
    cause: str = ""
    places: tuple[Finding, ...] = ()
    seen: tuple[Observed, ...] = ()
    step: tuple[str, int] | None = None

    @property
    def is_notice(self) -> bool:
        """Whether it only says that the file, or the cell, is of another version of Python and was not checked."""
        return self.rule == SYNTAX_ERROR and self.severity is Severity.INFO

    @property
    def sort_key(self) -> tuple[str, int, Span, str, str]:
        """The order in which findings are reported."""
        return (self.path, self.cell or 0, self.span, self.rule, self.message)


class Problem(NamedTuple):
    """Something torchlint could not do: an unreadable file, an internal error of a rule."""

    path: str
    message: str
    line: int | None = None
    cell: int | None = None

    @property
    def sort_key(self) -> tuple[str, int, int, str]:
        """The order in which problems are reported."""
        return (self.path, self.cell or 0, self.line or 0, self.message)


class RuleInfo(NamedTuple):
    """The facts about a rule that reports and documents need, without its code.

    ``page`` says where its documentation stands, and ``default`` whether the rule is on without being selected.
    ``package`` is the distribution that the rule comes from, with its version unless that is torchlint. ``url`` is None
    if the rule has no documentation online.
    """

    id: str
    name: str
    topic: str
    severity: Severity
    summary: str
    default: bool
    fix: str
    since: str
    page: Page
    url: str | None
    package: str = "torchlint"
    programs: tuple[str, ...] = ("training", "inference")
    group: str = ""

    @property
    def documentation(self) -> str:
        """The text of the page, in Markdown; it is read from the file."""
        return self.page.read()


class FileResult(NamedTuple):
    """The result of linting one file; ``suppressed`` counts the findings that comments suppress."""

    path: str
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    suppressed: int = 0


class Repairs(NamedTuple):
    """The result of ``--fix``: fixed findings, how many need ``--unsafe-fixes``, and what was skipped, by reason."""

    fixed: tuple[Finding, ...] = ()
    unsafe: int = 0
    skipped: tuple[tuple[str, int], ...] = ()


class Accepted(NamedTuple):
    """Findings of a baseline: so many in lines with this text, at a path relative to the baseline."""

    path: str
    rule: str
    line: str
    times: int = 1


class Loop(NamedTuple):
    """A loop that runs once for each batch, or a method that a framework calls for each batch, with its position.

    ``kind`` says what a step does: ``training``, ``evaluation``, or ``batches`` if the file does not show it. In a
    notebook, the line counts from the beginning of ``cell``. ``waits`` and ``copies`` are the findings about waits and
    copies in its steps, of any severity, and ``warned`` are those of them that are no infos.
    """

    path: str
    line: int
    kind: str
    cell: int | None = None
    waits: int = 0
    copies: int = 0
    warned: int = 0


class Unresolved(NamedTuple):
    """A module of the project, as it is imported in a file with loops, that is not among the files of the run."""

    path: str
    module: str


class Unfinished(NamedTuple):
    """A file that was not followed to the end, because the limit of the work on its project was reached.

    ``body``: what it does when it is run or imported. ``functions``: how many of those that may run in steps.
    """

    path: str
    body: bool
    functions: int


class Understood(NamedTuple):
    """What of a program was recognized, so that a report without findings can say what it is worth.

    ``on_accelerator`` is true if some file moves something to an accelerator. ``unfinished`` are the files in which
    something that programs do may be missing.
    """

    loops: tuple[Loop, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    on_accelerator: bool = False
    unfinished: tuple[Unfinished, ...] = ()


class RunResult(NamedTuple):
    """The result of a run, in path order. ``repairs`` is None if no fixes were requested.

    ``unfollowed`` are links to folders outside the searched tree. ``unchecked`` counts the files that could not be
    checked completely. ``without_device`` are files that compute with tensors without any sign, there or in the other
    files, that these are on an accelerator. ``baselined`` and ``unchanged`` count findings that are not reported: those
    in a baseline, and those on lines that have not changed. ``obsolete`` are the findings of a baseline that no longer
    occur. ``notes`` are sentences about the run. ``understood`` is None if no project was analyzed, and
    ``recorded`` if no recordings were read.
    """

    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: int = 0
    from_cache: int = 0
    suppressed: int = 0
    rules: tuple[RuleInfo, ...] = ()
    repairs: Repairs | None = None
    unfollowed: tuple[str, ...] = ()
    unchecked: int = 0
    without_device: tuple[str, ...] = ()
    baselined: int = 0
    unchanged: int = 0
    obsolete: tuple[Accepted, ...] = ()
    notes: tuple[str, ...] = ()
    understood: Understood | None = None
    recorded: Recorded | None = None

    def with_problems(self, problems: Iterable[Problem]) -> RunResult:
        """The same result with problems of files that were not linted."""
        added = tuple(problems)
        every = tuple(sorted((*added, *self.problems), key=lambda problem: problem.sort_key))
        return self._replace(problems=every, unchecked=self.unchecked + len({problem.path for problem in added}))
