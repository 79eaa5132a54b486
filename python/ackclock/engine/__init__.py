"""Which engine `ackclock._core` is: a native library, or WebAssembly where there is none.

`ACKCLOCK_ENGINE=portable` asks for WebAssembly. Both give equal results.
"""

import os
import sys
from importlib.util import find_spec

#: "native" or "portable".
NAME = os.environ.get("ACKCLOCK_ENGINE") or (
    "native" if find_spec("ackclock._core") is not None else "portable"
)
if NAME == "portable":
    from ackclock.engine import portable

    sys.modules["ackclock._core"] = sys.modules["ackclock"].__dict__["_core"] = portable
elif NAME != "native":
    sys.exit(f'error: ACKCLOCK_ENGINE = "{NAME}": choose native or portable')
