"""What builds the wheel runs this: the cases of the labs go into it without the hidden ones."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PublicCases(BuildHookInterface[Any]):
    """A hook of hatchling."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the public cases in the place of all."""
        if version == "editable":  # it is the checkout
            return
        root = Path(self.root)
        # zoolab itself cannot be imported here: what it needs is not installed where wheels are built.
        spec = spec_from_file_location("handout", root / "tools" / "handout.py")
        assert spec is not None
        assert spec.loader is not None
        handout = module_from_spec(spec)
        spec.loader.exec_module(handout)
        self.folder = TemporaryDirectory()
        for cases in sorted(root.glob("labs/*/cases.py")):
            public = Path(self.folder.name, f"{cases.parent.name}.py")
            public.write_text(handout.public_cases(cases.read_text(encoding="utf-8")), encoding="utf-8")
            build_data["force_include"][str(public)] = f"zoolab/_labs/{cases.parent.name}/cases.py"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was made for it."""
        if version != "editable":
            self.folder.cleanup()
