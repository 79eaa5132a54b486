//! What BPF algorithms the kernel has, and who uses them. Everything is asked of the kernel:
//! there is no file that could be wrong.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;

use libbpf_rs::btf::types::{DataSec, Struct};
use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::query::{
    LinkInfoIter, LinkTypeInfo, MapInfoIter, ProgInfoIter, ProgInfoQueryOptions,
};
use libbpf_rs::{Link, MapCore as _, MapFlags, MapHandle, MapType, ProgramType};

use super::load::{Label, LABEL_SIZE};
use super::namespaces::NetworkNamespace;
use super::{bpffs, require, KernelError};

/// The kernel's structure around a `tcp_congestion_ops` of BPF.
const VALUE: &str = "bpf_struct_ops_tcp_congestion_ops";

/// An algorithm in BPF that is registered in the kernel.
#[derive(Debug)]
pub struct Status {
    /// Its name in the kernel.
    pub name: String,
    /// Its spec; `None` if another program registered it.
    pub spec: Option<String>,
    /// Fingerprint of its C file, 16 hexadecimal digits; `None` as for the spec.
    pub fingerprint: Option<String>,
    /// (name, value) of every parameter.
    pub parameters: Vec<(String, String)>,
    /// Was it deployed, so that it outlives every process?
    pub pinned: bool,
    /// (number, name) of the processes that hold it.
    pub held_by: Vec<(u32, String)>,
    /// (namespace, sockets that use it).
    pub sockets: Vec<(String, usize)>,
    /// (namespace whose default it is, the default that `undeploy` restores there if known).
    pub default_in: Vec<(String, Option<String>)>,
}

/// An algorithm in BPF that the kernel has, and nothing of its users.
#[derive(Debug)]
pub(crate) struct Found {
    pub name: String,
    /// `None` if another program registered it.
    pub label: Option<Label>,
    link: u32,
}

impl Found {
    /// Is it that one which is pinned under its name?
    pub fn pinned(&self) -> bool {
        let pin = bpffs::pinned(&self.name).and_then(|path| Link::open(path).ok()?.info().ok());
        pin.is_some_and(|pin| pin.id == self.link)
    }
}

/// The registered ones, sorted by name.
///
/// # Errors
/// Missing privileges; a kernel without BPF `struct_ops`.
pub fn status() -> Result<Vec<Status>, KernelError> {
    require("looking at the kernel's BPF objects")?;
    let namespaces: Vec<_> = NetworkNamespace::all()
        .into_iter()
        .map(|namespace| {
            let sockets = namespace.sockets().unwrap_or_default();
            let default = namespace.default_algorithm().unwrap_or_default();
            (sockets, default, namespace)
        })
        .collect();
    let each = registered()?.into_iter().map(|found| {
        let used = namespaces.iter().filter_map(|(sockets, _, namespace)| {
            Some((namespace.name.clone(), *sockets.get(&found.name)?))
        });
        let defaults = namespaces
            .iter()
            .filter(|(_, default, _)| *default == found.name)
            .map(|(_, _, namespace)| {
                let previous = bpffs::previous_default(namespace.inode);
                (namespace.name.clone(), previous)
            });
        let parameters = found.label.iter().flat_map(|label| {
            let settings = label.parameters.split(' ');
            settings.filter_map(|setting| setting.split_once('='))
        });
        Status {
            pinned: found.pinned(),
            held_by: holders(found.link),
            sockets: used.collect(),
            default_in: defaults.collect(),
            parameters: parameters
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            spec: found.label.as_ref().map(|label| label.spec.clone()),
            fingerprint: found.label.as_ref().map(|label| label.fingerprint.clone()),
            name: found.name,
        }
    });
    Ok(each.collect())
}

/// What is registered, sorted by name.
pub(crate) fn registered() -> Result<Vec<Found>, KernelError> {
    let cannot = |error| KernelError::system("ask for the kernel's BPF objects", error);
    let vmlinux = Btf::from_vmlinux().map_err(cannot)?;
    let no_ops = || {
        KernelError::Other("this kernel does not support congestion control in BPF: its BTF has no bpf_struct_ops_tcp_congestion_ops; boot a kernel built with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y and CONFIG_NET=y".into())
    };
    let layout = Layout::from_btf(&vmlinux).ok_or_else(no_ops)?;
    let programs = ProgInfoQueryOptions::default().include_map_ids(true);
    let programs: HashMap<_, _> = ProgInfoIter::with_query_opts(programs)
        .filter(|program| program.ty == ProgramType::StructOps)
        .map(|program| (program.id, program.map_ids))
        .collect();
    let links: HashMap<_, _> = LinkInfoIter::default()
        .filter_map(|link| match link.info {
            LinkTypeInfo::StructOps(ops) => Some((ops.map_id, link.id)),
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    let ours = |map: &libbpf_rs::query::MapInfo| {
        map.ty == MapType::StructOps && map.btf_vmlinux_value_type_id == layout.type_id
    };
    for map in MapInfoIter::default().filter(ours) {
        let Some(link) = links.get(&map.id) else {
            continue; // no longer registered, or not yet
        };
        let Some(value) = first_value(map.id) else {
            continue; // gone meanwhile
        };
        let program = number(&value, layout.ssthresh);
        let label = programs.get(&program).and_then(|maps| label(program, maps));
        found.push(Found {
            name: text(&value[layout.name..]),
            label: label.as_deref().and_then(Label::parse),
            link: *link,
        });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Where in the value of a `struct_ops` map things are, in bytes.
struct Layout {
    type_id: u32,
    name: usize,
    /// In what user space reads: the id of the program.
    ssthresh: usize,
}

impl Layout {
    fn from_btf(vmlinux: &Btf<'_>) -> Option<Self> {
        let value: Struct<'_> = vmlinux.type_by_name(VALUE)?;
        let ops: Struct<'_> = vmlinux.type_by_name("tcp_congestion_ops")?;
        let data = offset(&value, "data")?;
        Some(Self {
            type_id: value.type_id().into(),
            name: data + offset(&ops, "name")?,
            ssthresh: data + offset(&ops, "ssthresh")?,
        })
    }
}

fn offset(of: &Struct<'_>, member: &str) -> Option<usize> {
    use libbpf_rs::btf::types::MemberAttr;
    let found = of
        .iter()
        .find(|each| each.name == Some(OsStr::new(member)))?;
    match found.attr {
        MemberAttr::Normal { offset } => Some(offset as usize / 8),
        MemberAttr::BitField { .. } => None,
    }
}

/// What host_kernel.h's `cc_label` says, in the read-only data of a program.
fn label(program: u32, maps: &[u32]) -> Option<String> {
    let btf = Btf::from_prog_id(program).ok()?;
    let rodata: DataSec<'_> = btf.type_by_name(".rodata")?;
    let place = rodata.iter().find(|variable| {
        let of: Option<BtfType<'_>> = btf.type_by_id(variable.ty);
        of.is_some_and(|of| of.name() == Some(OsStr::new("cc_label")))
    })?;
    let values = maps.iter().filter_map(|id| first_value(*id));
    let wanted = place.offset as usize..place.offset as usize + LABEL_SIZE;
    values
        .into_iter()
        .find_map(|value| Some(text(value.get(wanted.clone())?)))
}

fn first_value(map_id: u32) -> Option<Vec<u8>> {
    let map = MapHandle::from_map_id(map_id).ok()?;
    map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()?
}

/// Processes that have the link open.
fn holders(link: u32) -> Vec<(u32, String)> {
    let wanted = format!("link_id:\t{link}\n");
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let infos = fs::read_dir(process.path().join("fdinfo"))
            .into_iter()
            .flatten()
            .flatten();
        let holds = infos
            .filter_map(|info| fs::read_to_string(info.path()).ok())
            .any(|info| info.contains(&wanted));
        if holds {
            let command = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            let pid = process.file_name().to_string_lossy().parse();
            found.extend(pid.map(|pid| (pid, command.trim().to_string())));
        }
    }
    found
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

/// Up to the first 0.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
