"""`ackclock._core` as WebAssembly, where there is no native library or it is asked for.

`ACKCLOCK_ENGINE=portable` asks for it. Both give equal results.
"""

import sys

from ackclock.base.chosen import NAME

if NAME == "portable":
    from ackclock.engine import portable

    sys.modules["ackclock._core"] = sys.modules["ackclock"].__dict__["_core"] = portable
