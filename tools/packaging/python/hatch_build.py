"""Names the systems that the wheel is for, and what it shares: manual pages and completions."""

import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        processor = os.environ["DUOLOGUE_PROCESSOR"]
        # The program is static, so it needs neither glibc nor musl. These are the oldest versions that a tag can name for both.
        build_data["tag"] = f"py3-none-manylinux2014_{processor}.manylinux_2_17_{processor}.musllinux_1_1_{processor}"
        build_data["pure_python"] = False
        for folder in ["man", "bash-completion", "zsh", "fish"]:
            for file in sorted(Path(self.root, "share", folder).rglob("*")):
                if file.is_file():
                    build_data["shared_data"][str(file)] = file.relative_to(self.root).as_posix()
