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
        self.upstreams: list[socket.socket] = []
        self.threads: list[Thread] = []
        self._run(self._accept)

    def _run(self, work: object, *args: object) -> None:
        thread = Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]  # any of the two below
        self.threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.clients.append(client)
                upstream = socket.create_connection(self.server)
                self.upstreams.append(upstream)
                self._run(self._pass, client, upstream, False)
                self._run(self._pass, upstream, client, True)

    def _pass(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if answers and self.swallow.is_set():
                    self.swallowed.set()
                    break
                sink.sendall(data)
        hang_up(sink)

    def cut(self) -> None:
        """Hang up on every client; the server keeps working on what it was sent."""
        for client in self.clients:
            hang_up(client)

    def close(self) -> None:
        """End everything that is still open."""
        hang_up(self.listener)
        for connection in (*self.clients, *self.upstreams):
            hang_up(connection)
        for thread in self.threads:
            thread.join(10)
        for connection in (self.listener, *self.clients, *self.upstreams):
            connection.close()


def hang_up(connection: socket.socket) -> None:
    """Shut a socket down in both directions, if it still is up."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied(host: str, port: int) -> Iterator[Proxy]:
    """Yield a proxy in front of a server."""
    proxy = Proxy(host, port)
    try:
        yield proxy
    finally:
        proxy.close()
