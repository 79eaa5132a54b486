"""The command `ackclock explore`."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.console import SCENARIOS, Output, app, one_line_errors, out


@app.command("explore", rich_help_panel=SCENARIOS)
def explore_command(
    output: Output = None,
    host: Annotated[
        str,
        typer.Option(
            help="Listen on this address of the machine, for other machines.", metavar="ADDRESS"
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Listen on this port (default: 8721, or a free one)."),
    ] = None,
) -> None:
    """Open a page in which scenarios run and their curves grow.

    Examples:
        ackclock explore
        ackclock explore -o results --port 9000

    Open the address that it prints; it ends in a token that is new at each start. The page keeps
    its runs in the directory's folder `explore` (default: out/explore), and opens the figures,
    sweeps and scorecards of that directory. docs/explore.md shows the page, and docs/security.md
    who can use it.
    """
    from ackclock.explore import server  # noqa: PLC0415 (slow to import)

    with one_line_errors():
        server.serve(output or Path("out"), host, port, out.print)


@app.command("mcp", rich_help_panel=SCENARIOS)
def mcp_command() -> None:
    """Serve a program that speaks the Model Context Protocol, on standard input and output.

    Examples:
        ackclock mcp

    Its tools are list_algorithms, run, evaluate and attack. A C file comes as its text, and runs in
    a process of its own. docs/evaluate.md says how a search calls ackclock.
    """
    from ackclock.programs import server  # noqa: PLC0415 (slow to import)

    with one_line_errors():
        server.serve()
