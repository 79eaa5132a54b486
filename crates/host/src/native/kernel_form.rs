//! A file in the Linux kernel's form: one code for each HZ, and one copy of its variables for each
//! set of module parameters.
//!
//! `algorithms/kernel/` has the headers that it includes, and `module.c`, which is linked to it and
//! which `Table` mirrors. module_init runs once for each copy. Then the copy is read only: flows, and
//! threads, share it.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_char, c_int, c_long, CString};
use std::io::{Read as _, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use super::apart::Apart;
use crate::algorithm::{name_of, KernelForm, Origin};
use crate::checked::Checked;
use crate::library::Loaded;
use crate::module::{text, Declared};
use crate::param::{Param, Preset};
use crate::scratch::Scratch;
use crate::sock::{TcpCongestionOps, ICSK_CA_PRIV_WORDS, KERNEL_HOOKS};
use crate::thread_clock::ThreadClock;
use crate::{call, crash, Algorithm, AlgorithmError, KernelProgram, KERNEL_SUPPORT, SUPPORT};

/// The HZ of the copy that says what a file registers.
pub(crate) const FIRST_HZ: u32 = 250;
/// The symbol of the table in module.c.
const TABLE: &str = "cc_kernel";

/// `struct cc_kernel_param`.
#[repr(C)]
struct ParamDesc {
    name: *const c_char,
    doc: *const c_char,
    kind: *const c_char,
    value: *const u8,
    order: u32,
    size: u32,
    len: u32,
    given: *const u32,
    ops: *const ParamOps,
}

/// `struct kernel_param_ops`.
#[repr(C)]
struct ParamOps {
    flags: u32,
    set: usize,
}

/// `struct cc_kernel`.
#[repr(C)]
struct Table {
    params: *const *const ParamDesc,
    params_end: *const *const ParamDesc,
    registered: *const *const u8,
    summary: unsafe extern "C" fn() -> *const c_char,
    prepare: unsafe extern "C" fn(c_long),
    get: unsafe extern "C" fn(*const ParamDesc, u32) -> i64,
    set: unsafe extern "C" fn(*const ParamDesc, u32, i64, *const c_char) -> c_int,
    start: unsafe extern "C" fn() -> c_int,
    hooks: unsafe extern "C" fn(*const u8, *mut TcpCongestionOps, *mut [usize; KERNEL_HOOKS]),
}

/// The kernel that a file is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(crate) hz: u32,
    /// Bytes of `icsk_ca_priv`.
    pub(crate) ca_priv: u32,
}

impl Target {
    /// That of the copy that says what a file registers.
    pub(crate) const FIRST: Self = Self {
        hz: FIRST_HZ,
        ca_priv: LINUX_CA_PRIV,
    };
}

/// What Linux has, and a parameter of every file that makes it larger.
pub(crate) const LINUX_CA_PRIV: u32 = 8 * ICSK_CA_PRIV_WORDS as u32;
pub(crate) const MOST_CA_PRIV: u32 = 4096;
const CA_PRIV: &str = "icsk_ca_priv_bytes";

/// Makes the library for a kernel; true: with each variable as it was written.
pub(crate) type Compile =
    Box<dyn Fn(Target, bool) -> Result<Vec<u8>, AlgorithmError> + Send + Sync>;

/// A file, and what was made of it.
pub(crate) struct KernelFile {
    origin: Origin,
    compile: Compile,
    has_two_arguments: bool,
    /// It compiles only with a larger `icsk_ca_priv` than Linux has.
    needs_more: bool,
    /// The code for a kernel.
    images: Mutex<HashMap<Target, Arc<[u8]>>>,
    /// Those in use.
    copies: Mutex<Copies>,
}

/// By HZ and the values of all parameters.
type Copies = HashMap<(u32, Arc<[u32]>), Weak<Copy>>;

/// The file's code and variables in memory.
pub(crate) struct Copy {
    library: Loaded,
    pub(crate) summary: String,
    pub(crate) params: Vec<Param>,
    /// What it registered, in that order: (address of the ops, the same for the host).
    pub(crate) registered: Vec<(usize, TcpCongestionOps)>,
}

/// Code of a file that runs while it is loaded.
struct Step {
    run: Box<dyn FnOnce() -> c_int + Send>,
    /// Of which parameter it is the setter, and what it gets; None: it is module_init.
    sets: Option<(String, i64)>,
}

impl Step {
    fn what(sets: Option<&(String, i64)>) -> String {
        sets.map_or("module_init".into(), |(name, _)| {
            format!("parameter {name}: its setter")
        })
    }

    fn refuses(sets: Option<&(String, i64)>, error: c_int) -> String {
        let errno = errno(error);
        match sets {
            Some((name, number)) => {
                format!("parameter {name}: its own check refuses {number} ({errno})")
            }
            None => format!(
                "module_init returns {error} ({errno}): it refuses these parameters, or this host"
            ),
        }
    }
}

/// The answer of a step that does not return.
const ENDLESS_STEP: c_int = c_int::MIN;

/// A parameter of [`Copy::params`], in the table.
struct Place {
    desc: *const ParamDesc,
    index: u32,
}

/// What a file has registered. It holds the code that hooks point to.
#[derive(Clone)]
struct Registered {
    file: Arc<KernelFile>,
    copy: Arc<Copy>,
    ops: usize,
}

impl Registered {
    fn algorithm(self) -> Result<Algorithm, AlgorithmError> {
        let (file, copy) = (&self.file, &self.copy);
        let hooks = copy.hooks_at(self.ops);
        let others = copy.registered.iter().filter(|_| copy.registered.len() > 1);
        let presets = others.map(|(_, ops)| Preset {
            name: name_of(ops),
            settings: String::new(),
            doc: format!("the file's algorithm {}", name_of(ops)),
        });
        let summary = match copy.summary.as_str() {
            "" => format!("{}, from a file in the kernel's form", name_of(&hooks)),
            summary => summary.into(),
        };
        let declared = Declared {
            name: name_of(&hooks),
            summary,
            params: copy.params.clone(),
            presets: presets.collect(),
            storage_bytes: 0,
            ops: hooks,
        };
        Algorithm::of_kernel_form(declared, file.origin.clone(), Box::new(self))
    }
}

impl KernelForm for Registered {
    fn ops(&self) -> usize {
        self.ops
    }

    fn registered(&self, name: &str) -> Result<Algorithm, AlgorithmError> {
        let mut all = self.copy.registered.iter();
        let (ops, _) = all.find(|(_, ops)| name_of(ops) == name).expect("a preset");
        let chosen = Self {
            ops: *ops,
            ..self.clone()
        };
        chosen.algorithm()
    }

    fn copy_for(&self, hz: u32, values: &Arc<[u32]>) -> Result<Algorithm, AlgorithmError> {
        let name = name_of(&self.copy.hooks_at(self.ops));
        let copy = self.file.copy(hz, Some(values))?;
        let ops = self.file.named(&copy, &name)?;
        let file = Arc::clone(&self.file);
        Self { file, copy, ops }.algorithm()
    }

    fn switched(&self, ops: usize) -> Algorithm {
        if !self.copy.library.stays_frozen() {
            crash::end(
                &self.file.origin.path,
                "changes icsk_ca_ops, and writes variables that flows share",
            );
        }
        let switched = Self {
            ops,
            ..self.clone()
        };
        switched
            .algorithm()
            .expect("the file's own ops, as those before")
    }

    fn program(&self, hz: u32, values: &Arc<[u32]>) -> Result<KernelProgram, AlgorithmError> {
        let name = name_of(&self.copy.hooks_at(self.ops));
        let image = (self.file.compile)(self.file.target(hz, Some(values))?, true)?;
        let copy = Copy::load(&self.file, &image, Some(values))?;
        let ops = self.file.named(&copy, &name)?;
        let (hooks, own) = copy.functions_at(ops);
        let named = HOOK_NAMES.iter().zip(own).filter(|(_, at)| *at != 0);
        let named = named.filter_map(|(hook, at)| Some((*hook, copy.library.function_at(at)?)));
        Ok(KernelProgram {
            hooks: named.collect(),
            has_two_arguments: self.file.has_two_arguments,
            flags: hooks.flags,
            variables: copy.library.variables(),
        })
    }
}

impl KernelFile {
    pub(crate) fn new(
        origin: Origin,
        compile: Compile,
        has_two_arguments: bool,
        needs_more: bool,
    ) -> Self {
        Self {
            origin,
            compile,
            has_two_arguments,
            needs_more,
            images: Mutex::default(),
            copies: Mutex::default(),
        }
    }

    /// The algorithm that it registers first, with the defaults of all parameters.
    pub(crate) fn algorithm(self) -> Result<Algorithm, AlgorithmError> {
        let file = Arc::new(self);
        let copy = file.copy(FIRST_HZ, None)?;
        let ops = copy.registered[0].0;
        Registered { file, copy, ops }.algorithm()
    }

    /// The ops of that name in a copy.
    fn named(&self, copy: &Copy, name: &str) -> Result<usize, AlgorithmError> {
        let mut all = copy.registered.iter();
        let own = all.find(|(_, ops)| name_of(ops) == name).map(|own| own.0);
        own.ok_or_else(|| {
            let problem = format!("with these parameters module_init does not register {name}");
            self.declares(&problem)
        })
    }

    fn registers_nothing(&self) -> AlgorithmError {
        AlgorithmError(format!("{} registers no algorithm; its module_init must call tcp_register_congestion_control(&ops), with ssthresh, undo_cwnd, and cong_avoid or cong_control in ops", self.origin.path))
    }

    fn declares(&self, problem: &str) -> AlgorithmError {
        AlgorithmError::bad_declaration(&self.origin.path, problem)
    }

    fn cannot(&self, error: &dyn std::error::Error) -> AlgorithmError {
        AlgorithmError::cannot_load(&self.origin.path, error)
    }

    /// Runs code of the file, whose variables this process has afterwards: where that is possible in a
    /// process of its own.
    fn take(&self, steps: Vec<Step>, library: &Loaded) -> Result<(), AlgorithmError> {
        let mut named: VecDeque<_> = steps.iter().map(|step| step.sets.clone()).collect();
        let run = move |to: &mut dyn Write| {
            for step in steps {
                let answer = in_time(step.run);
                let _ = to.write_all(&answer.unwrap_or(ENDLESS_STEP).to_ne_bytes());
                if answer != Some(0) {
                    return;
                }
            }
        };
        let mut told = Vec::new();
        let mut last_words = String::new();
        if Apart::IS_POSSIBLE {
            let ran = (library.share(true))
                .and_then(|()| Apart::start(&[], |mut to, _| run(&mut to)))
                .and_then(|(process, mut from)| {
                    from.read_to_end(&mut told)?;
                    last_words = process.end();
                    library.share(false)
                });
            ran.map_err(|error| self.cannot(&error))?;
        } else {
            run(&mut told);
        }
        for answer in told.chunks_exact(4) {
            let sets = named.pop_front().flatten();
            let problem = match c_int::from_ne_bytes(answer.try_into().expect("4 bytes")) {
                0 => continue,
                ENDLESS_STEP => format!("{} {ENDLESS}", Step::what(sets.as_ref())),
                error => Step::refuses(sets.as_ref(), error),
            };
            return Err(self.declares(&problem));
        }
        match named.pop_front() {
            None => Ok(()),
            Some(sets) if last_words.is_empty() => {
                Err(self.declares(&format!("{} was killed", Step::what(sets.as_ref()))))
            }
            Some(_) => Err(AlgorithmError(last_words)),
        }
    }

    /// The kernel that these values ask for: the last is [`CA_PRIV`].
    fn target(&self, hz: u32, values: Option<&Arc<[u32]>>) -> Result<Target, AlgorithmError> {
        let ca_priv = match values.and_then(|values| values.last()) {
            Some(&bytes) if bytes == LINUX_CA_PRIV && self.needs_more => {
                let path = &self.origin.path;
                return Err(AlgorithmError(format!(
                    "{path} keeps more than the {LINUX_CA_PRIV} bytes of icsk_ca_priv that Linux has for each socket (its own BUILD_BUG_ON): its author's kernel has more; say how many, {path}:{CA_PRIV}=256"
                )));
            }
            Some(&bytes) => bytes,
            None if self.needs_more => MOST_CA_PRIV,
            None => LINUX_CA_PRIV,
        };
        Ok(Target { hz, ca_priv })
    }

    /// The copy with these values, or with the defaults.
    pub(crate) fn copy(
        &self,
        hz: u32,
        values: Option<&Arc<[u32]>>,
    ) -> Result<Arc<Copy>, AlgorithmError> {
        let target = self.target(hz, values)?;
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let key = values.map(|values| (hz, Arc::clone(values)));
        let known = key.as_ref().and_then(|key| copies.get(key));
        if let Some(copy) = known.and_then(Weak::upgrade) {
            return Ok(copy);
        }
        let image = {
            let mut images = self.images.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(image) = images.get(&target) {
                Arc::clone(image)
            } else {
                let image: Arc<[u8]> = (self.compile)(target, false)?.into();
                images.insert(target, Arc::clone(&image));
                image
            }
        };
        let copy = Arc::new(Copy::load(self, &image, values)?);
        let key = key.unwrap_or_else(|| {
            let defaults = copy.params.iter().map(|param| param.default);
            (hz, defaults.collect())
        });
        copies.retain(|_, copy| copy.strong_count() > 0);
        copies.insert(key, Arc::downgrade(&copy));
        Ok(copy)
    }
}

impl Copy {
    fn load(
        of: &KernelFile,
        image: &[u8],
        values: Option<&Arc<[u32]>>,
    ) -> Result<Self, AlgorithmError> {
        // A file of its own: the loader gives two names of one file the same variables.
        let scratch = Scratch::new().map_err(|error| of.cannot(&error))?;
        let file = scratch.write("algorithm.so", image);
        let file = file.map_err(|error| of.cannot(&error))?;
        let library = Loaded::open(&file, &of.origin.path, TABLE);
        let library = library.map_err(|error| of.cannot(&*error))?;
        crash::prepare_thread();
        if let Some(checked) = Checked::in_library(&library) {
            checked.prepare(0);
        }
        let table = library
            .symbol::<Table>(TABLE)
            .ok_or_else(|| of.registers_nothing())?;
        // SAFETY: module.c defines the table, and `library` keeps it loaded. Its functions run on this
        // thread, one at a time, and nothing else has this copy yet.
        let (summary, params, registered) = unsafe {
            let table = &*table;
            (table.prepare)(call::slot());
            let (params, places) = parameters(table);
            let setters = places.iter().filter_map(|place| (*place.desc).ops.as_ref());
            let setters: Vec<_> = setters.map(|ops| ops.set).collect();
            if Checked::in_library(&library).is_some() && !library.begin_functions(&setters) {
                return Err(of.declares(NO_HOOK));
            }
            let given = values.into_iter().flat_map(|values| values.iter());
            // The last parameter is no variable of the file.
            let changed = (params.iter().zip(&places).zip(given))
                .filter(|((param, _), value)| **value != param.default);
            let mut steps: Vec<_> = changed
                .map(|((param, place), &value)| {
                    let number = param.whole(value);
                    let written = CString::new(number.to_string()).expect("digits");
                    let (set, (desc, index)) = (table.set, (Shared(place.desc), place.index));
                    Step {
                        run: Box::new(move || set(desc.get(), index, number, written.as_ptr())),
                        sets: Some((param.name.clone(), number)),
                    }
                })
                .collect();
            let start = table.start;
            steps.push(Step {
                run: Box::new(move || start()),
                sets: None,
            });
            of.take(steps, &library)?;
            let mut registered = Vec::new();
            let mut at = table.registered;
            while !(*at).is_null() {
                let found = hooks(table, *at, &library);
                let (hooks, _) = found.ok_or_else(|| of.declares(NO_HOOK))?;
                registered.push((*at as usize, hooks));
                at = at.add(1);
            }
            (text((table.summary)()), params, registered)
        };
        if registered.is_empty() {
            return Err(of.registers_nothing());
        }
        library.freeze(true);
        Ok(Self {
            library,
            summary,
            params,
            registered,
        })
    }

    /// The hooks of other ops of this copy, which a file has put into icsk_ca_ops.
    pub(crate) fn hooks_at(&self, ops: usize) -> TcpCongestionOps {
        self.functions_at(ops).0
    }

    /// The same, and the file's own functions by [`HOOK_NAMES`].
    fn functions_at(&self, ops: usize) -> (TcpCongestionOps, [usize; KERNEL_HOOKS]) {
        let table = self.library.symbol::<Table>(TABLE).expect("it was there");
        // SAFETY: as in `load`; the file's own code has made `ops` the socket's.
        let hooks = unsafe { hooks(&*table, ops as *const u8, &self.library) };
        hooks.unwrap_or_else(|| crash::end("icsk_ca_ops", NO_HOOK))
    }
}

/// The functions of ops, in the order of hooks() in module.c.
const HOOK_NAMES: [&str; KERNEL_HOOKS] = [
    "ssthresh",
    "cong_avoid",
    "set_state",
    "cwnd_event",
    "in_ack_event",
    "pkts_acked",
    "min_tso_segs",
    "cong_control",
    "undo_cwnd",
    "sndbuf_expand",
    "get_info",
    "init",
    "release",
    "tso_segs",
    "tso_segs_goal",
    "setsockopt",
];

const ENDLESS: &str =
    "has run for 5 s of CPU time and does not return; give every loop a bound, as the kernel demands";
/// As a hook has in a run.
const LIMIT: Duration = Duration::from_secs(5);

/// A pointer into a library that stays loaded, for another thread.
struct Shared<T>(*const T);

// SAFETY: the thread that has it waits for the one that uses it.
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    fn get(&self) -> *const T {
        self.0
    }
}

/// What code of a file returns that runs while it is loaded; `None`: nothing in [`LIMIT`].
fn in_time<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (begun, beginning) = mpsc::channel();
    let (done, result) = mpsc::channel();
    thread::spawn(move || {
        crash::prepare_thread();
        let _ = begun.send(ThreadClock::current());
        let _ = done.send(run());
    });
    let clock = beginning.recv().ok()?;
    loop {
        match result.recv_timeout(LIMIT / 50) {
            Err(RecvTimeoutError::Timeout) => {
                if clock.and_then(ThreadClock::elapsed) >= Some(LIMIT) {
                    return None;
                }
            }
            answer => return answer.ok(),
        }
    }
}

const NO_HOOK: &str = "a hook is not the beginning of a function";

/// `None`: a hook of a file that is not trusted does not begin a function.
///
/// # Safety
/// The table is of the library, and `ops` are its own.
unsafe fn hooks(
    table: &Table,
    ops: *const u8,
    library: &Loaded,
) -> Option<(TcpCongestionOps, [usize; KERNEL_HOOKS])> {
    let mut into = TcpCongestionOps::default();
    let mut own = [0; KERNEL_HOOKS];
    // SAFETY: module.c fills both.
    unsafe { (table.hooks)(ops, &raw mut into, &raw mut own) };
    let is_good = Checked::in_library(library).is_none() || library.begin_functions(&own);
    is_good.then_some((into, own))
}

/// The parameters that are whole numbers of at most 32 bits; the others keep their defaults.
///
/// # Safety
/// The table is of a loaded library that is not frozen yet.
unsafe fn parameters(table: &Table) -> (Vec<Param>, Vec<Place>) {
    // SAFETY: the linker has made an array of addresses between the two; where a file has no
    // parameters both are null. Strings are literals.
    unsafe {
        let len = (table.params_end as usize - table.params as usize) / size_of::<usize>();
        let mut descs: Vec<*const ParamDesc> =
            (0..len).map(|index| *table.params.add(index)).collect();
        descs.sort_by_key(|desc| (**desc).order);
        let doc = |name: &str| {
            let docs = descs.iter().filter(|desc| !(***desc).doc.is_null());
            let mut own = docs.filter(|desc| text((***desc).name) == name);
            own.next()
                .map_or_else(String::new, |desc| text((**desc).doc))
        };
        let (mut params, mut places) = (Vec::new(), Vec::new());
        for &desc in descs.iter().filter(|desc| (***desc).doc.is_null()) {
            let of = &*desc;
            let (name, kind) = (text(of.name), text(of.kind));
            let bits = 8 * of.size;
            let most = match kind.as_str() {
                "bool" | "_Bool" | "invbool" => 1,
                "short" | "int" | "long" => (1_u64 << (bits - 1)) - 1,
                "byte" | "ushort" | "uint" | "ulong" | "ullong" | "hexint" | "" => {
                    u64::MAX >> (64 - bits)
                }
                _ => continue,
            };
            for index in 0..of.len.max(1) {
                let value = (table.get)(desc, index);
                let is_signed = matches!(kind.as_str(), "short" | "int" | "long");
                let is_unsigned = most > 1 << (bits - 1) && bits == 32;
                let value = if is_unsigned {
                    i64::from(value as u32)
                } else {
                    value
                };
                let stored = if is_signed {
                    i32::try_from(value).map(|value| value as u32)
                } else {
                    u32::try_from(value)
                };
                let Ok(default) = stored else {
                    continue;
                };
                let (min, max) = if is_signed {
                    let most = most.min(i32::MAX as u64) as i32;
                    ((-most - 1) as u32, most as u32)
                } else {
                    (0, most.min(u32::MAX.into()) as u32)
                };
                params.push(Param {
                    name: match of.len {
                        0 => name.clone(),
                        _ => format!("{name}[{index}]"),
                    },
                    doc: doc(&name),
                    default,
                    min,
                    max,
                    scale: 1,
                    is_signed,
                });
                places.push(Place { desc, index });
            }
        }
        params.push(Param {
            name: CA_PRIV.into(),
            doc: "bytes that a socket has for the file, as its author's kernel".into(),
            default: LINUX_CA_PRIV,
            min: LINUX_CA_PRIV,
            max: MOST_CA_PRIV,
            scale: 1,
            is_signed: false,
        });
        (params, places)
    }
}

/// The name of an error that a kernel's function returns.
fn errno(error: c_int) -> String {
    let names = KERNEL_SUPPORT.iter().chain(SUPPORT);
    let (_, text) = names
        .copied()
        .find(|(name, _)| name.ends_with("kernel_names.h"))
        .expect("it is there");
    let ours = text.split_once("<linux/errno.h>").expect("its errors").1;
    let ours = ours.split("};").next().unwrap_or_default();
    let sought = format!(" = {}", -i64::from(error));
    let named = ours
        .split(['{', ','])
        .find_map(|each| each.trim().strip_suffix(&sought));
    named.unwrap_or("an error").into()
}
