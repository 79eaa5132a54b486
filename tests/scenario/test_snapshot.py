"""What names a result."""

from ackclock import Scenario
from common import ROOT

FIELDS = {
    "duration": "1s",
    "rtt": "10ms",
    "bottleneck": {"rate": "10mbit", "buffer": "1bdp"},
}


def test_a_key_has_the_code_of_a_file_and_not_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, most in (("one", 2), ("two", 3)):
        (tmp_path / name).mkdir()
        text = (ROOT / "examples" / "my_cc.c").read_text().replace("1024, 2)", f"1024, {most})")
        (tmp_path / name / "my_cc.c").write_text(text)

    def key(*paths):
        return Scenario.parse(
            FIELDS | {"flow": [{"algorithm": f"{path}:beta=0.7"} for path in paths]}
        ).key()

    assert key("one/my_cc.c") == key("./two/../one/my_cc.c") == key(tmp_path / "one" / "my_cc.c")
    assert key("one/my_cc.c") != key("two/my_cc.c")
    assert key("one/my_cc.c", "two/my_cc.c") != key("two/my_cc.c", "one/my_cc.c")
