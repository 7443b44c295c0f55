"""Whether a model stands by its answer.

What a question over files asks for cannot be checked by running anything, and a small model answers wrongly in the same
words as rightly. But what it guessed comes out otherwise when the files are shown in another order. So such a question
is answered twice, and a third time if the two differ; what two of the answers say is the result, and where no two agree
the user is told so, with all of them.

Compared is what an answer takes from the files: names, words and numbers that stand there and not in the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from joey.task.profiles.small.beside import FileBeside
    from joey.task.profiles.small.command_runs import CommandRun

MAX_ANSWERS = 3
_PUT_TOGETHER = "the model put this together from several files, and nothing was run that confirms it."
_BY_THE_MODEL = "the model counted or compared this itself, and nothing was run that confirms it."
_COUNTED = re.compile(r"\b(how (?:many|much|often)|count|number of|sum|total|average|mean)\b", re.IGNORECASE)
_COMPARED = re.compile(
    r"\b((?:the|has|have|had|were|was|with) most|the least"
    r"|(?:few|long|short|larg|small|bigg|high|low|old|new|earli|lat)est"
    r"|(?:max|min)imum)\b",
    re.IGNORECASE,
)
_SPEAKS_OF_FILES = re.compile(
    r"\b(files?|folders?|director(?:y|ies)|names?|modules?|scripts?|documents?)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.?!\n]+(?:[.?!](?=\S)[^.?!\n]+)*")
_LISTS_NAMES = re.compile(
    r"\s*(?:ls|find|tree|echo|printf|pwd)\b(?!.*[|;&]\s*(?:xargs|while|for)\b)(?!.*-exec)", re.DOTALL
)
"""A command that prints names or its own words, and looks into no file."""
_IN_PART = "asked twice, the model gave answers that differ in part."
_YES_OR_NO = re.compile(r"^\s*(yes|no)\b", re.IGNORECASE)
_NAMES = re.compile(r"`([A-Za-z_][\w./-]*)(?:\(\))?`|\b([A-Za-z]\w*_\w+)\b|\b([A-Za-z_]\w*)\(\)")
"""What is certainly meant as a name."""
_WORD = re.compile(r"\w+")
_FILLING = """
a about according after also an and any are as at be been before but by call called calls code contains defined defines
does each either file files following for from function functions given gives has have if import imports in into is it
its line lines module name named no none not of on one only or other out py json txt md returns same set sets so text
that the their them then there these they this to two use used uses using value values was when where which with you
"""
"""Words that say nothing about the answer."""


def facts_in(answer: str, question: str, texts: Iterable[str]) -> frozenset[str]:
    """What an answer states: its words that stand in the files, by name or text, its numbers, and whether it begins
    with yes or no; without what stands in the question."""
    known = {word for text in texts for word in _words(text)}
    taken = {word for word in _words(answer) if word in known or word.isdigit()}
    return frozenset(taken) - _words(question) - _words(_FILLING) | frozenset(
        map(str.lower, _YES_OR_NO.findall(answer))
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))


def agreed(answers: Sequence[str], question: str, texts: Iterable[str]) -> str | None:
    """The first answer with which another agrees."""
    texts = list(texts)
    facts = [facts_in(answer, question, texts) for answer in answers]
    for at, answer in enumerate(answers):
        if any(_same(facts[at], other) for place, other in enumerate(facts) if place != at):
            return answer
    return None


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether at least half of what the shorter answer states is in the other as well, and no other number."""
    numbers = [{word for word in facts if word.isdigit()} for facts in (one, other)]
    agree = numbers[0] <= numbers[1] or numbers[1] <= numbers[0]
    return agree and bool(one) == bool(other) and 2 * len(one & other) >= min(len(one), len(other))


def reservation(answer: str, answers: Sequence[str], question: str, files: Sequence[FileBeside]) -> str | None:
    """Why the user is not to take an answer over several files as verified; None if it stands in the only file that
    the question names."""
    texts = [text for each in files for text in (each.path, each.text)]
    if _differ_in_part([facts_in(each, question, texts) for each in answers]):
        return _IN_PART
    named = [each.text for each in files if each.named]
    return None if len(named) == 1 and _is_read_off(answer, question, named[0]) else _PUT_TOGETHER


def counted_by_the_model(
    answer: str, runs: Iterable[CommandRun], question: str, files: Sequence[FileBeside]
) -> str | None:
    """Why an answer is not verified that has to be counted or compared: no command printed it. What was compared is
    printed if it is all that was: a model picks the wrong one of several lines. A list of names shows nothing of what
    is in the files."""
    compares = bool(_COMPARED.search(question))
    if not compares and not _COUNTED.search(question):
        return None
    of_files = any(
        _SPEAKS_OF_FILES.search(sentence)
        for sentence in _SENTENCE.findall(question)
        if _COMPARED.search(sentence) or _COUNTED.search(sentence)
    )
    printed = [run.output for run in runs if run.output.strip() and (of_files or not _LISTS_NAMES.match(run.command))]
    facts = facts_in(answer, question, [*printed, *(each.text for each in files)]) - {"yes", "no"}
    shown = [each for each in printed if not compares or len(each.strip().splitlines()) == 1]
    if any(facts <= _words(output) for output in shown):
        return None
    is_read_off = not compares and len(files) == 1 and _is_read_off(answer, question, files[0].text)
    return None if is_read_off else _BY_THE_MODEL


def _differ_in_part(facts: Sequence[frozenset[str]]) -> bool:
    """Whether no answer states all that another states."""
    pairs = ((one, other) for at, one in enumerate(facts) for place, other in enumerate(facts) if place != at)
    return not any(one <= other for one, other in pairs)


def _is_read_off(answer: str, question: str, text: str) -> bool:
    """Whether each thing that an answer takes from a file stands there in a line that speaks of the question."""
    facts = facts_in(answer, question, [text])
    sought = _words(question) - _words(_FILLING)
    lines = [_words(line) for line in text.splitlines()]
    return bool(facts) and all(any(fact in line and line & sought for line in lines) for fact in facts)


def unknown_name(answer: str, request: str, texts: Iterable[str]) -> str | None:
    """The first name of code or of a file in an answer that stands nowhere: it is made up."""
    known = "\n".join([request, *texts])
    names = [name for found in _NAMES.finditer(answer) for name in found.groups() if name]
    return next((name for name in names if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", known)), None)


def uncertain(answers: Sequence[str]) -> str:
    """What the user is told of answers of which no two agree."""
    each = "\n".join(f"- {answer.strip()}" for answer in answers)
    return f"There is no certain answer. Asked {len(answers)} times, the model gave different ones:\n{each}"
