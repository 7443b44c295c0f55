"""Where a reply is not as the template writes it: what is read all the same, what is not, and how an answer says so."""

from __future__ import annotations

import pytest

from joey.app.parsing import reply_as_json
from joey.protocols import Reply, collect, get
from joey.protocols.dialects.table import DIALECTS
from joey.testing import check_laws, read
from joey.toolspec import ToolSpec

TOOLS = (ToolSpec("save", "", {"type": "object", "properties": {"path": {"type": "string"}}}),)


def replies(name: str, text: str) -> Reply:
    """The reply, which is the same whole and by character."""
    whole, by_character = (read(get(name).parser(TOOLS), pieces) for pieces in ([text], list(text)))
    check_laws(whole, text, with_reasoning=True)
    assert collect(whole) == collect(by_character)
    return collect(whole)


BARE_INVOKE = '<invoke name="save"><parameter name="path">a</parameter></invoke>'


@pytest.mark.parametrize("before", ["", "I save it.\n", "I save it: ", "So:"])
def test_a_call_without_its_wrapper_is_read(before: str) -> None:
    for name in ("dots", "minimax_m2", "function_calls"):
        assert [call.arguments for call in replies(name, before + BARE_INVOKE).calls] == [{"path": "a"}]


@pytest.mark.parametrize("before", ["tion_call>", "<b>So</b>", "word"])
def test_a_call_without_its_wrapper_in_the_middle_of_a_word_or_behind_a_torn_tag_is_text(before: str) -> None:
    for name in ("dots", "minimax_m2", "function_calls"):
        reply = replies(name, f"{before}{BARE_INVOKE} and go on.")
        assert reply.calls == () and reply.text == f"{before}{BARE_INVOKE} and go on."


@pytest.mark.parametrize("name", ["glm45", "glm47", "ling3", "poolside_v1", "hy_v4", "spark25", "iquest_q1"])
def test_arguments_without_a_name_before_them_are_one_malformed_call(name: str) -> None:
    calls = DIALECTS[name].calls
    opener, closer = calls.open[0], calls.close[0]  # type: ignore[union-attr]
    for space in ("", "\n"):
        text = f"{opener}{space}<arg_key>path</arg_key>{space}<arg_value>a</arg_value>{space}{closer}"
        reply = replies(name, text)
        assert reply.calls == () and [call.source for call in reply.malformed] == [text]
    assert replies(name, f"{opener} opens a call.").malformed == ()


def test_a_name_without_a_value_is_left_out_if_the_tool_declares_no_such_argument() -> None:
    text = "<tool_call>save<arg_key>path</arg_key><arg_value>a</arg_value><arg_key>verbose</arg_key></tool_call>"
    (call,) = replies("glm47", text).calls
    assert call.arguments == {"path": "a"} and call.repairs == ("the argument 'verbose' has no value",)
    only = "<tool_call>save<arg_key>path</arg_key></tool_call>"
    assert replies("glm47", only).calls == () and len(replies("glm47", only).malformed) == 1
    for cut in range(len(text)):
        assert replies("glm47", text[:cut]).calls == ()


def test_a_type_that_is_closed_but_was_not_opened_makes_the_call_malformed() -> None:
    text = "<ifm|tool_call>save<ifm|arg_key>path</ifm|arg_key>%s<ifm|arg_value>1</ifm|arg_value></ifm|tool_call>"
    (call,) = replies("k2_horizon", text % "<ifm|arg_type>string</ifm|arg_type>").calls
    assert call.arguments == {"path": "1"}
    torn = replies("k2_horizon", text % "</ifm|arg_type>")
    assert torn.calls == () and [call.name for call in torn.malformed] == ["save"]


def test_null_for_arguments_is_what_the_servers_make_of_it() -> None:
    hermes = '<tool_call>\n{"name": "save", "arguments": null}\n</tool_call>'
    assert [call.arguments for call in replies("hermes", hermes).calls] == [{}]
    assert [call.arguments for call in replies("ernie45", hermes).calls] == [None]
    assert [call.arguments for call in replies("ernie45", hermes.replace(', "arguments": null', "")).calls] == [{}]


def test_a_closer_that_closes_nothing_is_markup_or_what_the_server_says() -> None:
    text = "<tool_call>save<arg_key>path</arg_key><arg_value>a</arg_value></tool_call></tool_call>"
    assert replies("glm47", text).text == ""
    assert replies("spark25", text).text == "</tool_call>"


@pytest.mark.parametrize(("name", "kind"), [("hermes", "text"), ("ernie45", "malformed_call")])
def test_a_call_that_cannot_be_read_is_text_where_the_servers_leave_it_so(name: str, kind: str) -> None:
    text, protocol = '<tool_call>{"name": "save",', get(name)
    reply = replies(name, text)
    assert [call.name for call in reply.malformed] == ["save"]
    content = reply_as_json(reply, (), in_dialect=True, broken_as_text=protocol.broken_as_text)["content"]
    assert [(part["type"], part.get("text", part.get("source"))) for part in content] == [(kind, text)]
