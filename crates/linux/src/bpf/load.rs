//! An algorithm's object, patched and registered.

use std::ffi::OsStr;
use std::fs;
use std::mem::offset_of;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ackclock_host::FILE_LABEL;
use ackclock_host::{Configured, TcpCongestionOps};
use libbpf_rs::btf::types::Struct;
use libbpf_rs::btf::Btf;
use libbpf_rs::{ErrorKind, Link, MapType, Object, ObjectBuilder, OpenObject, PrintLevel, Program};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use super::kernel_form::PROGRAMS_LABEL;
use super::private::{self, PrivateField};
use super::{compile, require, BpfObject, KernelError};

/// Longest name of an algorithm in the kernel: `TCP_CA_NAME_MAX` with its 0.
const NAME_MAX: usize = 15;

/// An algorithm in the kernel, to which any process of the machine can set its sockets
/// (`TCP_CONGESTION`), in every network namespace and without privilege.
///
/// Dropping it, or the death of the process, unregisters it: sockets that use it keep it
/// until they close, new ones can no longer choose it.
#[derive(Debug)]
pub struct Registered {
    name: String,
    link: Link,
    object: Object,
}

impl Registered {
    /// Registers an algorithm (`name_or_path[@preset][:param=value,…]`) under a name that
    /// nobody else has, so that the same one can be there with several parameter sets.
    ///
    /// # Errors
    /// A bad spec; missing privileges; a kernel without BPF `struct_ops`; a user's file that
    /// clang or the verifier refuses.
    pub fn load(spec: &str) -> Result<Self, KernelError> {
        Self::new(&ackclock_host::Algorithm::configure(spec)?)
    }

    /// [`load`](Self::load) of what is configured.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn new(configured: &Configured) -> Result<Self, KernelError> {
        let (pid, taken) = (std::process::id(), available());
        let stem: String = configured.algorithm().name().chars().take(8).collect();
        // 24 bits tell processes, and the sets of one process, apart.
        let unique = |set: u32| pid.wrapping_add(set.wrapping_mul(0x9e_3779)) & 0xff_ffff;
        let names = (0u32..).map(|set| format!("{stem}.{:06x}", unique(set)));
        for name in names.filter(|name| !taken.contains(name)) {
            match Self::load_as(configured, &name) {
                Err(KernelError::NameTaken(_)) => {} // since we looked
                other => return other,
            }
        }
        unreachable!("a name is free before 2^32 are tried")
    }

    /// Registers an algorithm under that name of at most 15 characters.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`KernelError::NameTaken`].
    pub fn load_as(configured: &Configured, name: &str) -> Result<Self, KernelError> {
        check_name(name)?;
        require("registering an algorithm")?;
        let spec = configured.spec().to_string();
        let mut object = verified(configured, name)?;
        let (link, log) = with_log(|| {
            let mut ops = object
                .maps_mut()
                .find(|map| libbpf_rs::MapCore::map_type(map) == MapType::StructOps)
                .expect("CC_ALGORITHM defines one");
            ops.attach_struct_ops()
        });
        let link = link.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => KernelError::NameTaken(name.into()),
            _ => refused(&spec, "", &error, &log),
        })?;
        Ok(Self {
            name: name.into(),
            link,
            object,
        })
    }

    /// Its name, as `TCP_CONGESTION` wants it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is in its private state.
    pub fn private_fields(&self) -> Vec<PrivateField> {
        private::fields(&self.object)
    }

    /// The ids of its BPF programs, by which the kernel counts their runs.
    pub fn program_ids(&self) -> Vec<u32> {
        let programs = self.object.progs().filter(|program| program.autoload());
        programs
            .filter_map(|program| libbpf_rs::Program::id_from_fd(program.as_fd()).ok())
            .collect()
    }

    /// Keeps it registered when this process ends, until that file, in a BPF file system, is
    /// removed.
    ///
    /// # Errors
    /// The path is taken or in no such file system.
    pub fn pin(&mut self, path: &Path) -> Result<(), KernelError> {
        let what = || format!("pin {}", path.display());
        self.link
            .pin(path)
            .map_err(|error| KernelError::system(what(), error))
    }
}

/// Loads the programs, which the verifier judges then, and registers nothing.
///
/// # Errors
/// As [`Registered::load`].
pub(super) fn verify(configured: &Configured) -> Result<(), KernelError> {
    verified(configured, "verified").map(drop)
}

/// The loaded programs, to be registered under that name.
fn verified(configured: &Configured, name: &str) -> Result<Object, KernelError> {
    let object = compile::object(configured)?;
    let label = Label::for_algorithm(configured, object.fingerprint);
    let spec = configured.spec().to_string();
    let kernel = Btf::from_vmlinux().map_err(|error| refused(&spec, "", &error, ""))?;
    let (loaded, log) = with_log(|| {
        unless_interrupted(|| {
            let mut open = ObjectBuilder::default().open_memory(&object.elf)?;
            patch(&mut open, &object, configured, name, &label, &kernel);
            open.load()
        })
    });
    let path = configured.algorithm().source_path();
    let log = log.replace(&format!("@ {FILE_LABEL}:"), &format!("@ {path}:"));
    let object = loaded.map_err(|error| refused(&spec, path, &error, &log))?;
    if has(&kernel, TX_START) && !hears_tx_start(&object) {
        return Err(KernelError::Other(format!("{spec} would miss CA_EVENT_TX_START: this kernel sends it to the hook cwnd_event_tx_start of Linux 7.1, and libbpf did not register it there; boot an older kernel, and report this with the output of `ackclock doctor`")));
    }
    Ok(object)
}

/// The hook to which Linux sends `CA_EVENT_TX_START` since 7.1, and to no other.
const TX_START: &str = "cwnd_event_tx_start";

/// Hooks of our structure that not every kernel has, and where they are in it: in BPF `TX_START` is
/// its last member.
const NOT_IN_ALL: [(&str, usize); 2] = [
    ("min_cwnd", offset_of!(TcpCongestionOps, min_cwnd)),
    (TX_START, size_of::<TcpCongestionOps>()),
];

/// Does a kernel of these types have that hook?
fn has(kernel: &Btf<'_>, hook: &str) -> bool {
    let ops: Option<Struct<'_>> = kernel.type_by_name("tcp_congestion_ops");
    ops.is_some_and(|ops| ops.iter().any(|each| each.name == Some(OsStr::new(hook))))
}

/// Has libbpf given our program to that hook?
fn hears_tx_start(object: &Object) -> bool {
    let mut programs = object.progs();
    programs.any(|program: Program<'_>| program.name() == "cc_tx_start" && program.autoload())
}

/// What sockets can choose.
pub(super) fn available() -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names
        .unwrap_or_default()
        .split_whitespace()
        .map(String::from)
        .collect()
}

/// # Errors
/// A name that is empty, too long or has characters other than letters, digits, `_` and `.`.
pub(crate) fn check_name(name: &str) -> Result<(), KernelError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
    let problem = if name.is_empty() {
        "it is empty".to_string()
    } else if name.len() > NAME_MAX {
        format!(
            "it has {} characters, the kernel takes {NAME_MAX}",
            name.len()
        )
    } else if !name.chars().all(fits) {
        "it may have letters, digits, _ and . only".to_string()
    } else {
        return Ok(());
    };
    Err(KernelError::bad_name(name, &problem))
}

/// Writes parameters and label into .rodata and the name into the ops, where the symbols of
/// the ELF object say, and takes from the ops what the kernel does not have.
fn patch(
    open: &mut OpenObject,
    object: &BpfObject,
    configured: &Configured,
    name: &str,
    label: &Label,
    kernel: &Btf<'_>,
) {
    let elf = object::File::parse(&*object.elf).expect("libbpf has parsed it");
    let symbols: Vec<_> = elf
        .symbols()
        .filter_map(|symbol| Some((symbol.name().ok()?.to_string(), symbol.address() as usize)))
        .collect();
    let at = |wanted: &str| {
        let found = symbols.iter().find(|(name, _)| name == wanted);
        found
            .unwrap_or_else(|| panic!("host_kernel.h defines {wanted}"))
            .1
    };
    for mut map in open.maps_mut() {
        let (kind, map_name) = (map.map_type(), map.name().to_string_lossy().into_owned());
        let Some(value) = map.initial_value_mut() else {
            continue;
        };
        if kind == MapType::StructOps {
            write_text(
                &mut value[offset_of!(TcpCongestionOps, name)..][..=NAME_MAX],
                name,
            );
            for (_, at) in NOT_IN_ALL.iter().filter(|(hook, _)| !has(kernel, hook)) {
                value[*at..][..size_of::<u64>()].fill(0);
            }
        } else if let Some(section) = VARIABLES.iter().find(|name| map_name.ends_with(*name)) {
            let index = elf.section_by_name(section).map(|section| section.index());
            let own = elf
                .symbols()
                .filter(|symbol| symbol.section_index() == index);
            for symbol in own {
                let (start, size) = (symbol.address() as usize, symbol.size() as usize);
                let bytes = object.variables.get(symbol.name().unwrap_or_default());
                if let Some(bytes) = bytes.filter(|bytes| bytes.len() == size) {
                    value[start..start + size].copy_from_slice(bytes);
                }
            }
            map.set_map_flags(libbpf_sys::BPF_F_RDONLY_PROG | libbpf_sys::BPF_F_MMAPABLE)
                .expect("it is not loaded yet");
        } else if map_name.ends_with(".rodata") {
            let params = configured.values().into_iter();
            for (param, stored) in params.filter(|_| !configured.algorithm().is_kernel_form()) {
                let place = at(&format!("cc_param_{param}"));
                value[place..place + 4].copy_from_slice(&stored.to_le_bytes());
            }
            write_text(&mut value[at("cc_label")..][..LABEL_SIZE], &label.text());
        }
    }
}

/// Where a file in the kernel's form has its variables, which its programs must not write.
const VARIABLES: [&str; 2] = [".data", ".bss"];

/// `CC_LABEL_SIZE` of host_kernel.h.
pub(crate) const LABEL_SIZE: usize = 1024;

/// What an algorithm in the kernel says of itself, in the read-only data of its programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// In canonical form.
    pub spec: String,
    /// Of all that the file's texts are, 16 hexadecimal digits.
    pub fingerprint: String,
    /// Every parameter, as `beta=0.7 C=0.4`.
    pub parameters: String,
}

impl Label {
    /// `fingerprint`: of [`BpfObject`].
    pub fn for_algorithm(configured: &Configured, fingerprint: u64) -> Self {
        let params = configured.algorithm().params().iter();
        let values: Vec<_> = params
            .zip(configured.values())
            .map(|(param, (name, stored))| format!("{name}={}", param.display(stored)))
            .collect();
        Self {
            spec: configured.spec().to_string(),
            fingerprint: format!("{fingerprint:016x}"),
            parameters: values.join(" "),
        }
    }

    /// Is it that algorithm with those parameters, from the same text of the C file?
    pub fn is_of(&self, configured: &Configured, fingerprint: u64) -> bool {
        let other = Self::for_algorithm(configured, fingerprint);
        (&self.spec, &self.fingerprint) == (&other.spec, &other.fingerprint)
    }

    fn text(&self) -> String {
        format!("{}\n{}\n{}", self.fingerprint, self.spec, self.parameters)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut text = text;
        if text.len() == LABEL_SIZE - 1 {
            // The end is cut off, and with it perhaps a part of the last value.
            text = text.rsplit_once(' ')?.0;
        }
        let mut lines = text.splitn(3, '\n').map(String::from);
        Some(Self {
            fingerprint: lines.next()?,
            spec: lines.next()?,
            parameters: lines.next().unwrap_or_default(),
        })
    }
}

/// Fills `place` with the text, cut to leave a 0 at its end.
fn write_text(place: &mut [u8], text: &str) {
    let length = text.len().min(place.len() - 1);
    place.fill(0);
    place[..length].copy_from_slice(&text.as_bytes()[..length]);
}

fn refused(spec: &str, path: &str, error: &libbpf_rs::Error, log: &str) -> KernelError {
    // libbpf prints the verifier's log between these lines.
    let verifier = log
        .split_once("BEGIN PROG LOAD LOG --\n")
        .and_then(|(_, rest)| rest.split_once("\n-- END PROG LOAD LOG"));
    let Some((verifier, _)) = verifier else {
        let reason = log.lines().last().unwrap_or_default();
        return KernelError::system(format!("load {spec}"), format!("{error} {reason}"));
    };
    let aside = ["processed ", "cur state:", "old state:"];
    let said: Vec<_> = verifier
        .lines()
        .filter(|line| !line.is_empty() && !aside.iter().any(|words| line.starts_with(words)))
        .collect();
    // Before the instructions of a line stands `; SOURCE @ FILE:LINE`.
    let places = said.iter().rev();
    let places = places.filter_map(|line| Some(line.strip_prefix(';')?.rsplit_once(" @ ")?.1));
    let mut places = places.filter(|place| !place.starts_with(PROGRAMS_LABEL));
    let of_file = format!("{path}:");
    let at = places.clone().find(|place| place.starts_with(&of_file));
    let at = at.or_else(|| places.next());
    KernelError::Refused {
        spec: spec.into(),
        place: at.map(|at| format!(" ({at})")).unwrap_or_default(),
        reason: said.last().copied().unwrap_or("no reason").into(),
    }
}

/// What `work` returns and what libbpf said meanwhile. One at a time: libbpf has one printer.
pub(crate) fn with_log<T>(work: impl FnOnce() -> T) -> (T, String) {
    static ONE: Mutex<()> = Mutex::new(());
    static LOG: Mutex<String> = Mutex::new(String::new());

    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let take = || std::mem::take(&mut *LOG.lock().unwrap_or_else(PoisonError::into_inner));
    take();
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        LOG.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_str(&text);
    })));
    let result = work();
    libbpf_rs::set_print(None);
    (result, take())
}

/// How often a load is tried that the kernel interrupts.
const LOAD_ATTEMPTS: u32 = 10;

/// Loads again if the verifier was interrupted (EAGAIN), as it may be on a busy machine. libbpf itself
/// tries five times at once.
///
/// # Errors
/// As `load`.
pub fn unless_interrupted<T>(
    mut load: impl FnMut() -> libbpf_rs::Result<T>,
) -> libbpf_rs::Result<T> {
    let mut attempt = 1;
    loop {
        match load() {
            Err(error) if error.kind() == ErrorKind::WouldBlock && attempt < LOAD_ATTEMPTS => {
                attempt += 1;
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            loaded => return loaded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::clang;
    use ackclock_host::{Algorithm, Scratch};
    use std::io;

    /// The types of a kernel before Linux 7.1, or since, as clang writes them.
    fn kernel(scratch: &Scratch, member: &str) -> Btf<'static> {
        let text = format!(
            "struct tcp_congestion_ops {{ void (*cwnd_event)(void *sk, int ev); {member} }} ops;"
        );
        let source = scratch.write("kernel.c", text.as_bytes()).unwrap();
        let object = scratch.path().join("kernel.o");
        let mut compile = clang::command(&clang::find().unwrap(), &[], &source, &object);
        assert!(compile.status().unwrap().success());
        Btf::from_path(&object).unwrap()
    }

    /// Here, and on a kernel with that hook. There our program sits in another one that has the same
    /// arguments, `release`, so that the verifier of the kernel here judges it.
    #[test]
    fn every_algorithm_hears_the_start() {
        let scratch = Scratch::new().unwrap();
        let before = kernel(&scratch, "");
        let since = kernel(&scratch, "void (*cwnd_event_tx_start)(void *sk);");
        assert_eq!(
            [&before, &since].map(|each| has(each, TX_START)),
            [false, true]
        );
        if require("this test").is_err() {
            return println!("skipped: it needs root");
        }
        let here = Btf::from_vmlinux().unwrap();
        for algorithm in Algorithm::all() {
            let spec = algorithm.name();
            let configured = Algorithm::configure(spec).unwrap();
            let load = |object: &BpfObject, kernel| {
                let (loaded, log) = with_log(|| {
                    unless_interrupted(|| {
                        let mut open = ObjectBuilder::default().open_memory(&object.elf)?;
                        let label = Label::for_algorithm(&configured, 0);
                        patch(&mut open, object, &configured, "tx_start", &label, kernel);
                        open.load()
                    })
                });
                loaded.unwrap_or_else(|error| panic!("{spec}: {error}\n{log}"))
            };
            let mut object = compile::object(&configured).unwrap();
            assert_eq!(
                hears_tx_start(&load(&object, &here)),
                has(&here, TX_START),
                "{spec}"
            );
            let (from, to) = (b"\0cwnd_event_tx_start\0", b"\0release\0");
            let elf = object.elf.to_mut();
            for at in 0..elf.len() - from.len() {
                if elf[at..].starts_with(from) {
                    elf[at..][..to.len()].copy_from_slice(to);
                }
            }
            assert!(hears_tx_start(&load(&object, &since)), "{spec}");
        }
    }

    #[test]
    fn only_an_interrupted_load_is_tried_again() {
        let load = |fails: u32, errno| {
            let mut calls = 0;
            let loaded = unless_interrupted(|| {
                calls += 1;
                if calls <= fails {
                    return Err(io::Error::from_raw_os_error(errno).into());
                }
                Ok(())
            });
            (loaded.is_ok(), calls)
        };
        assert_eq!(load(3, libc::EAGAIN), (true, 4));
        assert_eq!(load(u32::MAX, libc::EAGAIN), (false, LOAD_ATTEMPTS));
        assert_eq!(load(3, libc::EPERM), (false, 1));
    }
}
