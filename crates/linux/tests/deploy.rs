//! Deploying: whatever happens to the command, either all of it stays or nothing.

mod common;

use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use ackclock_linux::bpf::{deploy, status, undeploy, KernelError, Status};

const NAME: &str = "ACKCLOCK_TEST_NAME";
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Not a test: the process that the tests start.
#[test]
#[ignore = "started by the other tests"]
fn victim() {
    let Ok(name) = std::env::var(NAME) else {
        return;
    };
    match deploy("cubic_fc:f_max=0.7", Some(&name), true) {
        Ok(_) => {}
        Err(KernelError::NameTaken { .. }) => std::process::exit(17),
        Err(error) => panic!("{error}"),
    }
}

/// A process that deploys under that name, and makes it the default of this namespace.
fn deployer(name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--ignored"])
        .env(NAME, name)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn find(name: &str) -> Option<Status> {
    status().unwrap().into_iter().find(|each| each.name == name)
}

fn default() -> String {
    fs::read_to_string(DEFAULT).unwrap().trim().to_string()
}

#[test]
fn a_killed_deployment_leaves_all_or_nothing() {
    if common::skipped("deploying") {
        return;
    }
    common::in_own_namespace(|| {
        let name = &format!("kill{:x}", std::process::id());
        let before = default();
        let (mut whole, mut random) = (0, 0x2545_f491_4f6c_dd1d_u64);
        for _ in 0..50 {
            let mut child = deployer(name);
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
                    assert_eq!(left.spec.as_deref(), Some("cubic_fc:f_max=0.7"));
                    undeploy(name).unwrap();
                    whole += 1;
                }
            }
            assert!(find(name).is_none());
            assert_eq!(default(), before);
            let pins = fs::read_dir("/sys/fs/bpf").unwrap().flatten();
            let pins = pins.map(|pin| pin.file_name().to_string_lossy().into_owned());
            assert!(pins.into_iter().all(|pin| !pin.contains(name.as_str())));
        }
        println!("{whole} of 50 were deployed when they were killed");
    });
}

#[test]
fn of_several_at_once_one_wins() {
    if common::skipped("deploying") {
        return;
    }
    common::in_own_namespace(|| {
        let name = &format!("race{:x}", std::process::id());
        let before = default();
        let children: Vec<_> = (0..4).map(|_| deployer(name)).collect();
        let mut codes: Vec<_> = children
            .into_iter()
            .map(|mut child| child.wait().unwrap().code())
            .collect();
        codes.sort();
        assert_eq!(codes, [Some(0), Some(17), Some(17), Some(17)]);
        assert_eq!(default(), *name);
        let undeployed = undeploy(name).unwrap();
        assert!(undeployed.live.is_empty());
        assert_eq!(undeployed.restored, [("here".to_string(), before.clone())]);
        assert_eq!(default(), before);
        assert!(matches!(
            undeploy(name),
            Err(KernelError::NotDeployed { .. })
        ));
    });
}

#[test]
fn a_namespace_of_a_thread_keeps_its_former_default() {
    if common::skipped("deploying") {
        return;
    }
    common::in_own_namespace(|| {
        let [name, other] = ["mine", "other"].map(|name| format!("{name}{:x}", std::process::id()));
        let before = default();
        deploy("cubic_fc", Some(&name), true).unwrap();
        common::in_own_namespace(|| {
            deploy("square_ff", Some(&other), true).unwrap();
            undeploy(&other).unwrap();
        });
        undeploy(&name).unwrap();
        assert_eq!(default(), before);
    });
}

#[test]
fn where_the_former_default_is_forgotten_one_for_all_takes_its_place() {
    if common::skipped("deploying") {
        return;
    }
    common::in_own_namespace(|| {
        let name = format!("lost{:x}", std::process::id());
        deploy("cubic_fc", Some(&name), true).unwrap();
        let inode = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
        fs::remove_file(format!("/sys/fs/bpf/ackclock-previous-default-{inode}")).unwrap();
        let undeployed = undeploy(&name).unwrap();
        assert_eq!(undeployed.restored, [("here".to_string(), default())]);
        assert!(["cubic", "reno"].contains(&default().as_str()));
    });
}
