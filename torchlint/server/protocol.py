"""JSON-RPC as pygls speaks it, where every request is answered: with an error if it cannot be understood.

pygls logs a message whose types are wrong and does not answer it, so that its client would wait for ever.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol

from torchlint.server.texts.uris import is_wellformed

log = logging.getLogger(__name__)


class _Refused(NamedTuple):
    """A message that is not what the protocol demands."""

    message: dict[str, Any]
    error: JsonRpcException


class AnsweringProtocol(LanguageServerProtocol):
    """The protocol with an answer for each request; notifications that cannot be understood are logged."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message as its type; this is called for every object in it as well."""
        if "jsonrpc" not in data:
            return data
        if data.get("method") == types.INITIALIZED:
            data = data | {"params": {}}  # they say nothing, and the server waits for this message
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            return _Refused(data, self._reason(data, error))

    def _reason(self, data: dict[str, Any], error: JsonRpcException) -> JsonRpcException:
        """Why a message has no type."""
        method = data.get("method")
        if not isinstance(method, str) or not _is_id(data.get("id", "")):
            return JsonRpcInvalidRequest("Invalid Request: the method must be text, and the id text or a number")
        try:
            self._get_handler(method)
        except JsonRpcException as unknown:
            return unknown
        if isinstance(error, JsonRpcInvalidParams):
            return JsonRpcInvalidParams(f"Invalid Params: {method} needs others")
        return JsonRpcInvalidRequest(f"Invalid Request: {method}")

    def handle_message(self, message: Any) -> None:
        """Handle a message, unless it is wrong or comes at a wrong time."""
        if isinstance(message, _Refused):
            self._refuse(message.message, message.error)
        elif getattr(message, "jsonrpc", None) != self.VERSION:
            self._refuse(message, JsonRpcInvalidRequest("Invalid Request: it must be one object of JSON-RPC 2.0"))
        elif hasattr(message, "method") and (error := self._wrong(message)) is not None:
            self._refuse(message, error)
        else:
            super().handle_message(message)

    def _wrong(self, message: Any) -> JsonRpcException | None:
        """Why a request or notification cannot be handled now; None if it can."""
        if not _is_id(getattr(message, "id", "")):
            return JsonRpcInvalidRequest("Invalid Request: the id must be text or a number")
        if self._shutdown and message.method != types.EXIT:
            return JsonRpcInvalidRequest("Invalid Request: the server is shutting down")
        if self._workspace is None and message.method not in (types.INITIALIZE, types.EXIT):
            return JsonRpcServerNotInitialized("Server Not Initialized")
        uri = _uri(getattr(message, "params", None))
        if uri is not None and not is_wellformed(uri):
            return JsonRpcInvalidParams(f"Invalid Params: {uri[:200]!r} is not the URI of a document")
        return None

    def _refuse(self, message: Any, error: JsonRpcException) -> None:
        """Answer a request by an error; end the wait for a response that cannot be understood."""
        log.error("%s: %.300r", error, message)
        fields = _fields(message)
        number = fields.get("id") if _is_id(fields.get("id")) else None
        if "result" in fields or "error" in fields or ("method" not in fields and number in self._request_futures):
            self._handle_response(number, error=error.to_response_error())  # type: ignore[arg-type]
        elif "id" in fields or "method" not in fields:
            self._send_response(number, error=error.to_response_error())  # type: ignore[arg-type]

    def refuse_text(self, error: ValueError) -> None:
        """Answer something that is no JSON; which request it was is unknown."""
        self._refuse(None, JsonRpcParseError(f"Parse Error: {error}"))


def _fields(message: Any) -> dict[str, Any]:
    """The fields of a message that tell whether it is a request, a notification or a response."""
    names = ("id", "method", "result", "error")
    if isinstance(message, dict):
        return {name: message[name] for name in names if name in message}
    return {name: getattr(message, name) for name in names if hasattr(message, name)}


def _is_id(value: object) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _uri(params: Any) -> str | None:
    """The URI of the document that a message is about."""
    document = getattr(params, "text_document", None) or getattr(params, "notebook_document", None)
    uri = getattr(document, "uri", None)
    return uri if isinstance(uri, str) else None
