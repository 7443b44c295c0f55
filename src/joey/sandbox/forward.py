"""Inside a sandbox: pass every connection to a port of the loopback on to a unix socket, where Joey's proxy listens.

    python -I -S forward.py PORT SOCKET

It is started by the process inside like any command, and runs by itself: nothing of Joey's can be imported.
"""

from __future__ import annotations

import _socket
import os
import sys
import threading

_CHUNK = 65536


def main(port: int, path: str) -> None:
    server = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    server.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen(128)
    os.write(1, b"listening\n")
    while True:
        descriptor, _address = server._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - `_socket` has no other
        threading.Thread(target=_serve, args=(_socket.socket(fileno=descriptor), path), daemon=True).start()


def _serve(client: _socket.socket, path: str) -> None:
    proxy = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        proxy.connect(path)
    except OSError:
        client.close()
        return
    back = threading.Thread(target=_copy, args=(proxy, client), daemon=True)
    back.start()
    _copy(client, proxy)
    back.join()
    client.close()
    proxy.close()


def _copy(source: _socket.socket, target: _socket.socket) -> None:
    try:
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(_socket.SHUT_WR)
    except OSError:
        return


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
