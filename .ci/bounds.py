"""Constraints for pip: the lower bounds of pyproject.toml, or none for the newest."""

import sys
import tomllib
from pathlib import Path


def lower_bounds() -> list[str]:
    """`name==version` for each dependency with a lower bound."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    dependencies: list[str] = tomllib.loads(text)["project"]["dependencies"]
    return [each.replace(">=", "==") for each in dependencies if ">=" in each]


if __name__ == "__main__" and sys.argv[1:] == ["oldest"]:
    print("\n".join(lower_bounds()))
