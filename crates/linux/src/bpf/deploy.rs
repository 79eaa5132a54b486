//! Algorithms that stay registered when the command ends.

use std::thread::sleep;
use std::time::Duration;
use std::{fs, io};

use ackclock_host::Algorithm;

use super::bpffs::BpfFs;
use super::load::check_name;
use super::namespaces::Namespace;
use super::{require, status, KernelError, Registered};

/// Names of Linux's own algorithms, whether this kernel has them or could load them.
const LINUX_OWN: &[&str] = &[
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "dctcp-reno",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];
/// How long an algorithm may take to leave the kernel's list.
const GRACE: Duration = Duration::from_secs(5);

/// What `deploy` did.
#[derive(Debug)]
pub struct Deployed {
    /// The algorithm's name in the kernel.
    pub name: String,
    /// Its spec in canonical form.
    pub spec: String,
    /// The default that it replaced here, if it was to.
    pub replaced: Option<String>,
    /// Was the BPF file system mounted for it?
    pub mounted: bool,
}

/// What `undeploy` did.
#[derive(Debug)]
pub struct Undeployed {
    /// (namespace, its default now) where it was the default.
    pub restored: Vec<(String, String)>,
    /// (namespace, sockets) that use it until they close.
    pub live: Vec<(String, usize)>,
}

/// The name in the kernel of an algorithm: its own, or `ac_<its own>` where Linux has one of
/// that name.
pub fn kernel_name(algorithm: &str) -> String {
    if is_linux_own(algorithm) {
        format!("ac_{algorithm}")
    } else {
        algorithm.to_string()
    }
}

fn is_linux_own(name: &str) -> bool {
    LINUX_OWN.contains(&name)
}

/// Registers an algorithm (`name_or_path[@preset][:param=value,…]`) until [`undeploy`] or the
/// next boot; `default` makes it what new sockets of this network namespace, and new
/// namespaces, begin with.
///
/// # Errors
/// As [`Registered::load_as`]; a name that is Linux's own.
pub fn deploy(spec: &str, name: Option<&str>, default: bool) -> Result<Deployed, KernelError> {
    let configured = Algorithm::configure(spec)?;
    let name = name.map_or_else(|| kernel_name(configured.algorithm().name()), String::from);
    check_name(&name)?;
    let problem = if is_linux_own(&name) {
        Some("it is the name of Linux's own")
    } else {
        name.contains('.')
            .then_some("a name with a dot cannot be pinned")
    };
    if let Some(problem) = problem {
        return Err(KernelError::BadName {
            name,
            problem: problem.into(),
        });
    }
    require("deploying an algorithm")?;
    let bpffs = BpfFs::lock()?;
    let mut registered = Registered::load_as(&configured, &name)?;
    let pin = bpffs.pin(&name);
    registered.pin(&pin)?;
    let replaced = if default {
        let replaced = make_default(&bpffs, &name);
        if replaced.is_err() {
            let _ = fs::remove_file(&pin);
        }
        Some(replaced?)
    } else {
        None
    };
    Ok(Deployed {
        name,
        spec: registered.spec().to_string(),
        replaced,
        mounted: bpffs.mounted,
    })
}

/// Makes it the default here; returns what was.
fn make_default(bpffs: &BpfFs, name: &str) -> Result<String, KernelError> {
    let cannot = |error| KernelError::system(format!("make {name} the default"), error);
    let here = here();
    let before = here.default_algorithm().map_err(cannot)?;
    if !bpffs.pin(&before).exists() {
        bpffs
            .set_previous_default(here.inode, &before)
            .map_err(cannot)?;
    }
    here.set_default_algorithm(name).map_err(cannot)?;
    Ok(before)
}

/// Unregisters what [`deploy`] registered. Where it is the default, the default becomes again
/// what it was before. Sockets that use it keep it until they close.
///
/// # Errors
/// Nothing of that name is deployed; missing privileges.
pub fn undeploy(name: &str) -> Result<Undeployed, KernelError> {
    require("undeploying an algorithm")?;
    let bpffs = BpfFs::lock()?;
    let pin = bpffs.pin(name);
    if check_name(name).is_err() || !pin.exists() {
        let deployed = status()?.into_iter().filter(|each| each.pinned);
        let names: Vec<_> = deployed.map(|each| each.name).collect();
        return Err(KernelError::NotDeployed {
            name: name.into(),
            known: match names.join(", ") {
                names if names.is_empty() => "nothing is".into(),
                names => format!("deployed: {names}"),
            },
        });
    }
    let cannot = |error| KernelError::system(format!("undeploy {name}"), error);
    let (mut restored, mut live) = (Vec::new(), Vec::new());
    let namespaces = Namespace::all();
    for namespace in &namespaces {
        if namespace
            .default_algorithm()
            .is_ok_and(|default| default == name)
        {
            let former = restore_default(&bpffs, namespace).map_err(cannot)?;
            restored.push((namespace.name.clone(), former));
        }
    }
    fs::remove_file(&pin).map_err(cannot)?;
    // The kernel lets go of the link a little later.
    for _ in 0..GRACE.as_millis() {
        if !available().iter().any(|each| each == name) {
            break;
        }
        sleep(Duration::from_millis(1));
    }
    for namespace in &namespaces {
        if let Some(count) = namespace
            .sockets()
            .ok()
            .and_then(|counts| counts.get(name).copied())
        {
            live.push((namespace.name.clone(), count));
        }
    }
    bpffs.tidy_previous_defaults(&namespaces).map_err(cannot)?;
    Ok(Undeployed { restored, live })
}

/// Makes default there what was it before one of ours; where that is not known, as in a
/// namespace that began with ours, what was it here. Returns its name.
///
/// The next is tried where one is not there any more, or is not for all (the file
/// `tcp_allowed_congestion_control`), as CUBIC on a kernel that begins with another.
fn restore_default(bpffs: &BpfFs, namespace: &Namespace) -> io::Result<String> {
    let mut refused = None;
    for name in [namespace.inode, here().inode]
        .into_iter()
        .filter_map(|inode| bpffs.previous_default(inode))
        .chain(["cubic".into(), "reno".into()])
    {
        match namespace.set_default_algorithm(&name) {
            Ok(()) => return Ok(name),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.expect("two at least were tried"))
}

fn here() -> Namespace {
    Namespace::all().swap_remove(0)
}

/// What sockets can choose.
fn available() -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names
        .unwrap_or_default()
        .split_whitespace()
        .map(String::from)
        .collect()
}
