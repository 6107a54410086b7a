"""`python -m drumline.demo`: plays the demo in a new temporary folder, which is kept unless `--clean` is given."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import click

from drumline.cli.output import say
from drumline.demo.play import Play, tell
from drumline.demo.project import make_project
from drumline.errors import DrumlineError


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--clean", is_flag=True, help="Remove the folder at the end.")
def command(clean: bool) -> None:
    """Run a small plan in a temporary repository, with an agent that plays a script."""
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="drumline-demo-"))
    try:
        Play(project=make_project(folder), kept=not clean).perform()
    except DrumlineError as error:
        say(f"the demo stopped: {error}")
        say(f"  next: {error.hint}")
        sys.exit(1)
    finally:
        _leave(folder, clean=clean)
    tell(f"The demo took {time.monotonic() - began:.0f} s.")


def _leave(folder: Path, *, clean: bool) -> None:
    if clean:
        shutil.rmtree(folder)
        tell("", f"Removed {folder}.")
    else:
        tell("", f"Everything is in {folder}; remove it when you like.")


if __name__ == "__main__":
    command()
