"""What kind of request it is, by plain rules: to answer, to run, to write, to move files about.

A small model that is asked a question changes files, and one that is to change them explains how. So what a request
demands is read off its words in advance: each sentence by the verb it begins with, once what is polite was taken off.
A sentence of no known kind that names what is wrong ("it should print 80") asks for a change. Where nothing is
recognized, nothing is demanded, and the model decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_POLITE = re.compile(
    r"^(?:(?:please|now|then|and|also|next|finally|first|afterwards|ok|hi|hello|hey|joey|can|could|would|will|you|i|we"
    r"|want|need|like|d|to|kindly|just|have|be|able|it|if so|use python to|in \S+\.\w+)\b[\s,:'’!-]*)+",
    re.IGNORECASE,
)
_FILE_FIRST = re.compile(r"^[\w/-]+\.\w+(?=\s)")
"""`report.py prints …` does not ask for a report."""
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|,?\s+(?:and|then|but)\s+(?:then\s+)?(?=[a-z]+\b)|\n+", re.IGNORECASE)
_ASKS = re.compile(
    r"(what|which|who|whose|whom|where|why|how|tell|explain|describe|list|count|say|report|summari[sz]e|sum \w+|compare"
    r"|name|give me|state|answer|look|check whether|find (?!out why|the (?:mistake|bug|error|problem)))\b",
    re.IGNORECASE,
)
_EXPLAINS = re.compile(
    r"(?:explain|describe|summari[sz]e)\b|what (?:is|are) \S+ (?:for|about)\b|what (?:does|do) (?:[\w./-]+ ){1,3}do\b",
    re.IGNORECASE,
)
_MAY_ASK = re.compile(r"(when|is|are|was|were|does|do|did|has|have|should)\b", re.IGNORECASE)
"""Begins a question if a question mark ends it, and else a statement."""
_SHOWS = re.compile(r"(show|print|display|output)\b", re.IGNORECASE)
_AS_WELL = re.compile(r"\bin [\w./-]+\.\w+ (as well|too)\b|^\w+ (it|this|them) in [\w./-]+\.\w+", re.IGNORECASE)
"""What is to be shown by a program that does not show it yet."""
_RUNS = re.compile(
    r"(re-?run|run|execute|start|launch|try it|test it|install|commit|calculate|compute|work out)\b", re.IGNORECASE
)
_WRITES = re.compile(
    r"(add|append|build|change|clean|code|convert|correct|create|decrease|define|draft|edit|extend|extract|fill|fix"
    r"|format|generate|implement|improve|increase|insert|let|lower|make|modify|prepend|put|raise|refactor|remove|rename"
    r"|reorder|repair|replace|reverse|rewrite|save|set|simplify|sort|split|store|swap|switch|tidy|translate|turn|update"
    r"|give (?!me\b)(?=.*\b(?:parameter|argument|default|docstring|field|key|column|option|method|attribute)\b)"
    r"|wrap|write|move (?=the (?:function|class|method|code|constant|test)))\b",
    re.IGNORECASE,
)
_CREATES = re.compile(r"(build|code|convert|create|draft|generate|make|translate|turn|write)\b", re.IGNORECASE)
"""Makes something new. Files that are there and named with it are what it is made from."""
_MOVES = re.compile(
    r"\b(delete|move(?! the (?:function|class|method|code|constant|test))|copy|duplicate)\b"
    r"|\b(rename|remove)\b[^.]{0,40}\b(file|folder|director|module|package)"
    r"|\b(make|create|add)\b[^.]{0,20}\b(folder|directory)\b"
    r"|\b(rename|remove)\s+(the\s+)?[\w./-]+\.\w+\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"\b(should|must|needs? to|ought|instead of|crash\w*|fails?|failing|wrong|broken|bug|raises|leaves? out"
    r"|does(?: not|n't)|is(?: not|n't)|(?:people|users|customers|everybody|everyone|they|we|readers|visitors)"
    r" (?:also )?(?:want|need|expect|prefer|would like|would rather))\b",
    re.IGNORECASE,
)
_LACKS = re.compile(
    r"\b(?:needs?|should have|must have|gets?) (?:an?|the|another|one|two|three) (?:[\w-]+ ){0,2}"
    r"(?:field|key|column|entry|setting|parameter|option|section|line|method|function|property|attribute|flag)s?\b",
    re.IGNORECASE,
)
"""What a file does not have yet."""
_THING = re.compile(
    r"(an?|the|some)\s+[\w\s-]{0,40}\b(page|script|program|function|class|file|module|game|website|app|test)\b",
    re.IGNORECASE,
)
_WANTS_OUTPUT = re.compile(r"\b(output|prints?|shows?|result)\b|\brun (it|them)\b", re.IGNORECASE)
_OUTPUT_FILE = re.compile(
    r"(?:save|write|store|put|redirect)\w*\s+(?:its|the|their|all)?\s*(?:output|result)s?\s+(?:as|to|in|into)\s+(\S+\w)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Intent:
    """What a request demands. A question may need a command as well; a change, none."""

    asks: bool = False
    """An answer is wanted, in words."""
    explains: bool = False
    """What is there is to be put into words: nothing need be run for it."""
    runs: bool = False
    """Something is to be run."""
    writes: bool = False
    """Files are to be created or changed."""
    moves: bool = False
    """Files or folders are to be deleted, moved, copied or made, which commands do."""
    shows: bool = False
    """What was run is to be shown."""
    outputs: tuple[str, ...] = ()
    """Files that the output of a command goes to."""
    changes: str = ""
    """The sentences that want something written,"""
    edits: str = ""
    """and those of them that want something changed that is there."""

    @property
    def is_question(self) -> bool:
        """Nothing is to be changed or run."""
        return self.asks and not (self.writes or self.moves or self.runs)

    @property
    def keeps_files(self) -> bool:
        """The model itself has no file to write."""
        return (self.asks or self.runs or self.moves) and not self.writes


def intent_of(request: str) -> Intent:
    """What the words of a request demand."""
    sentences = [each.strip() for each in _SENTENCE.split(request) if each.strip()]
    kinds = [_kind(sentence, last=at == len(sentences) - 1) for at, sentence in enumerate(sentences)]
    moves = bool(_MOVES.search(request)) and "ask" not in kinds[:1]
    writes = "write" in kinds and (not moves or _other_writes(sentences, kinds))
    writes = writes or ("wrong" in kinds and not {"ask", "run", "write"} & set(kinds) and not moves)
    runs = "run" in kinds or (writes and "show" in kinds)
    shows = runs and ("show" in kinds or bool(_WANTS_OUTPUT.search(request)))
    asks = "ask" in kinds or ("show" in kinds and not runs)
    outputs = tuple(_OUTPUT_FILE.findall(request)) if runs else ()
    changes = " ".join(text for text, kind in zip(sentences, kinds, strict=True) if kind == "write")
    edits = " ".join(
        text
        for text, kind in zip(sentences, kinds, strict=True)
        if kind == "write" and not _CREATES.match(_POLITE.sub("", text))
    )
    if re.search(r"\bboth\b", request, re.IGNORECASE):
        changes = edits = request
    questions = [text for text, kind in zip(sentences, kinds, strict=True) if kind == "ask"]
    explains = bool(questions) and all(_EXPLAINS.match(_POLITE.sub("", text)) for text in questions)
    explains = explains and not (runs or writes or moves)
    return Intent(asks, explains, runs, writes, moves, shows, outputs, changes, edits)


def _other_writes(sentences: list[str], kinds: list[str]) -> bool:
    """Whether some sentence wants files written, besides those that only want them moved."""
    return any(kind == "write" and not _MOVES.search(text) for text, kind in zip(sentences, kinds, strict=True))


def _kind(sentence: str, *, last: bool) -> str:
    """ask, run, show, write, wrong, or nothing."""
    sentence = _FILE_FIRST.sub("That", sentence)
    words = _POLITE.sub("", sentence) or sentence
    if _ASKS.match(sentence) or _ASKS.match(words) or (sentence.endswith("?") and _MAY_ASK.match(sentence)):
        return "ask"
    if _OUTPUT_FILE.match(words):
        return "run"
    if _SHOWS.match(words) and _AS_WELL.search(words):
        return "write"
    for kind, pattern in (("run", _RUNS), ("show", _SHOWS), ("write", _WRITES)):
        if pattern.match(words):
            return kind
    if re.match(r"(delete|move|copy|duplicate)\b", words, re.IGNORECASE):
        return "move"
    if re.search(r"\b(do not|don't|never|without|keep|leave)\b", words[:20], re.IGNORECASE):
        return ""
    if _WRITES.search(words) and re.match(r"(the|in|find|both|every|each|this)\b", words, re.IGNORECASE):
        return "write" if last or _WRONG.search(words) else ""
    if sentence.endswith("?"):
        return "ask"
    if _LACKS.search(words):
        return "write"
    if _WRONG.search(words):
        return "wrong"
    return "write" if _THING.match(words) else ""
