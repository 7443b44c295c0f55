"""YAML with bounded nesting and bounded growth.

An alias stands for what its anchor names, which may hold aliases in turn: nine lines can stand for a billion values.
Nothing blows up while YAML is read, since the value is shared, but whoever then walks or prints it walks all of it. So
every node is counted as often as it stands somewhere, and a document has at most MAX_NODES. An alias inside its own
anchor would never end.

Numbers have at most MAX_NUMBER characters: `1:59:59:…` is one in base 60, whose value takes quadratic time.
"""

from __future__ import annotations

from typing import Any

import yaml

from joey.bounded.formats import MAX_DEPTH, FormatError, too_deep

MAX_NODES = 20_000
MAX_NUMBER = 200
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp")


class _Loader(yaml.SafeLoader):
    """Counts what it composes. `sizes`: how many nodes each finished node stands for, by its identity."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.nodes, self.depth = 0, 0
        self.sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            return self._alias(parent, index)
        self._add(1)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise too_deep(self._line())
        before = self.nodes
        node = super().compose_node(parent, index)
        self.depth -= 1
        self.sizes[id(node)] = self.nodes - before + 1
        if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBERS and len(node.value) > MAX_NUMBER:
            raise FormatError(f"a number has more than {MAX_NUMBER} characters; write a shorter one", self._line())
        return node

    def _alias(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        line = self._line()
        node = super().compose_node(parent, index)
        size = self.sizes.get(id(node))
        if size is None:
            raise FormatError("an alias stands inside what it names, which has no end; write it out", line)
        self._add(size)
        return node

    def _add(self, count: int) -> None:
        self.nodes += count
        if self.nodes > MAX_NODES:
            raise FormatError(f"it stands for more than {MAX_NODES:,} values; make it smaller", self._line())

    def _line(self) -> int:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        return int(event.start_mark.line) + 1 if event is not None and event.start_mark else 1


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a text, which know their lines; None if there is nothing. Raises FormatError."""
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        node: yaml.Node | None = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FormatError(str(error.problem or error.context), mark.line + 1 if mark else 1) from None
    except yaml.YAMLError as error:
        raise FormatError(" ".join(str(error).split())) from None
    except RecursionError:
        raise too_deep() from None
    else:
        return node
    finally:
        if loader is not None:
            loader.dispose()


def construct_yaml(node: yaml.Node) -> Any:
    """The value of a node. Raises FormatError for one that has none: an unknown tag, a date that does not exist."""
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise FormatError(str(error.problem), node.start_mark.line + 1) from None
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise FormatError(" ".join(str(error).split()), node.start_mark.line + 1) from None
    finally:
        loader.dispose()


def read_yaml(text: str) -> Any:
    """The value of a text; None if there is nothing. Raises FormatError."""
    node = compose_yaml(text)
    return None if node is None else construct_yaml(node)
