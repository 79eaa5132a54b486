"""What Linux is given of a file in the kernel's form."""

import pytest

from ackclock import AckclockError
from ackclock.scenario import snapshot


def test_linux_is_given_every_text(tmp_path):
    """Whatever the simulator can run of it, and whatever #if says of a header."""
    (tmp_path / "tcp_mine.c").write_text("""
#include <net/tcp.h>
#ifdef CONFIG_MINE
#include "lib/mine.h"
#endif
static struct tcp_congestion_ops mine = { .ssthresh = no_host_has_this, .name = "mine" };
""")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/mine.h").write_text('#include "deeper.h"\n#include "missing.h"\n')
    (tmp_path / "lib/mine.c").write_text('#include "mine.h"\n')
    (tmp_path / "lib/deeper.h").write_text("")
    spec = f"{tmp_path}/tcp_mine.c@mine:beta=5,steps[1]=-7"
    code = snapshot.current()
    sources, beside, chosen, settings = code.kernel_module(spec)
    names = [str(path.relative_to(tmp_path)) for path, _ in sources]
    assert names == ["tcp_mine.c", "lib/mine.h", "lib/mine.c", "lib/deeper.h"]
    assert beside == [tmp_path / "lib/mine.c"]
    assert (chosen, settings) == ("mine", [("beta", "5"), ("steps[1]", "-7")])
    assert code.configure(spec, as_module=True)["name"] == "mine"
    with pytest.raises(AckclockError, match="no_host_has_this"):
        code.configure(spec)
    assert code.kernel_module("cubic:beta=0.5") is None
