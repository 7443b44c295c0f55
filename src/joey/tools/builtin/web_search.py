"""Search the web through the endpoint that the user configured: SearXNG, or whatever speaks its JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Self
from urllib.parse import urlencode, urlsplit

from pydantic import Field

from joey.actions import Action, FetchUrl
from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json
from joey.frames import enclosed, one_line
from joey.messages import ToolResult
from joey.tools.base import Params, Tool, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.options import BuiltinOptions

MAX_RESULTS = 10
_MAX_EXCERPT = 400


class WebSearchParams(Params):
    query: str = Field(min_length=1, max_length=400, description="What to search for.")


class WebSearch(Tool[WebSearchParams]):
    name = "web_search"
    display = Display(("query",), kind="search")
    group = "browser"
    params = WebSearchParams
    feature = "web_search"
    field_aliases = {"q": "query"}
    example = {"query": "sqlite full text search prefix query"}

    def __init__(self, endpoint: str = "") -> None:
        self._endpoint = endpoint

    @classmethod
    def configured(cls, options: BuiltinOptions) -> Self:
        return cls(options.search_url or "")

    def actions(self, params: WebSearchParams, context: ToolContext) -> tuple[Action, ...]:
        return (FetchUrl(self._url(params.query)),)

    async def run(self, params: WebSearchParams, context: ToolContext) -> ToolResult:
        from joey.tools.fetching import Fetcher, FetchError  # noqa: PLC0415 - an HTTP client: only who fetches pays

        try:
            page = await Fetcher(context.permissions.may_fetch).fetch(self._url(params.query))
            found = read_json(page.text) if page.status == 200 else None
        except (FetchError, FormatError) as error:
            return failed(f"The search failed: {error}")
        results = found.get("results") if isinstance(found, dict) else None
        if not isinstance(results, list):
            return failed(f"The search failed: the endpoint answered HTTP {page.status} without a list of results")
        lines = "\n\n".join(_lines(results[:MAX_RESULTS]))
        return ok(f"{enclosed('search', lines or '(nothing was found)', query=params.query)}\nweb_fetch reads a page.")

    def _url(self, query: str) -> str:
        joint = "&" if urlsplit(self._endpoint).query else "?"
        return f"{self._endpoint}{joint}{urlencode({'q': query, 'format': 'json'})}"


def _lines(results: list[object]) -> Iterator[str]:
    for result in results:
        if isinstance(result, dict) and isinstance(result.get("url"), str):
            title, excerpt = (one_line(str(result.get(name) or "")) for name in ("title", "content"))
            yield f"{title or '(no title)'}\n{one_line(result['url'])}\n{excerpt[:_MAX_EXCERPT]}".rstrip()
        else:
            yield f"(a result of another shape: {json.dumps(result)[:80]})"
