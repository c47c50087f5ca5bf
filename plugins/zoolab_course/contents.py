"""The files that `zoolab lab` shows in JupyterLab: to open a notebook does not change it."""

from __future__ import annotations

from typing import Any

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager


class Contents(AsyncLargeFileManager):
    """Jupyter's own files, and each Python notebook with the language that its kernel is about to report.

    JupyterLab writes that into the notebook when the kernel starts, with Python's version, and then takes
    the notebook for changed unless it was there already.
    """

    async def get(self, path: str, *given: Any, **more: Any) -> Any:
        """Return a file or a folder, as Jupyter's contents API describes it."""
        model = await super().get(path, *given, **more)  # type: ignore[no-untyped-call]
        if model["type"] == "notebook" and model["content"]:
            metadata = model["content"]["metadata"]
            if metadata.get("language_info", {}).get("name") == "python":
                metadata["language_info"] = dict(IPythonKernel.language_info)
        return model
