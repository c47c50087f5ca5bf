"""What goes wrong over HTTP, each as the end of a sentence that begins with the server."""

from __future__ import annotations

import httpx2

from zoolab_connect.mcp.listing import safe_line

#: Marks the errors that zoolab itself answers in place of a server.
OWN = "zoolab/fault"
#: What to do after an answer with this status, whose headers tell more.
ADVICE = {401: "pass a valid token with headers= or --key", 429: "wait, and then call again"}
_FAULTS: tuple[tuple[type[Exception], str], ...] = (
    (httpx2.SSEError, ""),  # raised by zoolab: the text is the end of a sentence
    (httpx2.TimeoutException, "did not answer in time"),
    (httpx2.ConnectError, "could not be reached"),
    (httpx2.ProxyError, "could not be reached through the proxy"),
    (httpx2.UnsupportedProtocol, "has an address that cannot be used"),
    (httpx2.InvalidURL, "has an address that cannot be used"),
    (httpx2.RemoteProtocolError, "broke off its answer"),
    (httpx2.NetworkError, "broke off the connection"),
    (Exception, "could not be asked"),
)
_EVENTS = "SSE stream "
_FAILED = f"{_EVENTS}failed: "
_NOT_READ = "Failed to parse SSE message: "


def fault_of(error: Exception) -> str:
    """Return what an error of the HTTP client says of the server.

    >>> fault_of(httpx2.ConnectError("All connection attempts failed"))
    'could not be reached: All connection attempts failed'
    >>> fault_of(httpx2.ReadTimeout(""))
    'did not answer in time'
    """
    begin = next(words for kind, words in _FAULTS if isinstance(error, kind))
    return ": ".join(filter(None, (begin, safe_line(str(error))))) or type(error).__name__


def refusal_of(came: httpx2.Response) -> str:
    """Return what an answer with an error status says: its status, what the headers ask for, and its text."""
    what = f"answered {came.status_code} {came.reason_phrase}".rstrip()
    if came.next_request is not None:
        to = came.next_request.url.copy_with(userinfo=b"", query=None, fragment=None)
        return f"{what}: a redirect to {safe_line(str(to), 120)}, which is not followed"
    if came.status_code == 401:
        challenge = safe_line(came.headers.get("www-authenticate", ""), 200)
        what += ": it wants a token" + (f" (WWW-Authenticate: {challenge})" if challenge else "")
    if wait := safe_line(came.headers.get("retry-after", ""), 40):
        what += f" (Retry-After: {wait})"
    said = safe_line(came.text[:400], 80)
    return f"{what}: {said}" if said else what


def broken_off(told: str) -> str:
    """Return what the official client tells of a stream of events that broke off; empty if it tells another
    thing.

    >>> broken_off("SSE stream ended without a response")
    'broke off its answer: the stream of events ended without a response'
    >>> broken_off("no such tool")
    ''
    """
    if told.startswith(_NOT_READ):
        broken = "Invalid JSON: EOF" in told
        return "broke off its answer" if broken else "sent an event that is not an MCP message"
    why = told.removeprefix(_FAILED)
    if why.startswith("sent "):  # said by zoolab
        return safe_line(why)
    if told.startswith(_EVENTS):
        return f"broke off its answer: {safe_line(f'the stream of events {told.removeprefix(_EVENTS)}')}"
    return "closed the connection" if told == "Connection closed" else ""
