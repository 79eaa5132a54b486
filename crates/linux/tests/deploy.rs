//! Deploying: on a fresh machine, killed at any moment, beside others, with less than root
//! has, and among what other users put in its way. Every test is alone on its machine.

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use ackclock_linux::bpf::{self, Caller, Deployed, KernelError, Status, Undeployed};
use common::{alone, entries, mount_bpffs, shell, BPFFS};

const DO: &str = "ACKCLOCK_TEST_DO";
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const SPEC: &str = "cubic_fc:f_max=0.7";

/// Not a test: the process that the tests start. It says how it went in a line.
#[test]
#[ignore = "started by the other tests"]
fn victim() {
    let order = std::env::var(DO).unwrap_or_default();
    let outcome = match order.split_once(' ') {
        Some(("deploy", name)) => match bpf::deploy(SPEC, Some(name), true, &Printer) {
            Ok(done) if done.already => "already".into(),
            Ok(_) => "deployed".into(),
            Err(error) => error.to_string(),
        },
        Some(("plain", name)) => bpf::deploy(SPEC, Some(name), false, &())
            .map_or_else(|e| e.to_string(), |_| "ok".into()),
        Some(("doctor", _)) => {
            let findings = ackclock_linux::doctor();
            let deploy = findings.iter().find(|each| each.what == "deploy").unwrap();
            let needed = findings.iter().all(|each| each.ok || !each.needed);
            assert_eq!(deploy.ok, needed, "{findings:?}");
            if needed {
                "ok".into()
            } else {
                deploy.found.clone()
            }
        }
        _ => return,
    };
    println!("\nOUTCOME: {outcome}");
}

struct Printer;

impl Caller for Printer {
    fn tell(&self, text: &str) {
        println!("\nTOLD: {text}");
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

/// A process that does that; `through`: a command that starts it.
fn start(through: &[&str], order: &str) -> Child {
    let this = std::env::current_exe().unwrap();
    let mut words = through.to_vec();
    words.extend([
        this.to_str().unwrap(),
        "--exact",
        "victim",
        "--ignored",
        "--nocapture",
    ]);
    Command::new(words[0])
        .args(&words[1..])
        .env(DO, order)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How it went.
fn outcome(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("OUTCOME: "));
    line.unwrap_or_else(|| panic!("{text}")).to_string()
}

fn deploy(spec: &str, name: &str, default: bool) -> Result<Deployed, KernelError> {
    bpf::deploy(spec, Some(name), default, &())
}

fn undeploy(name: &str) -> Result<Undeployed, KernelError> {
    bpf::undeploy(name, &())
}

fn find(name: &str) -> Option<Status> {
    let all = bpf::status().unwrap();
    all.into_iter().find(|each| each.name == name)
}

fn default() -> String {
    fs::read_to_string(DEFAULT).unwrap().trim().to_string()
}

/// A name in the kernel, which all namespaces share, that no other test has. The number of
/// this process would not do: in its own namespace it is always 1.
fn unique(stem: &str) -> String {
    let inode = fs::metadata("/proc/self/ns/pid").unwrap().ino();
    format!("{stem}{:x}", inode & 0xff_ffff)
}

#[test]
fn on_a_fresh_machine() {
    alone("on_a_fresh_machine", || {
        let name = unique("fresh");
        assert_eq!(
            shell("readlink /proc/1/ns/mnt"),
            shell("readlink /proc/self/ns/mnt")
        );
        assert_eq!(outcome(start(&[], "doctor -")), "ok");
        assert!(
            shell(&format!("mountpoint {BPFFS}")).is_err(),
            "the doctor mounted it"
        );
        let done = deploy(SPEC, &name, false).unwrap();
        assert!(done.mounted && !done.already);
        let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(BPFFS), 0o700);
        assert_eq!(mode(&format!("{BPFFS}/ackclock")), 0o700);
        assert!(find(&name).unwrap().pinned);
        undeploy(&name).unwrap();
        assert!(find(&name).is_none());
        assert!(entries(BPFFS).is_empty());
        // And right after.
        assert!(!deploy(SPEC, &name, false).unwrap().mounted);
    });
}

/// Where process 1 can do more than this one, its namespaces cannot be read.
#[test]
fn where_process_1_cannot_be_looked_at() {
    alone("where_process_1_cannot_be_looked_at", || {
        let less = ["setpriv", "--bounding-set=-all,+sys_admin"];
        assert!(shell(&format!("{} readlink /proc/1/ns/mnt", less.join(" "))).is_err());
        let name = unique("blind");
        assert_eq!(outcome(start(&less, &format!("deploy {name}"))), "deployed");
        assert!(find(&name).unwrap().pinned);
    });
}

#[test]
fn mounts_that_end_with_the_command() {
    alone("mounts_that_end_with_the_command", || {
        let private = ["unshare", "--mount"];
        let name = unique("priv");
        for order in [format!("deploy {name}"), "doctor -".into()] {
            let said = outcome(start(&private, &order));
            assert!(said.contains("a mount namespace of its own"), "{said}");
        }
        mount_bpffs();
        assert_eq!(outcome(start(&private, "doctor -")), "ok");
        assert_eq!(
            outcome(start(&private, &format!("deploy {name}"))),
            "deployed"
        );
        assert!(find(&name).unwrap().pinned);
    });
}

/// What the doctor says is what happens, whatever root lacks.
#[test]
fn the_doctor_says_what_deploying_does() {
    alone("the_doctor_says_what_deploying_does", || {
        let name = unique("cap");
        for mounted in [false, true] {
            if mounted {
                mount_bpffs();
            }
            let mut works = Vec::new();
            for capability in [
                "all",
                "all but sys_admin",
                "sys_admin",
                "net_admin",
                "bpf",
                "perfmon",
                "sys_resource",
                "sys_ptrace",
                "sys_nice",
                "ipc_lock",
                "dac_override",
                "dac_read_search",
                "fowner",
                "chown",
            ] {
                let less = format!(
                    "--bounding-set=-{}",
                    capability.replace("all but ", "all,+")
                );
                let less = ["setpriv", &less];
                let foretold = outcome(start(&less, "doctor -"));
                let happened = outcome(start(&less, &format!("plain {name}")));
                assert_eq!(
                    foretold, happened,
                    "without {capability}, mounted: {mounted}"
                );
                if happened == "ok" {
                    undeploy(&name).unwrap();
                    works.push(capability);
                } else {
                    assert!(happened.contains("lacks CAP_SYS_ADMIN"), "{happened}");
                }
                if !mounted {
                    let _ = shell(&format!("umount {BPFFS}"));
                }
            }
            assert_eq!(works.len(), 12, "{works:?}");
        }
        let user = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=+sys_admin",
            "--ambient-caps=+sys_admin",
        ];
        let foretold = outcome(start(&user, "doctor -"));
        assert_eq!(foretold, outcome(start(&user, &format!("plain {name}"))));
        assert!(foretold.contains("lacks the user number 0"), "{foretold}");
    });
}

#[test]
fn a_killed_deployment_leaves_all_or_nothing() {
    alone("a_killed_deployment_leaves_all_or_nothing", || {
        mount_bpffs();
        let name = &unique("kill");
        let before = default();
        let (mut whole, mut random) = (0, 0x2545_f491_4f6c_dd1d_u64);
        for _ in 0..50 {
            let mut child = start(&[], &format!("deploy {name}"));
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            thread::sleep(Duration::from_micros(random % 60_000));
            child.kill().unwrap();
            child.wait().unwrap();
            match find(name) {
                None => assert_eq!(default(), before),
                Some(left) => {
                    assert!(left.pinned, "a process that is dead holds {left:?}");
                    assert_eq!(left.spec.as_deref(), Some(SPEC));
                    undeploy(name).unwrap();
                    whole += 1;
                }
            }
            assert!(find(name).is_none());
            assert_eq!(default(), before);
            assert!(!entries(&format!("{BPFFS}/ackclock")).contains(name));
        }
        println!("{whole} of 50 were deployed when they were killed");
        // What a killed one left in the directory goes with the next.
        deploy(SPEC, name, true).unwrap();
        undeploy(name).unwrap();
        assert!(entries(BPFFS).is_empty());
    });
}

/// However little memory it may have: it is deployed, or nothing is.
#[test]
fn without_memory_nothing_is_left_behind() {
    alone("without_memory_nothing_is_left_behind", || {
        mount_bpffs();
        let name = &unique("mem");
        let (mut refused, mut deployed) = (0, 0);
        for mib in (8..=32).step_by(2) {
            let limit = format!("--as={}", mib << 20);
            let child = start(&["prlimit", &limit], &format!("deploy {name}"));
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if said.contains("OUTCOME: deployed") {
                undeploy(name).unwrap();
                deployed += 1;
            } else {
                assert!(find(name).is_none(), "{mib} MiB: {said}");
                refused += 1;
            }
            assert!(
                entries(&format!("{BPFFS}/ackclock")).is_empty(),
                "{mib} MiB"
            );
        }
        assert!(
            refused > 0 && deployed > 0,
            "{refused} refused, {deployed} deployed"
        );
    });
}

/// Nothing is mounted before: one of them does that, too.
#[test]
fn of_several_at_once_one_wins() {
    alone("of_several_at_once_one_wins", || {
        let name = &unique("race");
        let before = default();
        let nothing = format!("`{name}` is not deployed; nothing is deployed");
        for _ in 0..3 {
            let children: Vec<_> = (0..8)
                .map(|_| start(&[], &format!("deploy {name}")))
                .collect();
            let mut outcomes: Vec<_> = children.into_iter().map(outcome).collect();
            outcomes.sort();
            assert_eq!(outcomes[..7], ["already"; 7].map(String::from));
            assert_eq!(outcomes[7], "deployed");
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
            assert_eq!(mounts.matches(" - bpf ").count(), 1);
            assert_eq!(default(), *name);
            let undeployed = undeploy(name).unwrap();
            assert!(undeployed.live.is_empty());
            assert_eq!(undeployed.restored, [("here".to_string(), before.clone())]);
            assert_eq!(default(), before);
            assert_eq!(undeploy(name).unwrap_err().to_string(), nothing);
            shell(&format!("umount {BPFFS}")).unwrap();
            assert_eq!(undeploy(name).unwrap_err().to_string(), nothing);
        }
    });
}

#[test]
fn the_same_again_is_no_error_and_another_is() {
    alone("the_same_again_is_no_error_and_another_is", || {
        let name = &unique("again");
        let before = default();
        assert!(!deploy(SPEC, name, false).unwrap().already);
        let again = deploy(SPEC, name, true).unwrap();
        assert!(again.already);
        assert_eq!(again.replaced, Some(before.clone()));
        assert_eq!(
            deploy(SPEC, name, true).unwrap().replaced.as_ref(),
            Some(name)
        );
        let error = deploy("cubic_fc", name, false).unwrap_err().to_string();
        assert!(
            error.contains(&format!(
                "already deployed as {SPEC}, and you asked for cubic_fc"
            )),
            "{error}"
        );
        assert!(
            error.contains(&format!("ackclock undeploy {name}")),
            "{error}"
        );
        undeploy(name).unwrap();
        assert_eq!(default(), before);

        // The same path, another text.
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mine.c");
        let spec = file.to_str().unwrap();
        let source = |summary: &str| {
            let text = "#include \"tcp_cc.h\"\n\
                CC_HOOK(u32, mine_ssthresh, struct sock *sk) { return tcp_reno_ssthresh(sk); }\n\
                CC_HOOK(void, mine_cong_avoid, struct sock *sk, u32 ack, u32 acked)\n\
                { tcp_reno_cong_avoid(sk, ack, acked); }\n\
                CC_ALGORITHM(mine, \"SUMMARY\", .ssthresh = mine_ssthresh, .cong_avoid = mine_cong_avoid);\n";
            fs::write(&file, text.replace("SUMMARY", summary)).unwrap();
        };
        source("one");
        deploy(spec, name, false).unwrap();
        assert!(deploy(spec, name, false).unwrap().already);
        source("two");
        let error = deploy(spec, name, false).unwrap_err().to_string();
        assert!(error.contains("from another text of the C file"), "{error}");
        undeploy(name).unwrap();

        // The name of another program.
        let configured = ackclock_host::Algorithm::configure("reno").unwrap();
        let other = bpf::Registered::load_as(&configured, name).unwrap();
        let error = deploy(SPEC, name, false).unwrap_err().to_string();
        assert!(error.contains("another program has registered"), "{error}");
        drop(other);
        assert!(entries(BPFFS).is_empty());
    });
}

#[test]
fn each_namespace_gets_back_what_it_had() {
    alone("each_namespace_gets_back_what_it_had", || {
        let [name, other] = ["mine", "other"].map(unique);
        let machines = default(); // a new namespace begins with that of the machine
        fs::write(DEFAULT, "reno").unwrap();
        deploy("cubic_fc", &name, true).unwrap();
        let (there, wait) = std::sync::mpsc::channel();
        let (done, until) = std::sync::mpsc::channel::<()>();
        thread::scope(|scope| {
            let (theirs, before) = (other.clone(), machines.clone());
            scope.spawn(|| {
                common::in_own_namespace(move || {
                    assert_eq!(default(), before);
                    deploy("square_ff", &theirs, true).unwrap();
                    there.send(()).unwrap();
                    until.recv().unwrap();
                    assert_eq!(default(), before);
                });
            });
            wait.recv().unwrap();
            let previous = |name: &str| {
                let [(_, previous)] = &find(name).unwrap().default_in[..] else {
                    panic!("default of one namespace");
                };
                previous.clone()
            };
            assert_eq!(previous(&other).as_ref(), Some(&machines));
            assert_eq!(previous(&name).as_deref(), Some("reno"));
            assert_eq!(bpf::deployed(&()).unwrap(), [name.clone(), other.clone()]);
            // From a namespace that is not theirs.
            let undeployed = undeploy(&other).unwrap();
            assert!(
                matches!(&undeployed.restored[..], [(_, to)] if *to == machines),
                "{undeployed:?}"
            );
            done.send(()).unwrap();
        });
        undeploy(&name).unwrap();
        assert_eq!(default(), "reno");
        assert!(entries(BPFFS).is_empty());
    });
}

#[test]
fn where_the_former_default_is_forgotten_one_for_all_takes_its_place() {
    alone(
        "where_the_former_default_is_forgotten_one_for_all_takes_its_place",
        || {
            let name = unique("lost");
            deploy("cubic_fc", &name, true).unwrap();
            let inode = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
            fs::remove_file(format!("{BPFFS}/ackclock/previous-default-{inode}")).unwrap();
            let undeployed = undeploy(&name).unwrap();
            assert_eq!(undeployed.restored, [("here".to_string(), default())]);
            assert!(["cubic", "reno"].contains(&default().as_str()));
        },
    );
}

/// The user nobody, in a file system that somebody mounted for all.
fn as_nobody(script: &str) -> Child {
    Command::new("setpriv")
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--bounding-set=-all",
        ])
        .args(["sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn what_nobody_plants_changes_nothing() {
    alone("what_nobody_plants_changes_nothing", || {
        shell(&format!("mount -t bpf bpf {BPFFS}")).unwrap(); // mode 1777
        let name = &unique("plant");
        fs::write(DEFAULT, "reno").unwrap();
        let inode = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let directory = format!("{BPFFS}/ackclock");
        for (index, plant) in [
            format!("mkdir {directory} && ln -s cubic {directory}/previous-default-{inode} && mkdir {directory}/{name}"),
            format!("mkdir -m 777 {directory}"),
            format!("ln -s /tmp {directory}"),
            format!("ln -s nowhere {directory}"),
            format!("ln -s cubic {BPFFS}/ackclock-previous-default-{inode}; ln -s cubic {BPFFS}/previous-default-{inode}; mkdir {BPFFS}/ackclock_{name} {BPFFS}/{name}"),
            format!("mkdir {directory}; exec 3<{directory}; flock 3; (sleep 600 <&3 >&- 2>&- &); true"),
            format!("exec 3<{BPFFS}; flock 3; (sleep 600 <&3 >&- 2>&- &); true"),
        ].iter().enumerate() {
            assert!(as_nobody(plant).wait().unwrap().success(), "{plant}");
            let planted = || shell(&format!("ls -lR {BPFFS}"));
            let before = planted();
            assert_eq!(outcome(start(&[], "doctor -")), "ok", "{plant}");
            assert_eq!(planted(), before, "the doctor changed it: {plant}");
            assert!(find(name).is_none());
            let started = Instant::now();
            deploy(SPEC, name, true).unwrap();
            assert!(started.elapsed() < Duration::from_secs(300), "it waited for nobody");
            let found = find(name).unwrap();
            assert!(found.pinned, "{plant}");
            assert_eq!(found.default_in, [("here".to_string(), Some("reno".to_string()))]);
            assert!(!as_nobody(&format!("exec 2>&-; ls {directory} || mv {directory} {BPFFS}/{index} || rmdir {directory}"))
                .wait().unwrap().success());
            assert_eq!(undeploy(name).unwrap().restored, [("here".to_string(), "reno".to_string())]);
            assert_eq!(default(), "reno");
        }
        assert!(entries(BPFFS)
            .iter()
            .any(|entry| entry.starts_with("not-ackclock-")));
    });
}

/// Nobody holds the lock that the first command takes to mount.
#[test]
fn nobody_delays_the_first_deployment_for_long() {
    alone("nobody_delays_the_first_deployment_for_long", || {
        let hold = format!("exec 3<{BPFFS}; flock 3; (sleep 600 <&3 >&- 2>&- &); true");
        assert!(as_nobody(&hold).wait().unwrap().success());
        assert!(deploy(SPEC, &unique("delay"), false).unwrap().mounted);
    });
}

#[test]
fn a_file_system_where_anyone_can_rename_is_refused() {
    alone("a_file_system_where_anyone_can_rename_is_refused", || {
        mount_bpffs();
        let name = unique("unsafe");
        for (spoil, what, fix) in [
            ("chmod 0777", "has mode 0777", "chmod 0700 /sys/fs/bpf"),
            (
                "chown 65534",
                "belongs to user 65534",
                "chown root /sys/fs/bpf",
            ),
        ] {
            shell(&format!("{spoil} {BPFFS}")).unwrap();
            let foretold = outcome(start(&[], "doctor -"));
            let error = deploy(SPEC, &name, false).unwrap_err().to_string();
            assert_eq!(foretold, error);
            assert_eq!(
                error,
                format!(
                    "{BPFFS} {what}, so that other users could change what is deployed; run `{fix}`"
                )
            );
            shell(fix).unwrap();
        }
        deploy(SPEC, &name, false).unwrap();
        shell(&format!("mount -o remount,ro {BPFFS}")).unwrap();
        let foretold = outcome(start(&[], "doctor -"));
        let error = deploy(SPEC, "another", false).unwrap_err().to_string();
        assert_eq!(foretold, error);
        assert!(error.contains("Read-only file system"), "{error}");
        shell(&format!("mount -o remount,rw {BPFFS}")).unwrap();
    });
}

#[test]
fn a_lock_is_waited_for_with_a_message_and_an_end() {
    alone("a_lock_is_waited_for_with_a_message_and_an_end", || {
        mount_bpffs();
        let name = unique("lock");
        let directory = format!("{BPFFS}/ackclock");
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        // Holds the lock until its input ends.
        let hold = || {
            let mut holder = Command::new("flock")
                .args([&directory, "sh", "-c", "echo held; read end"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = String::new();
            let output = holder.stdout.as_mut().unwrap();
            BufReader::new(output).read_line(&mut line).unwrap();
            holder
        };
        let mut holder = hold();
        let who = format!("process {} (flock)", holder.id());
        let mut waiting = start(&[], &format!("deploy {name}"));
        let (mut output, mut said) = (
            BufReader::new(waiting.stdout.take().unwrap()),
            String::new(),
        );
        while !said.contains("TOLD: ") {
            assert_ne!(output.read_line(&mut said).unwrap(), 0, "{said}");
        }
        drop(holder.stdin.take());
        holder.wait().unwrap();
        output.read_to_string(&mut said).unwrap();
        waiting.wait().unwrap();
        assert!(
            said.contains(&format!("TOLD: waiting for {who}, which holds the lock")),
            "{said}"
        );
        assert!(said.contains("OUTCOME: deployed"), "{said}");

        let mut holder = hold();
        let said = outcome(start(&[], &format!("deploy {name}x")));
        assert!(said.starts_with("gave up after 20 s: process"), "{said}");
        assert!(find(&format!("{name}x")).is_none());
        holder.kill().unwrap();
        holder.wait().unwrap();
    });
}
