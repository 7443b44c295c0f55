"""What a dialect is: a frame and a call grammar, as data.

A reply is read in two layers. The *frame* says what is text, what is reasoning and where calls are; the *call grammar*
reads one call. There are four of them, and `Channels` for models that write their reply as messages with headers.

A field of several markers (`Marks`) names the one that the model's template writes first; the others are read too,
because models drift to them. Markers are literal text. A line break at the outer end of a marker belongs to the markup
if it is there, and is not missed if it is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Marks: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the calls."""

    think: tuple[str, str] | None = None
    """Reasoning markers, with the line breaks that the template writes."""
    more_think: tuple[tuple[str, str], ...] = ()
    """Other pairs that are read."""
    think_in_prompt: bool = False
    """Whether the prompt may end with the opening marker, so that the reply begins inside reasoning."""
    call_ends_think: bool = False
    """Whether a call's opener ends reasoning that was not closed."""
    think_ends: Marks = ()
    """Other markers that end reasoning that was not closed."""
    removed: Marks = ()
    """Wrappers of text: no part of it."""
    sep: str = ""
    """What the template writes between text and the first call."""
    section: tuple[Marks, Marks] = ((), ())
    """Around all calls of a turn. Models leave it out, so it is not missed."""
    stops: Marks = ()
    """Tokens that end the turn; a server may leave the last one in the text."""
    stray_closers: bool = False
    """Whether a closer that closes nothing is text behind a call too, as the model's server says."""


@dataclass(frozen=True, slots=True)
class Json:
    """JSON with the name inside: an object, an array of them, or one after another."""

    open: Marks = ()
    """Before the JSON; none for the bare form, which is a call only if it names a tool."""
    close: Marks = ()
    names: Marks = ("name",)
    arguments: Marks = ("arguments", "parameters")
    id: Marks = ()
    keyed: bool = False
    """Whether a call is `{name: arguments}`."""
    bare: bool = False
    fenced: bool = False
    """Whether a bare call may stand in a code fence."""
    between: str = ""
    """What may stand between two bare calls."""
    null: bool = False
    """Whether arguments that are null stay null, as the model's server says; else they are none."""


@dataclass(frozen=True, slots=True)
class NamedJson:
    """A header with the name, then the arguments as one JSON object."""

    open: Marks
    header: str
    """A regular expression of the header, with the groups `name` and perhaps `id`."""
    args: Marks
    """Between header and arguments."""
    close: Marks = ()
    brace: bool = True
    """Whether a brace ends the header too."""
    guess: bool = False
    """Whether headers drift: see `named_json`."""
    known_only: bool = False
    """Whether the opener is plain text that occurs in prose: the name must be one of the tools."""
    prompt_opens: bool = False
    """Whether the first opener stands in the prompt."""
    text_name: str = ""
    """The name that says that text follows, not a call."""
    null: bool = False
    """Whether arguments that are null stay null, as the model's server says; else they are none."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the text of a value may stand for, where the servers of a model agree on something unusual. What stands for
    nothing else stays text."""

    literal: bool = False
    """Whether a value is JSON, or else a literal of Python, and nothing else: not `TRUE`, not `03`."""
    python: bool = True
    """Whether Python literals are read: objects and lists, and with `literal` the constants too."""
    bits: bool = False
    """Whether 1 and 0 are booleans."""
    whole: bool = False
    """Whether an integer is digits and nothing else: not `3.0`."""
    quotes: bool = True
    """Whether a number or boolean in quotes is the string in them; else the quotes stay."""
    any_null: bool = False
    """Whether null may be written in any case."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """A header with the name, then one element per argument."""

    open: Marks
    name_end: Marks
    close: Marks
    key: Marks
    key_end: Marks
    value_end: Marks
    wrap: tuple[Marks, Marks] = ((), ())
    """Around each call."""
    value: Marks = ()
    """Between key and value, if the key has an element of its own."""
    kind: tuple[str, str] | None = None
    """An element between key and value that names the type."""
    trim: bool = False
    """Whether one line break at each side of a value belongs to the markup."""
    typing: Literal["schema", "attribute"] = "schema"
    python: bool = False
    """Whether the template writes Python literals: `None` is null even where a string may stand."""
    reading: Reading = Reading()
    cdata: bool = False
    """Whether the template itself writes CDATA blocks; elsewhere such a block is a string, whatever the schema says."""
    own_tags: bool = False
    """Whether each argument stands under a tag of its own name."""
    nested: bool = False
    """Whether objects and lists are written as nested elements."""
    loose: bool = True
    """Whether the opener is plain text that occurs in prose: without its wrapper it must name a tool."""

    def written_key(self, key: str) -> str:
        """The name of an argument as it stands in its opener: escaped where it is an attribute."""
        is_attribute = self.key[0].endswith(("name=", " "))
        return key.replace("&", "&amp;").replace('"', "&quot;") if is_attribute else key


@dataclass(frozen=True, slots=True)
class Function:
    """`name(key=value, …)`, or `call:name{key:value,…}`."""

    open: Marks = ()
    close: Marks = ()
    list: bool = True
    """Whether calls stand in square brackets."""
    call: str = ""
    """What stands before each name."""
    brackets: str = "()"
    equals: str = "="
    quotes: Marks = ("'", '"')
    raw_quotes: bool = False
    """Whether strings hold no escapes: they end at the closing quote that is followed by the rest of a call."""
    escaped: bool = False
    """Whether every value is a string whose schema says what it is."""
    bare: bool = False
    lines: bool = False
    """Whether calls stand on lines of their own."""
    literals: Literal["python", "json"] = "python"
    json_objects: bool = False
    """Whether objects are JSON among Python literals."""


@dataclass(frozen=True, slots=True)
class Channels:
    """A reply of messages: a header that says to whom, `message`, a body, an end."""

    start: Marks
    """What a header may begin with, where a message is expected."""
    start_anywhere: Marks
    """Those of them that are special tokens: they begin a header wherever they stand."""
    message: Marks
    ends: Marks
    body: Json | NamedJson | Tagged
    recipient: str
    """A regular expression of the header with the group `name`: the message is a call."""
    reasoning: str
    """A regular expression of headers whose message is reasoning; all others are text."""
    start_in_text: Marks = ()
    """What begins a header in the middle of text too, where the model left out what stands before it."""


Grammar: TypeAlias = Json | NamedJson | Tagged | Function | Channels


@dataclass(frozen=True, slots=True)
class Dialect:
    """One row of the table."""

    name: str
    calls: Grammar
    frame: Frame = field(default_factory=Frame)
    models: str = ""
    """Which models write it."""
    template: str = ""
    """The dialect whose declaration it shares."""
    broken_as_text: bool = False
    """Whether the model's servers leave a call that cannot be read in the text: then an answer in their form does."""

    @property
    def engine(self) -> str:
        """The name of its call grammar."""
        return {
            Json: "json",
            NamedJson: "named_json",
            Tagged: "tagged",
            Function: "function",
            Channels: "channels",
        }[type(self.calls)]
