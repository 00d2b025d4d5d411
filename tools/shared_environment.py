"""Make the one virtual environment that all leaderboards are made in, once, whoever asks first.

    python tools/shared_environment.py FOLDER REQUIREMENTS

Tox gives every environment a folder of its own; a hundred leaderboards would install torch a
hundred times. This one is made again where the requirements, the metadata of a package or Python
changed.
"""

import fcntl
import subprocess
import sys
import venv
from hashlib import sha256
from pathlib import Path

STAMP = "requirements.sha256"


def wanted(requirements: Path) -> str:
    """What the environment depends on: versions, and the metadata of editable packages."""
    digest = sha256(sys.version.encode())
    text = requirements.read_text(encoding="utf-8")
    digest.update(text.encode())
    for line in text.splitlines():
        if line.startswith("-e "):
            project = requirements.parent / line.removeprefix("-e ").strip() / "pyproject.toml"
            digest.update(project.read_bytes())
    return digest.hexdigest()


def make(folder: Path, requirements: Path) -> bool:
    """Make the environment where it is not there; return whether it was made."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others wait for who came first
        stamp = folder / STAMP
        digest = wanted(requirements)
        if stamp.exists() and stamp.read_text() == digest:
            return False
        print(f"installing {requirements} into {folder}", flush=True)
        venv.create(folder, clear=True, with_pip=True, symlinks=True)
        python = folder / "bin" / "python"
        command = [python, "-m", "pip", "install", "--quiet", "-r", requirements.name]
        subprocess.run(command, check=True, cwd=requirements.parent)
        stamp.write_text(digest)
        return True


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]).resolve())
