"""What following the programs of a project tells of one file, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from torchlint.knowledge.forms import ANYWHERE

# A range of source text as :mod:`ast` gives it: lines from 1, columns from 0 in UTF-8 bytes.
Range = tuple[int, int, int, int]


class Place(Protocol):
    """Where something is, as :mod:`ast` says it: lines count from 1, columns from 0, in UTF-8 bytes."""

    @property
    def lineno(self) -> int: ...  # noqa: D102
    @property
    def col_offset(self) -> int: ...  # noqa: D102
    @property
    def end_lineno(self) -> int | None: ...  # noqa: D102
    @property
    def end_col_offset(self) -> int | None: ...  # noqa: D102


def range_of(place: Place) -> Range:
    """The range of an expression or a statement."""
    return place.lineno, place.col_offset, place.end_lineno or place.lineno, place.end_col_offset or place.col_offset


# Where nothing is known to call a function, which would run in every step.
ASSUMED = "assumed"
# The phase of a step of decoding or sampling, which begins with what the one before it has made.
SAMPLING = "sampling"
BATCHES = ("batch", "pinned", "pageable")  # what events copy
# The phase of a step of inference beside a training, as opposed to what the program is run for.
EVALUATION = "evaluation"
WITHOUT_MODEL = "batches"  # the phase of a step that neither trains nor calls a model
NO_TRAINING = ("inference", WITHOUT_MODEL)
# The phase of a step in which a whole sequence is decoded or sampled.
REQUEST = "request"
# Where the configuration declares the step; before the name of its function, in the way from there.
HOT = "hot "
# Phases of what is reported wherever it stands, and is in no step, or seldom.
ONCE, SELDOM = "once", "seldom"
UNCALLED = "in programs that call this"  # the option without which nothing is known to get there
FOREIGN = "foreign"  # the origin of what a function outside of the project has written on the host
SAME = "same"  # the origin of what a step copies that is the same as in the step before
ONE_LENGTH = "for batches of a certain length"  # a mode of a program that nothing but the number of items shows
# Origins of what a program makes itself on the host: see :class:`torchlint.engine.values.Origin`.
OWN = frozenset({"made", "drawn", "fixed", "generated", "number", "numbers", "constant numbers", "data"})
UNREACHED = "no program that was followed gets here"

_ANYWHERE = frozenset(form.key for form in ANYWHERE)


class FollowedStep(NamedTuple):
    """A function that runs in every step, or a loop that makes steps, by the line of its ``def``, ``for`` or ``while``.

    ``phase`` is ``training`` or ``inference``, or ``assumed`` for a function that nothing is known to call. ``way`` are
    the places from the step to the function: path, line, and the name of the function that is called there, or ``step``
    for the loop.
    """

    line: int
    phase: str
    way: tuple[tuple[str, int, str], ...]


class FollowedFeed(NamedTuple):
    """Where batches are copied to the device in every step.

    ``phase`` is that of the step, or ``assumed``. ``by`` is the library that copies them, if it is not the project
    itself. ``pins``: whether the loader pins them; None if that is not known.
    """

    path: str
    line: int
    phase: str
    by: str = ""
    pins: bool | None = None


class FollowedLoader(NamedTuple):
    """A loader, by the range of the call that makes it.

    ``option`` is the option of the program on which it depends whether it pins its batches. ``workers`` is the number
    of its workers in a normal run, if that is known. ``feed`` is where its batches are copied. ``pins``: whether it
    pins its batches; ``batch`` is what pinning leaves as it is if they are that: the name of a class, or ``array``.
    ``rate`` is how often it is made: ``once``, ``epoch``, ``step``, or ``seldom``. ``persists``: whether its workers
    outlive an epoch; None if that is not known, or switched off. ``in_memory``: its dataset only indexes tensors.
    ``decodes`` is what decodes a file for each sample, with path and line. ``starts`` are the lines at which a training
    begins to iterate over it: path, line, column in UTF-8 bytes, and how often, in the same words.
    """

    place: Range
    option: str = ""
    workers: int | None = None
    feed: FollowedFeed | None = None
    pins: bool | None = None
    batch: str = ""
    rate: str = ONCE
    persists: bool | None = None
    in_memory: bool = False
    decodes: tuple[str, int, str] = ("", 0, "")
    starts: tuple[tuple[str, int, int, str], ...] = ()

    def with_paths(self, paths: Mapping[str, str]) -> FollowedLoader:
        """The same with the paths of other files in place of their names."""
        feed, (path, line, name) = self.feed, self.decodes
        there = feed._replace(path=paths.get(feed.path, feed.path)) if feed is not None else None
        starts = tuple((paths.get(file, file), at, column, rate) for file, at, column, rate in self.starts)
        return self._replace(feed=there, decodes=(paths.get(path, path), line, name), starts=starts)


_WHEN = {
    "training": "in every training step",
    "inference": "in every step of inference",
    EVALUATION: "in every step of an evaluation",
    SAMPLING: "in every step of decoding or sampling",
    REQUEST: "once for each input, not for each step of decoding",
    "": "in every step",
}


class FollowedEvent(NamedTuple):
    """A read, another wait or a copy in every step, by the range of its expression.

    ``form`` is the key of one of :mod:`torchlint.knowledge.forms`, and ``what`` the same with a name. ``phase`` is that
    of the step, ``evaluation``, ``sampling``, ``hot``, ``request``, or ``assumed``. ``option`` is what switches it on,
    or empty. ``origin`` says what is copied, if that is known: a ``batch``, one that is ``pinned`` or ``pageable``,
    what the host has ``computed`` of one, an ``array``, what was ``read`` before, what the step itself has made, as
    :class:`torchlint.engine.values.Origin` names it, or made before (``constant``; ``same`` if it is what the step
    before has copied), or what a ``foreign`` function has written; a tensor that grows is ``kept`` by a model, the
    ``result`` of a loop, or ``other``.
    ``statement`` are the first and the last line of the statement, ``way`` the places from the step to here as in
    :class:`FollowedStep`. ``loops`` are what the loops inside of the step run over, outermost first, and ``use`` what
    becomes of a value that is read: a ``test``, one whether to go ``backward``, a ``check`` that it is finite, a test
    whether to ``stop``, what is ``needed`` to act on, a ``size``, an ``index``, what ``selects`` by a mask, ``text``,
    ``kept``, ``returned``, a ``picture``, only back to the ``device``, ``nothing``, ``handed on`` by a generator,
    ``measured`` where the program has just waited to measure time, or empty if that is not known. ``seen`` says that a
    run of the program has shown it. ``other`` is another place: where the value was copied the other way before, where
    the memory was made that is not pinned, the loader of a batch, or what uses memory too early; path, which is empty
    if it is the same, and line, which is 0 if there is none. ``only`` is what reduces a tensor on the host that is used
    for nothing else, or ``a part``. ``behind`` is the place of the wait since which nothing that takes long was queued,
    as path and line.
    """

    place: Range
    form: str
    what: str
    phase: str
    option: str
    origin: str
    statement: tuple[int, int]
    way: tuple[tuple[str, int, str], ...]
    loops: tuple[str, ...] = ()
    use: str = ""
    seen: bool = False
    other: tuple[str, int] = ("", 0)
    only: str = ""
    behind: tuple[str, int] = ("", 0)

    @property
    def is_in_steps(self) -> bool:
        """Whether a normal run does it in every step of a program."""
        return (
            self.phase in ("training", "inference", EVALUATION, SAMPLING, HOT)
            and not self.option
            and made_by(self.way) is not None
        )

    @property
    def when(self) -> str:
        """How often it happens, in words."""
        if self.phase in (ONCE, SELDOM):
            return ""
        return _WHEN.get(self.phase, _WHEN[""]) if self.way else _WHEN[""]

    def with_paths(self, paths: Mapping[str, str], way: tuple[tuple[str, int, str], ...]) -> FollowedEvent:
        """The same with another way, and the paths of other files in place of their names."""
        other, behind = ((paths.get(path, path), line) for path, line in (self.other, self.behind))
        return self._replace(way=way, other=other, behind=behind)

    def at_lines(self, place: Range, lines: Mapping[int, int]) -> FollowedEvent:
        """The same at another place of the file, with these lines in place of the old ones."""
        statement = lines[self.statement[0]], lines[self.statement[1]]
        other, behind = ((path, line if path else lines.get(line, 0)) for path, line in (self.other, self.behind))
        return self._replace(place=place, statement=statement, other=other, behind=behind)

    @property
    def is_round_trip(self) -> bool:
        """Whether it takes back another copy."""
        return (
            self.other[1] > 0 and self.origin not in BATCHES and (self.form not in _ANYWHERE or self.origin == "read")
        )

    @property
    def is_in_loop(self) -> bool:
        """Whether it is in the function with the loop that makes the steps."""
        return [name for *_, name in self.way] == ["step"]


class FollowedOften(NamedTuple):
    """How often code in a range runs at most, if that is not as often as what is around it.

    ``rate`` is ``once``, ``epoch`` for what runs between steps or seldom, ``step``, or ``element`` for what runs
    several times in a step; ``phase`` is that of the step: ``training``, ``inference``, ``batches`` if it calls no
    model, ``sampling`` or ``hot``. ``rare``: only a condition that holds seldom lets it run. ``by``: what makes
    the step, a ``loop``, the ``caller`` of the function that it is in, of which nothing is known, or that of another
    function that calls it (``assumed``).
    """

    place: Range
    rate: str
    phase: str = ""
    rare: bool = False
    by: str = ""


class FollowedRepeat(NamedTuple):
    """A loop, by its range, or by that of what a comprehension iterates over; or a function that goes backward.

    ``steps``: each round is a step. ``batches``: it iterates over a loader. ``trains``: something in it goes backward
    or makes a step of an optimizer.
    """

    place: Range
    steps: bool
    batches: bool
    trains: bool


class Unfollowed(NamedTuple):
    """What of a file was not followed to the end, because the limit of the work was reached.

    ``body``: what it does when it is run or imported. ``functions``: how many that may run in steps.
    """

    body: bool = False
    functions: int = 0


class FollowedFile(NamedTuple):
    """What is known of a file; nothing of one that no program reaches.

    ``tensors``: expressions that are tensors whenever a normal run evaluates them, on the ``device`` or the ``host``;
    ``device mask`` and ``host mask`` are boolean ones; ``assumed`` at the end says that nothing is known to call the
    function, which is assumed to run in every step. ``unusual``: what a normal run does not get to, or only with an
    option that is off by default, with the reason in words. ``loaders``: those that the file makes.
    ``reached``: the lines of the functions that the programs of the project get to; None if there is no program with a
    step. ``unfollowed`` is what of the file was left out. ``often``: how often its code runs, from the outside in;
    ``repeats``: its loops, and the functions that train. ``content`` is a digest of what was followed: positions mean
    nothing for another content.
    """

    content: str = ""
    tensors: tuple[tuple[Range, str], ...] = ()
    steps: tuple[FollowedStep, ...] = ()
    unusual: tuple[tuple[Range, str], ...] = ()
    loaders: tuple[FollowedLoader, ...] = ()
    reached: tuple[int, ...] | None = None
    events: tuple[FollowedEvent, ...] = ()
    unfollowed: Unfollowed = Unfollowed()
    often: tuple[FollowedOften, ...] = ()
    repeats: tuple[FollowedRepeat, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is known."""
        known = (self.tensors, self.steps, self.unusual, self.loaders, self.events, self.often)
        return self.reached is not None or any(known) or self.unfollowed != Unfollowed()

    @property
    def expressions(self) -> frozenset[Range]:
        """The places of the expressions whose nodes are asked for."""
        return frozenset([*(place for place, _ in self.tensors), *(event.place for event in self.events)])

    def with_paths(self, paths: Mapping[str, str]) -> FollowedFile:
        """The same with the paths of other files in place of their names."""

        def there(way: tuple[tuple[str, int, str], ...]) -> tuple[tuple[str, int, str], ...]:
            return tuple((paths.get(name, name), line, call) for name, line, call in way)

        steps = tuple(step._replace(way=there(step.way)) for step in self.steps)
        events = tuple(event.with_paths(paths, there(event.way)) for event in self.events)
        loaders = tuple(loader.with_paths(paths) for loader in self.loaders)
        return self._replace(steps=steps, loaders=loaders, events=events)


NOT_FOLLOWED = FollowedFile()


def made_by(way: Sequence[tuple[str, int, str]]) -> tuple[str, int] | None:
    """The path and the line of the loop that a way from a step begins with, or of a function that is a step itself."""
    return next(((path, line) for path, line, name in way[:1] if name == "step" or name.startswith(HOT)), None)


def hot_root(way: Sequence[tuple[str, int, str]]) -> str:
    """The name of the function that is configured as hot, if that is the step; else empty."""
    return next((name.removeprefix(HOT) for _, _, name in way[:1] if name.startswith(HOT)), "")


def digest(content: bytes) -> str:
    """A digest of the content of a file."""
    from hashlib import blake2b

    return blake2b(content, digest_size=8).hexdigest()


def moved(known: FollowedFile, before: bytes, after: bytes) -> FollowedFile:
    """What is known of the lines of ``before`` that are also in ``after``, perhaps with a comment, at their new places.

    What covers several lines moves with the first one, if the last one is as far below it as before.
    """
    if not known or known.content != digest(before):
        return NOT_FOLLOWED
    lines = _moved_lines(before.splitlines(), after.splitlines())

    def moves(place: Range) -> bool:
        return place[0] in lines and lines.get(place[2]) == lines[place[0]] + place[2] - place[0]

    def there(place: Range) -> Range:
        first, column, last, end = place
        return lines[first], column, lines[last], end

    return FollowedFile(
        digest(after),
        tuple((there(place), what) for place, what in known.tensors if moves(place)),
        tuple(step._replace(line=lines[step.line]) for step in known.steps if step.line in lines),
        tuple((there(place), why) for place, why in known.unusual if moves(place)),
        tuple(loader._replace(place=there(loader.place)) for loader in known.loaders if moves(loader.place)),
        tuple(line for old in known.reached if (line := lines.get(old))) if known.reached is not None else None,
        tuple(
            event.at_lines(there(event.place), lines)
            for event in known.events
            if moves(event.place) and lines.keys() >= set(event.statement)
        ),
        known.unfollowed,
        tuple(often._replace(place=there(often.place)) for often in known.often if moves(often.place)),
        tuple(each._replace(place=there(each.place)) for each in known.repeats if moves(each.place)),
    )


def _moved_lines(before: list[bytes], after: list[bytes]) -> dict[int, int]:
    """The numbers of lines, from 1, that are also in the other text, and their numbers there."""
    from difflib import SequenceMatcher

    first, rest = 0, min(len(before), len(after))
    while first < rest and before[first] == after[first]:
        first += 1
    last = 0
    while last < rest - first and before[-1 - last] == after[-1 - last]:
        last += 1
    found = {line + 1: line + 1 for line in range(first)}
    found.update({len(before) - line: len(after) - line for line in range(last)})
    ours, theirs = before[first : len(before) - last], after[first : len(after) - last]
    for _, start, end, start_there, end_there in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if end - start == end_there - start_there:
            for offset in range(end - start):
                if _is_same(ours[start + offset], theirs[start_there + offset]):
                    found[first + start + offset + 1] = first + start_there + offset + 1
    return found


def _is_same(old: bytes, new: bytes) -> bool:
    """Whether a line is another one, or that one with a comment after it."""
    code = old.rstrip()
    return new == old or (new.startswith(code) and new[len(code) :].lstrip().startswith(b"#"))
