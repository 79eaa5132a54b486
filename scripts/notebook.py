"""Runs docs/notebook.ipynb anew, as Jupyter would: `make notebook`.

The cells run one after the other in one namespace. What a cell prints, and the value of its last
line, become its outputs. No Jupyter is needed.
"""

import ast
import contextlib
import io
import json
from pathlib import Path

NOTEBOOK = Path(__file__).parent.parent / "docs" / "notebook.ipynb"


def executed(notebook):
    """The notebook with the outputs of its code cells."""
    namespace = {"__name__": "__main__"}
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        number = 1 + sum(each["cell_type"] == "code" for each in cells)
        outputs = list(_outputs("".join(cell["source"]), namespace, number))
        cells.append({**cell, "execution_count": number, "outputs": outputs})
    return {**notebook, "cells": cells}


def _outputs(source, namespace, number):
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)  # noqa: S102
        value = last and eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)  # noqa: S307
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        yield {"output_type": "stream", "name": "stdout", "text": text}
    if value is not None:
        data = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": value._repr_html_().splitlines(keepends=True)}
        yield {
            "output_type": "execute_result",
            "execution_count": number,
            "metadata": {},
            "data": data,
        }


def markdown(notebook):
    """The notebook as a page of the site."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "text/html" in data:
                html = "".join(data["text/html"]).replace("\n\n", "\n")
                parts.append(f'<div class="output">\n{html}\n</div>')
            else:
                text = "".join(output.get("text", data.get("text/plain")))
                parts.append(f"```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def main():
    notebook = executed(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    NOTEBOOK.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
