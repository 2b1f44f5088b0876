"""A TCP proxy that cuts a connection at the worst moment."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread


class Proxy:
    """Pass bytes on until told to cut: before the server's next answer reaches the client, or at once."""

    def __init__(self, host: str, port: int) -> None:
        self.server = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self.swallow = Event()
        self.swallowed = Event()
        self.clients: list[socket.socket] = []
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                upstream = socket.create_connection(self.server)
                self.clients.append(client)
                Thread(target=self._pass, args=(client, upstream, False), daemon=True).start()
                Thread(target=self._pass, args=(upstream, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if answers and self.swallow.is_set():
                    self.swallowed.set()
                    self._hang_up(sink)
                    return
                sink.sendall(data)

    @staticmethod
    def _hang_up(client: socket.socket) -> None:
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        client.close()

    def cut(self) -> None:
        """Hang up on every client; the server keeps working on what it was sent."""
        for client in self.clients:
            self._hang_up(client)


@contextmanager
def proxied(host: str, port: int) -> Iterator[Proxy]:
    """Yield a proxy in front of a server."""
    proxy = Proxy(host, port)
    try:
        yield proxy
    finally:
        proxy.cut()
        proxy.listener.close()
