"""Ask the user, with answers to pick from."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from joey.actions import Action, AskUser
from joey.effects import QuestionAsked, Suggestion
from joey.messages import ToolResult
from joey.tools.base import Params, Tool, ToolContext, failed, ok
from joey.tools.display import Display
from joey.wire import JsonObject

_SUGGEST = re.compile(r"""<suggest(?:\s+mode=["']([^"']*)["'])?\s*>(.*?)</suggest>""", re.DOTALL)

Words = Annotated[str, StringConstraints(min_length=1)]


class SuggestedAnswer(BaseModel):
    """One suggested answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Words = Field(description="A complete answer the user could give, without placeholders to fill in.")
    mode: str | None = Field(None, description="Slug of the mode to switch to when the user picks this answer.")


class AskFollowupQuestionParams(Params):
    question: Words = Field(description="The question: one thing, clear without further context.")
    follow_up: tuple[SuggestedAnswer, ...] = Field(
        min_length=1, max_length=4, description="One to four answers to pick from, the best first."
    )


class AskFollowupQuestion(Tool[AskFollowupQuestionParams]):
    name = "ask_followup_question"
    display = Display(("question",), role="question")
    group = "always"
    params = AskFollowupQuestionParams
    field_aliases = {"suggestions": "follow_up", "options": "follow_up"}
    example = {
        "question": "Which port should the server listen on?",
        "follow_up": [{"text": "8080"}, {"text": "Take it from the PORT environment variable."}],
    }

    def adapted(self, arguments: JsonObject) -> JsonObject:
        """Answers as plain strings, or as the `<suggest>` tags of older prompts."""
        answers = arguments.get("follow_up")
        if isinstance(answers, str) and (tags := _SUGGEST.findall(answers)):
            read = [{"text": text.strip(), "mode": mode or None} for mode, text in tags]
        elif isinstance(answers, list):
            read = [{"text": each} if isinstance(each, str) else each for each in answers]
        else:
            return arguments
        return {**arguments, "follow_up": read}

    def actions(self, params: AskFollowupQuestionParams, context: ToolContext) -> tuple[Action, ...]:
        return (AskUser(),)

    async def run(self, params: AskFollowupQuestionParams, context: ToolContext) -> ToolResult:
        unknown = {answer.mode for answer in params.follow_up if answer.mode} - set(context.modes)
        if unknown and context.modes:
            return failed(f"There is no mode {min(unknown)!r}. Modes: {', '.join(context.modes)}.")
        suggestions = tuple(Suggestion(answer.text, answer.mode) for answer in params.follow_up)
        effect = QuestionAsked(params.question, suggestions)
        return ok("The question was put to the user.", effect=effect)
