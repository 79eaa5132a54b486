//! Algorithms that stay registered when the command ends.

use std::thread::sleep;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use ackclock_host::{Algorithm, Configured};
use ackclock_sim::scenario::able::is_of_linux;

use super::bpffs::{BpfFs, Caller, Stay};
use super::load::{available, check_name};
use super::namespaces::NetworkNamespace;
use super::requirements::require_root;
use super::status::registered;
use super::{bpffs, compile, KernelError, Registered};
use crate::sys;

/// How long an algorithm may take to leave the kernel's list.
const GRACE: Duration = Duration::from_secs(5);

/// What `deploy` did.
#[derive(Debug)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Deployed {
    /// The algorithm's name in the kernel.
    pub name: String,
    /// Its spec in canonical form.
    pub spec: String,
    /// The default here before, if it was to become the default; its own name if it was.
    pub replaced: Option<String>,
    /// Was the BPF file system mounted for it?
    pub mounted: bool,
    /// Was the same algorithm deployed under that name before?
    pub already: bool,
}

/// What `undeploy` did.
#[derive(Debug)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Undeployed {
    /// (namespace, its default now) where it was the default.
    pub restored: Vec<(String, String)>,
    /// (namespace, sockets) that use it until they close.
    pub live: Vec<(String, usize)>,
}

/// The name in the kernel of an algorithm: its own, or `ac_<its own>` where Linux has one of
/// that name.
fn kernel_name(algorithm: &str) -> String {
    if is_linux_own(algorithm) {
        format!("ac_{algorithm}")
    } else {
        algorithm.to_string()
    }
}

/// Whether it is the name of one of Linux's own, whether this kernel has it or could load it.
fn is_linux_own(name: &str) -> bool {
    is_of_linux(name) || name == "dctcp-reno"
}

/// Registers an algorithm (`name_or_path[@preset][:param=value,…]`) until [`undeploy`] or the
/// next boot; `default` makes it what new sockets of this network namespace, and new
/// namespaces, begin with. Does nothing if the same is deployed under that name. `caller` hears
/// what it waits for.
///
/// # Errors
/// As [`Registered::load_as`]; a name that is Linux's own, or of another deployment.
pub fn deploy(
    spec: &str,
    name: Option<&str>,
    default: bool,
    caller: &dyn Caller,
) -> Result<Deployed, KernelError> {
    let plan = Plan::new(spec, name)?;
    let (bpffs, mut registered) = plan.register(Stay::UntilUndone, caller)?;
    let pin = bpffs.pin(&plan.name);
    if let Some(registered) = &mut registered {
        registered.pin(&pin)?;
    }
    let already = registered.is_none();
    let replaced = if default {
        let replaced = make_default(&bpffs, &plan.name);
        if replaced.is_err() && !already {
            let _ = fs::remove_file(&pin);
            let _ = bpffs.tidy_previous_defaults(&NetworkNamespace::all());
        }
        Some(replaced?)
    } else {
        None
    };
    Ok(Deployed {
        spec: plan.configured.spec().to_string(),
        name: plan.name,
        replaced,
        mounted: bpffs.mounted,
        already,
    })
}

/// Does what [`deploy`] does of `reno`, under a name of its own, up to the step that would
/// make it stay.
///
/// # Errors
/// What `deploy` would say.
pub(crate) fn rehearse() -> Result<Rehearsed, KernelError> {
    sys::on_thread(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now_ns = now.map_or(0, |now| now.subsec_nanos());
        let name = format!("rehearsal{:06x}", (std::process::id() ^ now_ns) & 0xff_ffff);
        let plan = Plan::new("reno", Some(&name))?;
        let (bpffs, registered) = plan.register(Stay::ThisThread, &())?;
        drop(registered);
        Ok(Rehearsed {
            mounted: bpffs.mounted,
            planted: bpffs.planted.clone(),
        })
    })
}

/// What a deployment would do besides deploying.
#[derive(Debug)]
pub(crate) struct Rehearsed {
    /// Mount the BPF file system.
    pub mounted: bool,
    /// Move aside what another user put in the place of the directory: `user 1000 made …`.
    pub planted: Option<String>,
}

/// What is to be deployed.
struct Plan {
    configured: Configured,
    name: String,
}

impl Plan {
    fn new(spec: &str, name: Option<&str>) -> Result<Self, KernelError> {
        let configured = Algorithm::configure(spec)?;
        let name = name.map_or_else(|| kernel_name(configured.algorithm().name()), String::from);
        check_name(&name)?;
        let problem = if is_linux_own(&name) {
            Some("an algorithm of Linux has that name")
        } else {
            name.contains('.')
                .then_some("a name with a dot cannot be deployed")
        };
        if let Some(problem) = problem {
            return Err(KernelError::bad_name(&name, problem));
        }
        Ok(Self { configured, name })
    }

    /// Registers it for the time of this process; nothing if the same is deployed.
    fn register(
        &self,
        stay: Stay,
        caller: &dyn Caller,
    ) -> Result<(BpfFs, Option<Registered>), KernelError> {
        let name = &self.name;
        require_root("deploying an algorithm")?;
        let bpffs = BpfFs::lock(stay, caller)?;
        bpffs.check_writable()?;
        let pin = bpffs.pin(name);
        if pin.exists() {
            let fingerprint = compile::object(&self.configured)?.fingerprint;
            let deployed = registered()?
                .into_iter()
                .find(|found| found.name == *name && found.pinned());
            match deployed.map(|found| found.label) {
                Some(Some(label)) if label.is_of(&self.configured, fingerprint) => {
                    return Ok((bpffs, None));
                }
                Some(label) => {
                    let mut deployed = label.map_or_else(|| "unknown".into(), |label| label.spec);
                    let wanted = self.configured.spec();
                    if deployed == wanted {
                        deployed += ", from another text of the C file";
                    }
                    return Err(KernelError::Other(format!("`{name}` is already deployed as {deployed}, and you asked for {wanted}; run `ackclock undeploy {name}` first, or choose another name with --name")));
                }
                // Something detached the link: the pin keeps nothing registered.
                None => fs::remove_file(&pin).map_err(|error| {
                    KernelError::system(format!("remove {}", pin.display()), error)
                })?,
            }
        }
        let registered = Registered::load_as(&self.configured, name)?;
        Ok((bpffs, Some(registered)))
    }
}

/// Makes it the default here; returns what was.
fn make_default(bpffs: &BpfFs, name: &str) -> Result<String, KernelError> {
    let cannot = |error| KernelError::system(format!("make {name} the default"), error);
    let here = here();
    let before = here.default_algorithm().map_err(cannot)?;
    if before != name {
        if !bpffs.pin(&before).exists() {
            bpffs
                .set_previous_default(here.inode, &before)
                .map_err(cannot)?;
        }
        here.set_default_algorithm(name).map_err(cannot)?;
    }
    Ok(before)
}

/// Names of what is deployed, sorted. `caller` as for [`deploy`].
///
/// # Errors
/// Missing privileges.
pub fn deployed(caller: &dyn Caller) -> Result<Vec<String>, KernelError> {
    require_root("looking for what is deployed")?;
    if bpffs::is_missing()? {
        return Ok(Vec::new());
    }
    let names = BpfFs::lock(Stay::UntilUndone, caller)?.pinned();
    names.map_err(|error| KernelError::system("list what is deployed", error))
}

/// Unregisters what [`deploy`] registered. Where it is the default, the default becomes again
/// what it was before. Sockets that use it keep it until they close. `caller` as for [`deploy`].
///
/// # Errors
/// Nothing of that name is deployed; missing privileges.
pub fn undeploy(name: &str, caller: &dyn Caller) -> Result<Undeployed, KernelError> {
    require_root("undeploying an algorithm")?;
    let unknown = |deployed: &[String]| {
        let known = match deployed {
            [] => "nothing is deployed".into(),
            _ => format!("deployed: {}", deployed.join(", ")),
        };
        KernelError::Other(format!("`{name}` is not deployed; {known}"))
    };
    if bpffs::is_missing()? {
        return Err(unknown(&[]));
    }
    let bpffs = BpfFs::lock(Stay::UntilUndone, caller)?;
    let cannot = |error| KernelError::system(format!("undeploy {name}"), error);
    let pin = bpffs.pin(name);
    let deployed = bpffs.pinned().map_err(cannot)?;
    if !deployed.iter().any(|each| each == name) {
        return Err(unknown(&deployed));
    }
    let (mut restored, mut live) = (Vec::new(), Vec::new());
    let namespaces = NetworkNamespace::all();
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
fn restore_default(bpffs: &BpfFs, namespace: &NetworkNamespace) -> io::Result<String> {
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

fn here() -> NetworkNamespace {
    NetworkNamespace::all().swap_remove(0)
}
