"""Starts the server: its threads, its streams and its log."""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import BinaryIO

from torchlint.server.features import register
from torchlint.server.language_server import Server
from torchlint.server.worker import Worker

_PATIENCE = 2.0  # seconds for the file that is being linted when the server ends


def run() -> int:
    """Serve until the client ends the server or closes the connection; returns the exit status.

    It is 0 after the request for ``shutdown``, and 1 otherwise, as the protocol demands.
    """
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(name)s: %(message)s")
    # Clients cancel requests that are answered already; pygls warns of that.
    logging.getLogger("pygls").setLevel(logging.ERROR)
    worker = Worker()
    server = Server(worker)
    register(server)
    output = _own_output()

    def serve() -> None:
        try:
            server.start_io(sys.stdin.buffer, output)
        finally:
            worker.stop()
            end = threading.Timer(_PATIENCE, os._exit, (_status(server),))
            end.daemon = True
            end.start()

    threading.Thread(target=serve, name="protocol", daemon=True).start()
    worker.run()
    return _status(server)


def _status(server: Server) -> int:
    return 0 if server.asked_to_end else 1


def _own_output() -> BinaryIO:
    """The standard output for the protocol alone; what anything else prints goes to standard error."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return output
