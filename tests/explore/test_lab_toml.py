"""The page without a server reads scenario files as Python's tomllib does."""

import json
import shutil
import subprocess
import tomllib

import pytest

from common import ROOT

STATIC = ROOT / "python" / "ackclock" / "explore" / "static"
READ = f"""
import {{ readFileSync }} from "node:fs";
import {{ readTOML }} from "{STATIC}/lab/read_toml.js";
const read = (text) => {{
  try {{ return [readTOML(text)]; }} catch (error) {{ return error.message; }}
}};
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(read)));
"""
ODD = [
    "",
    "# nothing",
    'a = "x\\ty\\u00e9\\U0001F600 # no comment" # a comment',
    "a = 'C:\\n'\r\nb.c.d = 1\nb.c.e = [1, [2.5, 'x'], # more\n  {f = true, g = -1e3,h='}'} , ]",
    'a = """\nlines\n"of" \\\n   one"""\nb = \'\'\'\nx\\\n\'\'\'',
    "[a]\nb = 0x1F\nc = 1_000\n[[a.d]]\ne = 1\n[[a.d]]\ne = 2\n[a.d.f]\ng = 3\n[[a.d]]\nh = 4",
    '"a b" = 1\n[ x . "y.z" ]\nc-d_1 = +7\ne = 5.0',
]
WRONG = {
    "a = 1\nb = 20mbit": 'line 2: 20mbit is not a value: write a text in quotes, "20mbit"',
    "\n\nrtt = 'x": "line 3: a text is not closed: \" or ' expected",
    "a = 1 2": "line 1: the end of the line expected",
    "a = 1\na = 2": "line 2: a stands there twice",
    "[a]\n[a]": "line 2: [a] stands there twice",
    "a = [1 2]": "line 1: , or ] expected",
    "[[flow]\na = 1": "line 1: ]] expected",
    "a": "line 1: = expected",
    "a.b = 1\n[[a]]": "line 2: a is not a list of tables",
    "a =": "line 1: a value expected",
    '= "x"': "line 1: a key expected",
}


@pytest.mark.skipif(not shutil.which("node"), reason="no Node.js here: apt-get install nodejs")
def test_scenario_files_are_read_as_python_reads_them():
    files = [
        path.read_text(encoding="utf-8")
        for folder in ("examples", "python/ackclock/explore/gallery", "docs", "tests")
        for path in sorted((ROOT / folder).rglob("*.toml"))
    ]
    assert len(files) > 20
    texts = [*ODD, *files, *WRONG]
    done = subprocess.run(
        ["node", "--input-type=module", "-e", READ],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    for text, read in zip(texts, found, strict=True):
        assert read == (WRONG[text] if text in WRONG else [tomllib.loads(text)]), text
    for text in WRONG:
        with pytest.raises(tomllib.TOMLDecodeError):
            tomllib.loads(text)
