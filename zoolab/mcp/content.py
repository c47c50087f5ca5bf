"""What an MCP call gave, as the value of a tool; pictures and files are named, never poured out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.errors import ExecutionFailed
from zoolab.jsontext import visible
from zoolab.mcp.process import one_line

if TYPE_CHECKING:
    from mcp_types import CallToolResult

MAX_ERROR = 2_000


def value_of(result: CallToolResult) -> Any:
    """The structured value of a result if it has one, else its text; raises `ExecutionFailed` for an error.

    >>> from mcp_types import CallToolResult, ImageContent, TextContent
    >>> image = ImageContent(data="R0lGODlh", mime_type="image/gif")
    >>> print(value_of(CallToolResult(content=[TextContent(text="Look:"), image])))
    Look:
    [image of type image/gif, 6 bytes, not shown]
    """
    text = "\n".join(_words(block) for block in result.content)
    if result.is_error:
        raise ExecutionFailed(visible(text[:MAX_ERROR]) or "the server says that it failed, and not why")
    return text if result.structured_content is None else result.structured_content


def _words(block: Any) -> str:
    if block.type == "text":
        return str(block.text)
    if block.type == "resource_link":
        return f"[resource {one_line(block.uri)}, {_bytes(block.size)}, not fetched]"
    if block.type == "resource":
        return _resource(block.resource)
    return (
        f"[{block.type} of type {one_line(block.mime_type, 80)}, {_bytes(_decoded(block.data))}, not shown]"
    )


def _resource(resource: Any) -> str:
    size = _decoded(resource.blob) if hasattr(resource, "blob") else len(resource.text.encode())
    return f"[resource {one_line(resource.uri)}, {_bytes(size)}, not shown]"


def _decoded(base64: str) -> int:
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def _bytes(size: int | None) -> str:
    return "of unknown size" if size is None else f"{size:,} bytes"
