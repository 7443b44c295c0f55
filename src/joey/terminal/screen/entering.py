"""Around the input: the menus of `/` and `@`, the list of keys, images, and the user's editor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from textual import work
from textual.content import Content
from textual.widgets import Static

from joey.errors import JoeyError
from joey.system.visible import one_line
from joey.terminal.attachments import Clipboard, ImageFile
from joey.terminal.screen.display import DisplayApp
from joey.terminal.screen.editor import edited, editor_command
from joey.terminal.screen.look import draw_attached
from joey.terminal.screen.menu import draw_menu
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.terminal.session import Session
from joey.terminal.slash import command_hints


class EnteringApp(DisplayApp):
    """Helps the user to type a message."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._files: Sequence[str] = ()
        self._clipboard_images = Clipboard()

    def _insert(self, text: str) -> None:
        self.query_one(Prompt).insert(text)

    def _invite(self, text: str) -> None:
        self.query_one(Prompt).placeholder = text

    def _show_folder(self) -> None:
        self.query_one(Prompt).border_subtitle = Content(one_line(str(self.session.services.place())))
        self._look_for_files()

    def on_prompt_completing(self, message: Prompt.Completing) -> None:
        shown, menu = self.query_one("#completions", Static), message.menu
        hints = command_hints(self.session.services.commands()) if menu.found[:1] and menu.found[0][0] == "/" else {}
        shown.display = bool(menu.found)
        shown.update(draw_menu(menu, hints))

    def on_prompt_wants_keys(self) -> None:
        shown = self.query_one("#shortcuts", Static)
        shown.display = not shown.display

    def on_text_area_changed(self) -> None:
        self.query_one("#shortcuts", Static).display = False
        self.query_one(RequestPanel).show_text(self.query_one(Prompt).text)

    def _candidates(self, sign: str) -> Sequence[str]:
        own = [*command_hints(self.session.services.commands())] if sign == "/" else self._files
        return [*own, *self.session.offered_by_servers(sign)]

    @work(thread=True, exclusive=True, group="files")
    def _look_for_files(self) -> None:
        """Find what can be mentioned, beside everything else: a large folder takes a while."""
        files = ["@" + path.replace("\\", "\\\\").replace(" ", "\\ ") for path in self.session.services.files()]
        self.call_from_thread(self._found_files, files)

    def _found_files(self, files: list[str]) -> None:
        self._files = files
        for prompt in self.query(Prompt):
            prompt.offer_again()

    # Images

    @work(thread=True, exclusive=True, group="clipboard")
    def on_prompt_wants_image(self) -> None:
        try:
            image = ImageFile(self._clipboard_images.image())
        except JoeyError as error:
            self.call_from_thread(self._no_image, str(error))
        else:
            self.call_from_thread(self.query_one(Prompt).attach, [image])

    def _no_image(self, why: str) -> None:
        """Text that was copied here is pasted; otherwise there was nothing to paste."""
        if self.clipboard:
            self.query_one(Prompt).insert(self.clipboard)
        else:
            self._note(why)

    def on_prompt_attached(self, message: Prompt.Attached) -> None:
        shown = self.query_one("#attached", Static)
        shown.display = bool(message.images)
        shown.update(draw_attached([each.label for each in message.images]))

    # The editor

    @work(exclusive=True, group="editor")
    async def action_edit(self) -> None:
        """Ctrl+G: the input in $EDITOR. The task runs on; it is drawn again when the editor is closed."""
        prompt = self.query_one(Prompt)
        try:
            command = editor_command()
            with self._terminal_released():
                text = await edited(prompt.whole_text, command)
        except JoeyError as error:
            self._note(str(error), "error")
        else:
            prompt.put(text)
            prompt.focus()

    @contextmanager
    def _terminal_released(self) -> Iterator[None]:
        """Let another program have the terminal. Without one (in tests) there is nothing to release."""
        if self.is_headless:
            yield
            return
        failed: BaseException | None = None
        with self.suspend(), self.batch_update():
            try:
                yield
            except BaseException as error:  # noqa: BLE001 - it would leave the terminal released for good
                failed = error
        if failed is not None:
            raise failed
