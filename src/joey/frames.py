"""Marks around words in a conversation, which what stands between them cannot write itself.

One message to the model holds words of several authors: the user's, ours, and what files, commands, pages and servers
say. Marks tell them apart: `<user_message>`, `<environment_details>`, `<mentioned name="…">` and so on. Outside words
could hold such a mark as well, close the frame they are in and go on in another's name. So every mark in them is broken
by a backslash behind its first character: `</user_message>` reads `<\\/user_message>`. That is visible, the meaning is
clear, and it can be undone exactly, since a mark that already has backslashes gets one more.

Names that are ours alone are broken wherever they stand, and so are those in which the user speaks. Names that much
code has (`<input>`) only where they begin a line, as our own marks always do. Text without marks stays as it is.
"""

from __future__ import annotations

import re

# Patterns are texts, which Python compiles where they are first used, and keeps: most programs start without them.
_UNSEEN = "[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{0,8}"
"""What may stand inside a mark and still let it pass for one."""
_OURS = rf"{_UNSEEN}/?{_UNSEEN}(?:environment_details|user_message|feedback|answer|mentioned)\b"
_ANYWHERE = rf"(?i)<(?=\\*{_OURS})"
_BROKEN_ANYWHERE = rf"(?i)<\\(?=\\*{_OURS})"
_BREAKS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_LINE_START = rf"((?:\A|[{_BREAKS}])[ \t\u200b\ufeff]{{0,200}})"
_COMMON = r"(?:/?(?:input|command|skill)[ \t]{0,8}>|(?:command|skill)[ \t]{1,8}name[ \t]{0,8}=)"
_AT_LINE_START = rf"(?i){_LINE_START}<(?=\\*{_COMMON})"
_BROKEN_AT_LINE_START = rf"(?i){_LINE_START}<\\(?=\\*{_COMMON})"
_HEADING = rf"(?i){_LINE_START}\[(?=\\*Tool (?:Use|Result)\b)"
_SECTION = "^([ \t\u200b\ufeff]{0,200})(?=\\\\*(?:#|Server ))"


def neutral(text: str) -> str:
    """Words of somebody else, with every mark of ours in them broken."""
    if "<" not in text:
        return text
    return re.sub(_AT_LINE_START, r"\1<\\", re.sub(_ANYWHERE, r"<\\", text))


def original(text: str) -> str:
    """What `neutral` was given: for text that a model copies from what it was shown into an edit."""
    if "<\\" not in text:
        return text
    return re.sub(_BROKEN_AT_LINE_START, r"\1<", re.sub(_BROKEN_ANYWHERE, "<", text))


def framed(name: str, text: str, /, **attributes: str) -> str:
    """Words in a frame of this name, which they cannot close."""
    named = "".join(f' {key}="{_attribute(value)}"' for key, value in attributes.items())
    return f"<{name}{named}>\n{neutral(text)}\n</{name}>"


def enclosed(name: str, text: str, /, **attributes: str) -> str:
    """Words of somebody else in the result of a tool, in a frame whose name is not ours: they cannot close it. Marks of
    ours in them are broken when the result enters the conversation."""
    inner = re.sub(rf"<(?=\\*{_UNSEEN}/{_UNSEEN}{name}\b)", r"<\\", text, flags=re.IGNORECASE)
    named = "".join(f' {key}="{_attribute(value)}"' for key, value in attributes.items())
    return f"<{name}{named}>\n{inner}\n</{name}>"


def below_heading(text: str) -> str:
    """Words that stand below a heading such as `[Tool Result]`, with lines broken that would pass for another."""
    return re.sub(_HEADING, r"\1[\\", text) if "[" in text else text


def in_prompt(text: str) -> str:
    """Words of a server in a prompt of ours: they begin no section of it, and speak for nobody else."""
    return "\n".join(re.sub(_SECTION, r"\1\\", line) for line in neutral(text).splitlines())


def one_line(text: str) -> str:
    """The words in a single line."""
    return " ".join(text.split())


def _attribute(value: str) -> str:
    return one_line(value).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


# Back to what the user typed


def users_words(text: str) -> str:
    """The user's own words in a message of theirs, without what Joey added; empty where it is all Joey's."""
    text = text.strip()
    if text.startswith("<environment_details>") or text.endswith("(This message is automatic; do not answer it.)"):
        return ""
    return own_words(whole_message(text))


def whole_message(text: str) -> str:
    """A message of the user's out of its frame, with what was added below their words."""
    found = re.search(_ANSWER, text.strip())
    return original(found[2]).strip() if found else text.strip()


def unframed(text: str) -> str:
    """A result that ends with words of the user's, for a person: without the tags around them."""
    found = re.search(_ANSWER, text.strip())
    return f"{text.strip()[: found.start()]}{original(found[2]).strip()}" if found else text


def own_words(text: str) -> str:
    """What the user typed, without what was added below it."""
    return re.split(_ADDED, text)[0].strip()


def is_users_answer(text: str) -> bool:
    """Whether the result of a call is what the user said to it."""
    return bool(re.search(_ANSWER, text.strip()))


_ADDED = r'(?:\A|\n\n)<(?:(?:mentioned|command|skill) name="|input>\n)'
"""What Joey added for a mention or a command of the user's stands behind their words, and so does what was piped in."""
_ANSWER = r"(?s)<(user_message|feedback|answer)>(.*)</\1>\Z"
