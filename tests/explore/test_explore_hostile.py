"""Requests that no page of ours sends: each is refused, and nothing happens."""

import os
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from ackclock.explore import server as page_server
from ackclock.explore.security import kept_key
from ackclock.hosts.limits import Limits
from explorer import LONG, SHORT, Server

RUN = {"toml": SHORT.format(algorithm="cubic")}


@pytest.fixture
def quiet(server):
    """Checks that no run was started."""
    before = set(server.runs())
    yield server
    assert set(server.runs()) == before


#: The page itself is no secret: it shows nothing until its script names the token.
PUBLIC = ["/", "/static/main.js"]
PATHS = [
    "/api/about",
    "/api/events",
    "/api/kept",
    "/kept/x",
    "/kept/x/",
    "/api/runs/x/rows",
    "/nothing",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer guess", "{token}", "bearer {token}", "Bearer {token} ", "=;;\x7f"],
)
def test_nobody_without_the_token_sees_anything(quiet, path, authorization):
    authorization = authorization and authorization.format(token=quiet.token)
    # A header's value is read without the spaces at its ends.
    right = authorization == f"Bearer {quiet.token} " and not path.startswith("/kept/")
    status = quiet.ask("HEAD", path, authorization=authorization).status
    assert (status != 401) if right else (status == 401)


@pytest.mark.parametrize("where", ["/api/about?token={token}", "/{token}/api/about", "/api/about"])
def test_the_token_is_no_part_of_an_address_and_no_cookie(quiet, where):
    where = where.format(token=quiet.token)
    cookie = f"ackclock-{quiet.port}={quiet.token}; token={quiet.token}"
    assert quiet.ask("GET", where, entered=False, cookie=cookie).status == 401


@pytest.mark.parametrize("path", [*PUBLIC, "/api/about", "/nothing"])
def test_no_answer_tells_the_token(quiet, path):
    for entered in (True, False):
        answer = quiet.ask("GET", path, entered=entered)
        assert answer.headers["set-cookie"] is None
        assert quiet.token.encode() not in answer.body + str(answer.headers).encode()


def test_a_key_opens_its_entry_of_the_results_folder_only(quiet):
    for name in ("mine", "other"):
        (quiet.folder / name / "inner").mkdir(parents=True, exist_ok=True)
        (quiet.folder / name / "inner" / "index.html").write_text(name)
    (quiet.folder / "index.html").write_text("whole")
    key, whole = (kept_key(quiet.token, path) for path in ("mine/inner", "."))

    def status(key, path):
        return quiet.ask("GET", f"/kept/{key}/{path}", entered=False).status

    assert status(key, "mine/inner/index.html") == 200
    for path in (
        "other/inner/index.html",
        "index.html",
        "mine/../other/inner/index.html",
        "mine/%2e%2e/other/inner/index.html",
        "/mine/inner/index.html",
        "",
        "mine%2f../",
    ):
        assert status(key, path) == 401, path
    for path in ("other/inner/index.html", "index.html"):
        assert status(whole, path) == 200, path
        assert status("", path) == status(quiet.token, path) == status("%ff", path) == 401
    # It is no token.
    assert quiet.ask("GET", "/api/about", authorization=f"Bearer {whole}").status == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "localhost:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "",
        None,
    ],
)
def test_another_name_of_this_machine_is_refused(quiet, host):
    """DNS rebinding: a name of the attacker's that resolves to 127.0.0.1."""
    host = host and host.format(port=quiet.port)
    assert quiet.ask("GET", "/api/about", host=host).status in (400, 421)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", None])
def test_another_page_cannot_start_or_stop_a_run(quiet, origin):
    assert quiet.ask("POST", "/api/runs", RUN, origin=origin).status == 403
    assert quiet.ask("DELETE", "/api/runs/any", origin=origin).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_cannot_read(quiet, site):
    assert quiet.ask("GET", "/api/about", sec_fetch_site=site).status == 403
    assert quiet.ask("GET", "/static/main.js", sec_fetch_site=site).status == 403


def test_a_form_of_another_page_cannot_send_json(quiet):
    for kind in ("text/plain", "application/x-www-form-urlencoded", None):
        assert quiet.ask("POST", "/api/runs", RUN, content_type=kind).status == 415


def test_each_answer_confines_the_page(quiet):
    for path in (*PUBLIC, *PATHS):
        if path == "/api/events":
            continue
        headers = quiet.ask("GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "unsafe-inline" not in policy.replace("style-src 'unsafe-inline'", ""), path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["cache-control"] == "no-store", path
        assert headers["cross-origin-resource-policy"] == "same-origin", path
        assert headers["access-control-allow-origin"] is None, path


def test_the_page_has_no_inline_script_and_no_inline_style(quiet):
    page = quiet.ask("GET", "/").body.decode()
    assert page.count("<script") == page.count('<script type="module" src="static/')
    assert "<style" not in page
    assert " style=" not in page
    assert " onclick=" not in page


@pytest.mark.parametrize(
    "path",
    [
        "/kept/../../etc/passwd",
        "/kept/%2e%2e/%2e%2e/etc/passwd",
        "/kept/..%2f..%2fsecret.txt",
        "/kept//etc/passwd",
        "/kept/%2fetc%2fpasswd",
        "/kept/link/secret.txt",
        "/kept/figure/%2e%2e/%2e%2e/secret.txt",
        "/kept/link-to-file.txt",
        "/kept/.hidden/page.html",
        "/kept/page.js",
        "/kept/%00",
        "/kept/" + "a" * 5000,
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/security.py",
    ],
)
def test_no_path_leaves_the_results_folder(quiet, path):
    folder = quiet.folder
    (folder.parent / "secret.txt").write_text("secret")
    (folder / ".hidden").mkdir(parents=True, exist_ok=True)
    (folder / ".hidden" / "page.html").write_text("secret")
    (folder / "page.js").write_text("secret")
    for name, to in (("link", folder.parent), ("link-to-file.txt", folder.parent / "secret.txt")):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(to)
    keyed = path.replace("/kept/", f"/kept/{kept_key(quiet.token, '.')}/", 1)
    answer = quiet.ask("GET", keyed)
    assert answer.status in ((401, 404) if ".." in unquote(path) else (404, 405)), answer.body
    assert b"secret" not in answer.body
    assert b"root:" not in answer.body
    assert quiet.ask("POST", "/api/kept/open", {"path": path.removeprefix("/kept/")}).status == 404


def test_a_kept_page_is_shown_without_its_scripts(quiet):
    (quiet.folder / "figure").mkdir(parents=True, exist_ok=True)
    (quiet.folder / "figure" / "index.html").write_text("<script>alert(1)</script>")
    policy = quiet.ask("GET", quiet.kept("figure/index.html")).headers["content-security-policy"]
    assert policy.startswith("sandbox ")
    assert "allow-scripts" not in policy
    assert "script-src" not in policy
    # Where our script stands beside it, the page may run that: the server's text, at one address.
    (quiet.folder / "figure" / "zoom.js").write_text("alert(1)")
    policy = quiet.ask("GET", f"{quiet.kept('figure/index.html')}?a=;script-src%20*").headers[
        "content-security-policy"
    ]
    scripts = [each.split() for each in policy.split("; ") if "script" in each.split()[0]]
    assert scripts == [["script-src", f"http://{quiet.host}{quiet.kept('figure/zoom.js')}"]]
    answer = quiet.ask("GET", quiet.kept("figure/zoom.js"))
    assert answer.headers["content-type"].startswith("text/javascript")
    assert b"alert(1)" not in answer.body
    assert b"Zoom into it" in answer.body
    (quiet.folder / "a; script-src *").mkdir(exist_ok=True)
    for name in ("index.html", "zoom.js"):
        (quiet.folder / "a; script-src *" / name).write_text("")
    key = kept_key(quiet.token, "a; script-src *")
    policy = quiet.ask("GET", f"/kept/{key}/a;%20script-src%20*/index.html").headers[
        "content-security-policy"
    ]
    assert "script-src *" not in policy
    assert quiet.ask("GET", quiet.kept("none/zoom.js")).status == 404


@pytest.mark.parametrize(
    "asked",
    [
        {"files": {"../evil.c": ""}},
        {"files": {"/evil.c": ""}},
        {"files": {"evil.c/x.c": ""}},
        {"files": {"evil.so": ""}},
        {"files": {".c": ""}},
        {"files": {"a.c": "x" * 1_000_001}},
        {"files": {f"a{number}.c": "" for number in range(30)}},
        {"toml": SHORT.format(algorithm="/etc/passwd")},
        {"toml": SHORT.format(algorithm="../../evil.c")},
        {"toml": SHORT.format(algorithm="kernel:cubic")},
        {
            "toml": SHORT.format(algorithm="cubic").replace(
                'rate = "20mbit"', 'trace = "/etc/passwd"'
            )
        },
        {"toml": SHORT.format(algorithm="cubic") + "count = 101\n"},
        {"toml": "#" * 100_001},
    ],
)
def test_files_and_scenarios_that_reach_beyond_the_page_are_refused(quiet, asked):
    answer = quiet.ask("POST", "/api/runs", RUN | asked)
    assert answer.status == 422, answer.body
    assert b"root:" not in answer.body


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"[" * 100_000, 400),
        (b'{"toml": 1}', 400),
        (b'{"toml": "", "files": []}', 400),
        (b'{"toml": "", "files": {"a.c": 1}}', 400),
        (b'{"toml": "", "on": "cloud"}', 400),
        (b'{"toml": "\\ud800"}', 400),
        (b" " * 3_000_001, 413),
    ],
)
def test_what_is_no_request_is_refused(quiet, body, status):
    assert quiet.ask("POST", "/api/runs", body).status == status


def test_a_body_without_an_honest_length_is_cut(quiet):
    with socket.create_connection(("127.0.0.1", quiet.port), timeout=120) as connection:
        head = (
            f"POST /api/runs HTTP/1.1\r\nHost: {quiet.host}\r\nOrigin: http://{quiet.host}\r\n"
            f"Authorization: Bearer {quiet.token}\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(head.encode())
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            for _ in range(100):  # 6.5 MB
                connection.sendall(chunk)
        except OSError:
            pass
        try:
            answer = connection.recv(100)
        except ConnectionResetError:
            answer = b""
    assert b" 200 " not in answer


@pytest.mark.parametrize("start", ["", "from=", "from=-1", "from=nan", "from=1e3", "from=²"])
def test_rows_from_no_byte_are_refused(server, start):
    run = server.start(SHORT.format(algorithm="cubic"))
    server.wait(run, "done")
    assert server.ask("GET", quote(f"/api/runs/{run}/rows?{start}", safe="/?=")).status == 400
    assert server.ask("GET", f"/api/runs/{run}/rows?from=999999999").body == b""
    assert server.ask("GET", "/api/runs/x/rows?from=0").status == 404


def test_more_runs_than_can_wait_are_refused(tmp_path):
    server = Server(tmp_path)
    try:
        long = LONG.format(algorithm="cubic")
        answers = [
            server.ask("POST", "/api/runs", {"toml": f"seed = {number}\n{long}"})
            for number in range(1, 110)
        ]
        assert {answer.status for answer in answers} == {200, 422}
        assert "wait already" in answers[-1].json["error"]
        started = server.children()
        assert started
    finally:
        server.close()
    assert not [each for each in started if Path("/proc", each).exists()]


def test_it_listens_on_loopback_only_and_each_start_has_its_own_token(server, tmp_path):
    other = Server(tmp_path)
    try:
        assert other.token != server.token
        assert other.port != server.port
        assert other.ask("GET", "/api/about", authorization=f"Bearer {server.token}").status == 401
        port = f"{other.port:04X}"
        table = Path("/proc/net/tcp").read_text().splitlines()
        listens = [line.split()[1] for line in table if line.split()[3] == "0A"]
        assert [at for at in listens if at.endswith(f":{port}")] == [f"0100007F:{port}"]
    finally:
        other.close()


def test_a_port_that_another_takes_meanwhile_is_left_to_it(monkeypatch):
    """Two pages that start at once: both may bind the port, and one of them may listen."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        monkeypatch.setattr(page_server, "PORT", free.getsockname()[1])
    other = []

    class Late(socket.socket):
        def listen(self, *backlog):
            if not other:
                other.append(socket.socket())
                other[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                other[0].bind(self.getsockname())
                other[0].listen()
            super().listen(*backlog)

    monkeypatch.setattr(page_server.socket, "socket", Late)
    with page_server._listen("127.0.0.1", None) as ours, other[0]:
        assert ours.getsockname()[1] != page_server.PORT


def test_all_addresses_at_once_are_refused(ackclock, tmp_path):
    # The last is of RFC 5737, for documentation: no machine has it.
    for host in ("0.0.0.0", "::", "no.such.host.invalid", "192.0.2.1"):  # noqa: S104
        done = ackclock("explore", "--host", host)
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: --host {host}: ")
    assert not list(tmp_path.iterdir())


def test_without_room_for_runs_it_does_not_start(ackclock, tmp_path):
    (tmp_path / "file").touch()
    for folder in ("file", "file/x"):
        done = ackclock("explore", "-o", folder)
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: output directory {folder}/explore: ")


def test_what_a_run_may_take_is_bounded(server):
    """The limits hold in the process of a run, before it loads any code."""
    server.wait(server.start(SHORT.format(algorithm="htcp")), "done")
    nice_of_page = os.getpriority(os.PRIO_PROCESS, server.process.pid)
    bounded = 0
    for limits in Path("/proc").glob("[0-9]*/limits"):
        pid = int(limits.parent.name)
        with suppress(OSError):  # it has ended
            if parent_of(pid) != server.process.pid:
                continue
            # The limits of a process are there before it is nice.
            nice = os.getpriority(os.PRIO_PROCESS, pid)
            text = limits.read_text()
            if nice == nice_of_page:  # one that has just been started
                continue
            assert nice == min(nice_of_page + 5, 19)
            assert f"Max data size             {Limits().memory_bytes}" in text
            bounded += 1
    assert bounded


def parent_of(pid):
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
