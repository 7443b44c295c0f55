"""Joey in an editor: the Agent Client Protocol, version 1, over standard input and output.

    joey acp  ◄── one JSON-RPC message a line ──►  Zed, JetBrains, Neovim, Emacs, Toad, …

`connection` reads and writes messages, `projection` turns the events of a task into updates, `session` runs the task of
one session, `agent` serves the methods. A session is a task: its id is the task's, so what was begun in the editor is
resumed in the terminal, and the other way round.
"""
