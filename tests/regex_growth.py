"""Finds regular expressions that may take more than linear time, by analyzing their structure without running them.

A pattern is converted to an automaton over character classes. A search takes more than linear time if some text can be
matched repeatedly in two ways, by two loops (or by one loop and the search itself, which starts again at every
character), and what follows the loops may fail. Anchors and lookarounds of one character are modeled exactly; longer
lookarounds and backreferences are assumed to match always; a bounded repetition is not a loop.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    from re import _constants as codes
    from re import _parser as parser
else:
    import sre_constants as codes
    import sre_parse as parser

_CHARACTERS = [*map(chr, range(128)), "é", "ß", "\u2003", "²"]
_BITS = {character: 1 << place for place, character in enumerate(_CHARACTERS)}
_EVERY = (1 << len(_CHARACTERS)) - 1
_EDGE = _EVERY + 1  # the beginning and the end of the text
_WORDS = {codes.CATEGORY_WORD: r"\w", codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_DIGIT: r"\d"}
_OTHERS = {codes.CATEGORY_NOT_WORD: r"\W", codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_NOT_DIGIT: r"\D"}


class Condition(NamedTuple):
    """The characters allowed before and after a position."""

    before: int = _EVERY | _EDGE
    behind: int = _EVERY | _EDGE


class Edge(NamedTuple):
    """A transition without reading a character, under a condition."""

    target: int
    condition: Condition = Condition()


class Automaton:
    """The automaton of one pattern. States read a character of their class when they are entered."""

    def __init__(self, pattern: re.Pattern[Any], *, searched: bool) -> None:
        self._flags, self._bytes = pattern.flags, isinstance(pattern.pattern, bytes)
        self.classes: list[int] = []
        self._edges: dict[int, list[Edge]] = {}
        self.begin, self.end = self._state(0), self._state(0)
        tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
        self.loop = self._state(_EVERY) if searched else None
        if self.loop is not None:
            self._edges[self.begin] = [Edge(self.loop)]
            self._edges[self.loop] = [Edge(self.loop)]
        into, out = self._sequence(tree)
        for source in (self.begin, *([self.loop] if self.loop is not None else [])):
            self._edges[source].append(Edge(into))
        self._edges[out].append(Edge(self.end))
        self.follow = [self._followers(state) for state in range(len(self.classes))]
        self.atoms = _atoms([*self.classes, *(mask for edges in self.follow for e in edges for mask in e.condition)])

    def _state(self, characters: int) -> int:
        self.classes.append(characters)
        self._edges[len(self.classes) - 1] = []
        return len(self.classes) - 1

    def _followers(self, state: int) -> list[Edge]:
        """The states that read next, or the end, each with a condition on the position in between."""
        found, seen, stack = [], set(), [Edge(state)]
        while stack:
            at = stack.pop()
            for edge in self._edges[at.target]:
                before = at.condition.before & edge.condition.before
                following = Edge(edge.target, Condition(before, at.condition.behind & edge.condition.behind))
                if following in seen:
                    continue
                seen.add(following)
                if self.classes[edge.target] or edge.target == self.end:
                    found.append(following)
                else:
                    stack.append(following)
        return found

    # -- construction ----------------------------------------------------------------------------

    def _sequence(self, items: Any) -> tuple[int, int]:
        into = out = self._state(0)
        for item in items:
            first, last = self._item(*item)
            self._edges[out].append(Edge(first))
            out = last
        return into, out

    def _item(self, code: Any, given: Any) -> tuple[int, int]:
        if (characters := self._characters(code, given)) is not None:
            into, reads = self._state(0), self._state(characters)
            self._edges[into].append(Edge(reads))
            return into, reads
        if code is codes.BRANCH:
            return self._either([self._sequence(branch) for branch in given[1]])
        if code is codes.SUBPATTERN:
            return self._sequence(given[3])
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, getattr(codes, "POSSESSIVE_REPEAT", None)):
            return self._repeated(*given)
        if code is getattr(codes, "ATOMIC_GROUP", None):
            return self._sequence(given)
        if code is codes.GROUPREF_EXISTS:
            return self._either([self._sequence(part or []) for part in given[1:]])
        into, out = self._state(0), self._state(0)
        for condition in self._conditions(code, given):
            self._edges[into].append(Edge(out, condition))
        return into, out

    def _either(self, parts: list[tuple[int, int]]) -> tuple[int, int]:
        into, out = self._state(0), self._state(0)
        for first, last in parts:
            self._edges[into].append(Edge(first))
            self._edges[last].append(Edge(out))
        return into, out

    def _repeated(self, least: int, most: int, body: Any) -> tuple[int, int]:
        into = out = self._state(0)
        if least:
            into, out = self._sequence(body)
        end = self._state(0)
        self._edges[out].append(Edge(end))
        if most != least:
            first, last = self._sequence(body)
            self._edges[out].append(Edge(first))
            self._edges[last].append(Edge(end))
            if most is codes.MAXREPEAT:
                self._edges[last].append(Edge(first))
        return into, end

    def _characters(self, code: Any, given: Any) -> int | None:
        if code is codes.LITERAL:
            return self._literal(given)
        if code is codes.NOT_LITERAL:
            return _EVERY & ~self._literal(given)
        if code is codes.ANY:
            return _EVERY if self._flags & re.DOTALL else _EVERY & ~_BITS["\n"]
        if code is not codes.IN:
            return None
        negated = given[0][0] is codes.NEGATE
        found = 0
        for kind, value in given[negated:]:
            if kind is codes.LITERAL:
                found |= self._literal(value)
            elif kind is codes.RANGE:
                for character in _CHARACTERS:
                    if value[0] <= ord(character) <= value[1]:
                        found |= self._literal(ord(character))
            else:
                found |= self._category(value)
        return _EVERY & ~found if negated else found

    def _literal(self, number: int) -> int:
        character = chr(number)
        both = {character.lower(), character.upper()} if self._flags & re.IGNORECASE else {character}
        return sum(_BITS.get(one, _BITS["²"]) for one in both)

    def _category(self, category: Any) -> int:
        text = _WORDS.get(category) or _OTHERS[category]
        flags = re.ASCII if self._bytes or self._flags & re.ASCII else 0
        return sum(bit for character, bit in _BITS.items() if re.fullmatch(text, character, flags))

    def _conditions(self, code: Any, given: Any) -> list[Condition]:
        word = self._category(codes.CATEGORY_WORD)
        other = _EVERY & ~word
        if code is codes.AT:
            at = {
                codes.AT_BOUNDARY: [Condition(word, other | _EDGE), Condition(other | _EDGE, word)],
                codes.AT_NON_BOUNDARY: [Condition(word, word), Condition(other | _EDGE, other | _EDGE)],
                codes.AT_BEGINNING_STRING: [Condition(before=_EDGE)],
                codes.AT_BEGINNING: [Condition(before=_EDGE | (_BITS["\n"] if self._flags & re.MULTILINE else 0))],
                codes.AT_END: [Condition(behind=_BITS["\n"] | _EDGE)],
                codes.AT_END_STRING: [Condition(behind=_EDGE)],
            }
            return at[given]
        if code not in (codes.ASSERT, codes.ASSERT_NOT):
            return [Condition()]
        direction, body = given
        single = list(body)
        characters = self._characters(*single[0]) if len(single) == 1 else None
        if characters is None:
            return [Condition()]
        held = characters if code is codes.ASSERT else (_EVERY | _EDGE) & ~characters
        return [Condition(behind=held) if direction > 0 else Condition(before=held)]

    # -- reading ---------------------------------------------------------------------------------

    def after(self, state: int, last: int, atom: int) -> list[int]:
        """The states that read one character after this one."""
        return [
            edge.target
            for edge in self.follow[state]
            if edge.condition.before & last and edge.condition.behind & self.classes[edge.target] & atom
        ]

    def ends(self, state: int, last: int, following: int) -> bool:
        """Whether the text up to a state is a match, between these characters."""
        return any(
            edge.target == self.end and edge.condition.before & last and edge.condition.behind & following
            for edge in self.follow[state]
        )

    def may_fail(self, state: int, loop: frozenset[int]) -> bool:
        """Whether some character leaves a loop without leading to a match, so that all iterations were in vain."""
        return any(
            not self.ends(state, _EVERY, following) and loop.isdisjoint(self.after(state, _EVERY, following))
            for following in (*self.atoms, _EDGE)
        )

    def components(self) -> dict[int, frozenset[int]]:
        """The states of each loop, by state."""
        below = {state: self._reachable(state) for state in range(len(self.classes)) if self.classes[state]}
        return {
            state: frozenset(other for other in reached if state in below.get(other, ()))
            for state, reached in below.items()
            if state in reached
        }

    def _reachable(self, state: int) -> set[int]:
        found: set[int] = set()
        stack = [state]
        while stack:
            new = {edge.target for edge in self.follow[stack.pop()]} - found
            found |= new
            stack += new
        return found


def _atoms(classes: Iterable[int]) -> list[int]:
    """Sets of characters that no class distinguishes."""
    atoms = [_EVERY]
    for characters in set(classes):
        atoms = [part for atom in atoms for part in (atom & characters, atom & ~characters) if part]
    return atoms


def ambiguity(pattern: re.Pattern[Any], *, searched: bool = True) -> str | None:
    """A text that two loops of the pattern can match repeatedly, if that may be in vain."""
    automaton = Automaton(pattern, searched=searched)
    loops = automaton.components()
    for one, other in product(loops, loops):
        if one == other or not automaton.may_fail(other, loops[other]):
            continue
        found = _read_both_ways(automaton, one, other, loops[one], loops[other])
        if found is not None and _in_vain(automaton, one, found):
            return "".join(map(_shown, found))
    return None


def _in_vain(automaton: Automaton, one: int, repeated: list[int]) -> bool:
    """Whether, after many repetitions, no match contains the last of them."""
    if one == automaton.loop:
        starts = [
            (automaton.begin, _EDGE if not place else repeated[place - 1], place) for place in range(len(repeated))
        ]
    else:
        starts = [(one, repeated[-1], 0)]
    return any(_stays_unmatched(automaton, *start, repeated) for start in starts)


def _stays_unmatched(automaton: Automaton, start: int, last: int, place: int, repeated: list[int]) -> bool:
    text = repeated * 4
    alive = {start}
    for number in range(place, len(text)):
        following = text[number]
        alive = {
            target for state in alive for target in automaton.after(state, last, following) if target != automaton.loop
        }
        last = following
        late = number >= len(text) - len(repeated)
        if late and any(automaton.ends(state, last, _EVERY) for state in alive):
            return False
    return bool(alive)


def _read_both_ways(
    automaton: Automaton, one: int, other: int, first: frozenset[int], last: frozenset[int]
) -> list[int] | None:
    """A text that leads from the first state to itself and to the other one, and from that to itself."""
    goal = (one, other, other)
    for atom in automaton.atoms:
        if not (automaton.classes[one] & automaton.classes[other] & atom):
            continue
        seen: dict[tuple[int, ...], list[int]] = {(one, one, other, atom): []}
        stack = list(seen)
        while stack:
            state = stack.pop()
            *places, read = state
            for following in automaton.atoms:
                for target in product(*(automaton.after(place, read, following) for place in places)):
                    reached = (*target, following)
                    if target[0] not in first or target[2] not in last or reached in seen:
                        continue
                    seen[reached] = [*seen[state], following]
                    if target == goal:
                        return seen[reached]
                    stack.append(reached)
    return None


def _shown(atom: int) -> str:
    return next(character for character, bit in reversed(_BITS.items()) if bit & atom)
