"""Forms of servers: how they are read, what is declined at once, and how a user fills them in."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from joey.commands import Answer
from joey.events import ApprovalRequested, QuestionRequested, Request
from joey.mcp.elicitation import MAX_FORMS, Elicitation, UnusableFormError, read_form
from joey.mcp.errors import ErrorOutput
from joey.mcp.offer import make_offer
from joey.messages import ShownText
from joey.task.assembly import Assembly
from joey.task.forms import SKIP
from joey.testing.script import reply
from joey.tools.builtin import builtin_tools
from joey.tools.forms import Form, FormField, FormValues
from joey.tools.toolset import build_toolset
from mcp_kit import kit_config, running
from task_kit import Kit, call, done


def schema(**properties: Any) -> dict[str, Any]:
    return {"message": "Please", "requestedSchema": {"type": "object", "properties": properties, "required": ["a"]}}


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"type": "string"}, FormField("a", "text", required=True)),
        ({"type": "integer", "title": "How\nmany"}, FormField("a", "whole", "How many", required=True)),
        ({"type": "number", "description": "x"}, FormField("a", "number", "", "x", required=True)),
        ({"type": "boolean"}, FormField("a", "yes or no", required=True)),
        ({"type": "string", "enum": ["x", "y", 3]}, FormField("a", "one of", required=True, choices=("x", "y"))),
        (
            {"type": "string", "oneOf": [{"const": "x", "title": "X"}]},
            FormField("a", "one of", required=True, choices=("x",), titles=("X",)),
        ),
        (
            {"type": "array", "items": {"anyOf": [{"const": "x"}]}},
            FormField("a", "some of", required=True, choices=("x",)),
        ),
    ],
)
def test_the_kinds_of_values(wanted: dict[str, Any], field: FormField) -> None:
    assert read_form("s", schema(a=wanted)) == Form("the MCP server 's'", "Please", (field,))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"requestedSchema": {"properties": []}},
        schema(a={"type": "object"}),
        schema(a=None),
        schema(a={"type": "string", "enum": [f"value {n}" for n in range(51)]}),
        schema(**{f"f{n}": {"type": "string"} for n in range(21)}),
        *(schema(**{name: {"type": "string"}}) for name in ("password", "apiKey", "api_key", "github_token", "PIN")),
        schema(a={"type": "string", "title": "Your pass phrase"}),
        schema(a={"type": "string", "description": "The secret that you got by mail"}),
        *({"message": "", "url": url} for url in ("http://evil.example/", "javascript:x", "https://a:b@c.d", 3, "")),
    ],
)
def test_what_is_no_form_or_wants_a_secret_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(UnusableFormError):
        read_form("s", params)


@pytest.mark.parametrize("name", ["author", "tokenizer", "max_tokens", "keyboard", "spin", "compass", "assignment"])
def test_words_that_only_resemble_secrets_are_fine(name: str) -> None:
    assert read_form("s", schema(**{name: {"type": "string"}})).fields


# Who is asked


async def test_a_form_outside_of_a_call_is_declined_and_so_are_too_many_in_one() -> None:
    words, forms_seen = ErrorOutput(), list[Form]()

    async def ask(form: Form) -> FormValues | None:
        forms_seen.append(form)
        return {"a": "x"}

    forms = Elicitation("s", words)
    assert await forms.answer(schema(a={"type": "string"})) is None and "while no call ran" in words.tail
    async with forms.during(ask, 5):
        answers = [await forms.answer(schema(a={"type": "string"})) for _ in range(MAX_FORMS + 2)]
    assert [each is not None for each in answers] == [True] * MAX_FORMS + [False] * 2
    assert len(forms_seen) == MAX_FORMS


async def test_the_time_of_a_call_stands_still_while_the_user_thinks() -> None:
    forms, thinking = Elicitation("s", ErrorOutput()), asyncio.Event()

    async def ask(_form: Form) -> FormValues | None:
        await thinking.wait()
        return {}

    async def call_it() -> None:
        async with forms.during(ask, 0.05):
            answering = asyncio.ensure_future(forms.answer(schema()))
            await asyncio.sleep(0.2)
            assert not answering.done(), "longer than the call may take"
            thinking.set()
            assert await answering == {}
            await asyncio.sleep(5)

    with pytest.raises(TimeoutError):
        await call_it()


async def test_a_call_that_is_cancelled_takes_its_form_back() -> None:
    forms, shown = Elicitation("s", ErrorOutput()), asyncio.Event()

    async def ask(_form: Form) -> FormValues | None:
        shown.set()
        await asyncio.sleep(60)
        return {}

    async def call_it() -> None:
        async with forms.during(ask, 60):
            await asyncio.sleep(60)

    calling = asyncio.create_task(call_it())
    await asyncio.sleep(0)
    answering = asyncio.ensure_future(forms.answer(schema()))
    await shown.wait()
    calling.cancel()
    assert await answering is None


async def test_what_looks_like_a_key_is_not_sent_whatever_it_was_asked_for() -> None:
    words = ErrorOutput()

    async def ask(_form: Form) -> FormValues | None:
        return {"a": "sk-ant-0123456789abcdef0123"}

    forms = Elicitation("s", words)
    async with forms.during(ask, 5):
        assert await forms.answer(schema(a={"type": "string"})) is None
    assert "looks like a key" in words.tail and "sk-ant" not in words.tail


# The dialogue

GUESTS = FormField("guests", "whole", "Guests", required=True)
TERRACE = FormField("terrace", "yes or no", "Terrace")
SEAT = FormField("seat", "one of", "Seat", required=True, choices=("bar", "table"))


async def filled_in(
    tmp_path: Path, form: Form, *typed: str | bool, **changes: Any
) -> tuple[FormValues | None, list[Request]]:
    """What comes of a form for a user who answers so."""
    answers, seen = iter(typed), list[Request]()
    assembly: Assembly

    def watch(_task_id: str, event: object) -> None:
        if isinstance(event, ApprovalRequested | QuestionRequested):
            seen.append(event)
            given = next(answers)
            answer = Answer(event.request_id, bool(given), given if isinstance(given, str) else "")
            asyncio.get_running_loop().call_soon(assembly.requests.answer, answer)

    kit = Kit(tmp_path, [], watch=watch, **changes)
    assembly = kit.assemble()
    values = await assembly.toolbox.context().ask_form(form)
    assert next(answers, None) is None, "everything was asked"
    return values, seen


async def test_each_value_is_asked_for_and_everything_is_shown_before_it_is_sent(tmp_path: Path) -> None:
    form = Form("the MCP server 's'", "For how many?", (GUESTS, TERRACE, SEAT))
    values, seen = await filled_in(tmp_path, form, True, "many", "3", "yes", "bar", True)
    assert values == {"guests": 3, "terrace": True, "seat": "bar"}
    first, last = seen[0], seen[-1]
    assert isinstance(first, ApprovalRequested) and first.reason.startswith("the MCP server 's' asks you to fill in")
    assert "Never give it a password" in first.reason and first.always == ()
    again = seen[2]
    assert isinstance(again, QuestionRequested) and again.question.startswith("'many' is not a whole number")
    assert isinstance(last, ApprovalRequested) and last.shown == (ShownText("guests: 3\nterrace: yes\nseat: bar"),)


@pytest.mark.parametrize(
    "typed", [(False,), (True, "decline"), (True, ""), (True, "x", "y", "z"), (True, "1", "skip", "bar", False)]
)
async def test_a_form_can_be_declined_at_every_step(tmp_path: Path, typed: tuple[str | bool, ...]) -> None:
    form = Form("the MCP server 's'", "For how many?", (GUESTS, TERRACE, SEAT))
    values, _ = await filled_in(tmp_path, form, *typed)
    assert values is None


async def test_one_value_is_not_shown_again_before_it_is_sent(tmp_path: Path) -> None:
    form = Form("the MCP server 's'", "Outside?", (TERRACE,))
    assert (await filled_in(tmp_path / "1", form, True, "yes"))[0] == {"terrace": True}
    assert (await filled_in(tmp_path / "2", form, True, SKIP))[0] == {}


async def test_with_nobody_there_a_form_is_declined_without_a_question(tmp_path: Path) -> None:
    assert await filled_in(tmp_path, Form("x", "y", (GUESTS,)), headless=True) == (None, [])


async def test_an_address_is_shown_and_not_opened(tmp_path: Path) -> None:
    values, seen = await filled_in(tmp_path, Form("the MCP server 's'", "Sign in", url="https://a.example/x"), True)
    [request] = seen
    assert values == {} and isinstance(request, ApprovalRequested)
    assert request.shown == (ShownText("Sign in\n\nhttps://a.example/x"),)


async def test_nobody_who_answers_in_time_gives_the_careful_answer(tmp_path: Path) -> None:
    _, seen = await filled_in(tmp_path, Form("x", "y", (TERRACE,)), True, "yes")
    question = seen[1]
    assert isinstance(question, QuestionRequested)
    assert [each.text for each in question.suggestions] == ["decline", "skip", "yes", "no"]


async def test_a_scripted_task_asks_the_user_in_the_middle_of_a_call(tmp_path: Path) -> None:
    typed = iter(["2", "yes", "bar"])

    def user(request: Request) -> Answer:
        text = next(typed) if isinstance(request, QuestionRequested) else ""
        return Answer(request.request_id, yes=True, text=text)

    async with running(kit_config()) as servers:
        offer = make_offer(servers, in_text=False)
        kit = Kit(tmp_path, [reply(call("b", "mcp--kit--book")), done()], user=user)
        tools = (*builtin_tools(), *offer.builtin)
        kit.change(tools=lambda mode: build_toolset(mode, tools, mcp=offer.tools), servers=servers)
        assert (await kit.run("Book a table.")).outcome == "completed"
    result = str(kit.provider.requests[1].messages[-1])
    assert 'accept: {"guests":2,"terrace":true,"seat":"bar"}' in result
    assert "How many are you" not in str(kit.sent), "the form is none of the model's business"
    assert [each.name for each in kit.of(ApprovalRequested)] == ["form", "form"]
