"""What fills the window, as a bar and a list: a pure function, for the terminal and the command line."""

from __future__ import annotations

from joey.task.request import PARTS, ContextView

_WIDTH = 60
_SIGNS = dict(zip(PARTS, "SITΣMRFCP+#", strict=True))
_FREE = "·"


def context_lines(view: ContextView) -> str:
    """The window with each part as its letter, and the parts in numbers."""
    whole = max(view.window or view.used, view.used, 1)
    about = "" if view.counted else "about "
    of = f" of {view.window:,} tokens ({_share(view.used, view.window)})" if view.window else " tokens"
    return "\n".join([f"Context: {about}{view.used:,}{of}", f"  [{_bar(view, whole)}]", *_rows(view, whole)])


def _bar(view: ContextView, whole: int) -> str:
    """Each part as wide as its share. What is rounded away from one part is made good by the next."""
    bar, reached = "", 0
    for part, tokens in view.parts:
        reached += tokens
        bar += _SIGNS[part] * (round(_WIDTH * reached / whole) - len(bar))
    return bar.ljust(_WIDTH, _FREE)


def _rows(view: ContextView, whole: int) -> list[str]:
    free = [("free", view.window - view.used)] if view.window and view.window > view.used else []
    rows = ((_SIGNS.get(part, _FREE), part, tokens) for part, tokens in (*view.parts, *free))
    return [f"  {sign} {part:<22} {tokens:>9,}  {_share(tokens, whole):>5}" for sign, part, tokens in rows]


def _share(tokens: int, whole: int) -> str:
    return f"{100 * tokens / whole:.0f} %"
