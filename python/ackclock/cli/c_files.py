"""The commands of `ackclock` for a C file itself: import."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.console import SCENARIOS, app, one_line_errors, out


@app.command("import", rich_help_panel=SCENARIOS)
def import_command(
    source: Annotated[
        str,
        typer.Argument(
            help="A congestion control of the Linux kernel, tcp_NAME.c; with @NAME that one of "
            "several in the file.",
            metavar="FILE[@NAME]",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write this file (default: my_NAME.c, here).", metavar="FILE"
        ),
    ] = None,
) -> None:
    """Rewrite a kernel module in ackclock's dialect: one file for three hosts.

    Examples:
        ackclock import tcp_cubic.c
        ackclock import tcp_cubic.c -o my_cc.c && ackclock check my_cc.c

    The module's parameters become parameters: fill in their ranges. The text keeps its comments and
    its licence. What the dialect does not have is one message, and nothing is written.
    """
    from ackclock.dialect import convert  # noqa: PLC0415 (only this command needs it)

    with one_line_errors():
        out.print(f"written: {convert.write(source, output)}")
