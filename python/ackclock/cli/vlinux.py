"""The command of `ackclock` for Linux in virtual time: `vlinux build`."""

from ackclock.cli.console import Commands, app, err, one_line_errors, out, progress_bar

vlinux = Commands(help="Linux in virtual time: build it once, then run scenarios `--on vlinux`.")
app.add_typer(vlinux, name="vlinux", rich_help_panel="The kernel")


@vlinux.callback()
def _group() -> None:
    """Linux in virtual time: build it once, then run scenarios `--on vlinux`."""


@vlinux.command("build")
def build_command() -> None:
    """Build the virtual Linux from Debian's kernel source: once, 5 minutes of a processor.

    Example:
        ackclock vlinux build && ackclock run examples/two_cubic.toml --on vlinux

    As root on Debian it installs the packages that it needs. What it builds is kept in
    ~/.cache/ackclock/vlinux, 350 MB (docs/vlinux.md).
    """
    from ackclock.hosts.vlinux import build  # noqa: PLC0415 (only this command needs it)

    with one_line_errors():
        with progress_bar("building Linux") as progress:
            built = build.build(progress, say=err.print)
        out.print(f"built: {built.directory}")
