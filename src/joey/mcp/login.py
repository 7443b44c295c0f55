"""One sign-in: connect to a server in the browser, and see that it lets us in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mcp.client.auth import OAuthFlowError

from joey.mcp.config import ServerConfig
from joey.mcp.errors import CallError, ErrorOutput
from joey.mcp.oauth import LoginError, browser_auth
from joey.mcp.session import open_session


async def log_in(config: ServerConfig, show: Callable[[str], None]) -> int:
    """How many tools the server has, once the user has signed in. Raises LoginError."""
    words, shown = ErrorOutput(), list[str]()

    def seen(url: str) -> None:
        shown.append(url)
        show(url)

    try:
        async with (
            browser_auth(config, seen) as auth,
            open_session(config, words, lambda: None, auth) as session,
        ):
            tools = len((await session.listing()).tools)
    except Exception as error:  # noqa: BLE001 - whatever a server or the SDK does is a reason in words
        raise _as_login_error(config, error, words) from None
    if not shown:
        raise LoginError(f"{config.name} lets everybody in: there is nothing to sign in to")
    return tools


def _as_login_error(config: ServerConfig, error: BaseException, words: ErrorOutput) -> LoginError:
    """The reason that matters, out of the groups that it comes wrapped in."""
    found = [*_leaves(error)]
    ours = next((each for each in found if isinstance(each, LoginError)), None)
    if ours is not None:
        return ours
    theirs = next((each for each in found if isinstance(each, (OAuthFlowError, CallError))), found[0])
    detail = f" ({words.tail})" if words.tail else ""
    return LoginError(f"the sign-in at {config.target} failed: {str(theirs) or type(theirs).__name__}{detail}")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error
