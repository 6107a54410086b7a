"""An MCP server with one tool, by which an agent asks a person: `python -m drumline.agents.asktool FILE`.

The rule: it only notes the question, as the line that an agent could have ended with, and sends the agent home.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from drumline.core.blocked import LONGEST, find_question

ANSWER = "A person will be asked; end your turn now."
REFUSAL = f"ask one question in at most {LONGEST} characters; options, if any, are texts"


def note_question(file: Path, question: str, options: list[str] | None = None) -> str:
    """Add a question to the file, and say what comes next; ValueError for one that nobody could answer."""
    line = json.dumps({"blocked": question, "options": options or []}, ensure_ascii=False)
    if not find_question(line):
        raise ValueError(REFUSAL)
    with file.open("a", encoding="utf-8") as notes:
        notes.write(f"{line}\n")
    return ANSWER


def serve(file: Path) -> None:
    """Serve the tool over standard input and output until the agent leaves."""
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    server = MCPServer("drumline")

    @server.tool()
    def ask_person(question: str, options: list[str] | None = None) -> str:
        """Ask the person in charge, if you cannot go on without their decision. Say all that is needed to answer.

        The answer does not come back from this call: end your turn, and it will be in your next task.
        """
        try:
            return note_question(file, question, options)
        except ValueError as error:
            # Of any other error the agent would only hear that there was one.
            raise ToolError(str(error)) from error

    server.run("stdio")


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
