//! Last words: when the code of a user's C file crashes, one line names the file and the function.
//!
//! A signal handler looks the faulting instruction up among the loaded files. What it prints was
//! prepared when the file was loaded, since a handler may allocate nothing. A crash of other code
//! goes to whoever handled the signal before: Rust, Python's faulthandler, the system.

use std::collections::HashMap;
use std::ffi::{c_int, c_void, CString};
use std::io::{self, Write as _};
use std::mem::{self, MaybeUninit};
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};
use std::sync::Once;

use object::elf::PT_GNU_RELRO;
use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Object, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolKind};

use crate::call;
use crate::guarded::{Moment, DIVIDES, NO_STACK, STOPS};
use crate::lines::{shown_line, Lines};
use crate::sock::TcpSock;

const SIGNALS: [c_int; 5] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
];

/// The code of one loaded file. Never freed: a handler may be reading it.
struct Region {
    start: usize,
    end: usize,
    /// `error: FILE` and its functions, by where they lie.
    file: CString,
    functions: Vec<Place>,
    /// Its variables, and the pages that they lie in.
    variables: Vec<Place>,
    writable: (usize, usize),
    /// Up to there the loader alone writes.
    constant: usize,
    lines: Lines,
    is_loaded: AtomicBool,
    is_frozen: AtomicBool,
    /// A write ends nothing: [`WARNS`], and after the first [`WARNED`].
    thaws: AtomicU8,
    next: Option<&'static Region>,
}

/// Where something begins and ends, and its name.
type Place = (usize, usize, CString);

/// The newest region; the others follow.
static REGIONS: AtomicPtr<Region> = AtomicPtr::new(null_mut());
/// Who handled [`SIGNALS`] before.
static mut BEFORE: [MaybeUninit<libc::sigaction>; SIGNALS.len()] =
    [const { MaybeUninit::uninit() }; SIGNALS.len()];

/// Keeps a loaded file known to the handler.
pub(crate) struct Entry(&'static Region);

impl Entry {
    /// The library `image` of the user's file `name` is loaded, its `symbol` at `address`.
    pub(crate) fn new(name: &str, image: &[u8], symbol: &str, address: usize) -> Option<Self> {
        let image = object::File::parse(image).ok()?;
        let known = image
            .dynamic_symbols()
            .chain(image.symbols())
            .find(|each| {
                each.name()
                    .is_ok_and(|name| name.trim_start_matches('_') == symbol)
            })?;
        let base = address.wrapping_sub(known.address() as usize);
        let place = |address: u64| base.wrapping_add(address as usize);
        let start = image.segments().map(|segment| segment.address()).min()?;
        let end = image
            .segments()
            .map(|each| each.address() + each.size())
            .max()?;
        // `is_whole`: with what gcc adds to the parts of a function, as in `f.cold`.
        let named = |kind, is_whole: bool| -> Vec<Place> {
            let symbols = image.symbols();
            symbols
                .filter(|symbol| symbol.kind() == kind && symbol.size() > 0)
                .filter_map(|symbol| {
                    let start = place(symbol.address());
                    let name = symbol.name().ok()?;
                    let name = name.split('.').next().filter(|_| !is_whole).unwrap_or(name);
                    let name = CString::new(name).ok()?;
                    Some((start, start + symbol.size() as usize, name))
                })
                .collect()
        };
        // SAFETY: sysconf takes a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let is_writable = |segment: &object::Segment<'_, '_>| matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.contains(object::elf::PF_W));
        let writable = image
            .segments()
            .filter(is_writable)
            .map(|segment| {
                let start = place(segment.address());
                let end = start + segment.size() as usize;
                (start / page * page, end.next_multiple_of(page))
            })
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let constant = match &image {
            object::File::Elf64(image) => constant(image).map(place),
            _ => None,
        };
        let region = Box::leak(Box::new(Region {
            start: place(start),
            end: place(end),
            file: CString::new(name).ok()?,
            functions: named(SymbolKind::Text, false),
            variables: named(SymbolKind::Data, true),
            writable: writable.unwrap_or_default(),
            constant: constant.unwrap_or_default() / page * page,
            lines: Lines::from_image(&image, base).unwrap_or_default(),
            is_loaded: AtomicBool::new(true),
            is_frozen: AtomicBool::new(false),
            thaws: AtomicU8::new(ENDS),
            next: None,
        }));
        let mut newest = REGIONS.load(Ordering::Acquire);
        loop {
            // SAFETY: null or leaked by an earlier call.
            region.next = unsafe { newest.as_ref() };
            match REGIONS.compare_exchange(newest, region, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(newer) => newest = newer,
            }
        }
        install();
        Some(Self(region))
    }

    /// Does a function begin there?
    pub(crate) fn begins(&self, address: usize) -> bool {
        self.0.functions.iter().any(|place| place.0 == address)
    }

    /// The name of the function that begins there.
    pub(crate) fn function_at(&self, address: usize) -> Option<String> {
        let mut all = self.0.functions.iter();
        let own = all.find(|place| place.0 == address)?;
        Some(own.2.to_string_lossy().into_owned())
    }

    /// Its variables and what they contain, without those of a function.
    pub(crate) fn variables(&self) -> HashMap<String, Vec<u8>> {
        let mut found: HashMap<String, Option<Vec<u8>>> = HashMap::new();
        let (first, last) = self.0.writable;
        let is_of_file = |place: &&Place| {
            (first..last).contains(&place.0) && !place.2.as_bytes().contains(&b'.')
        };
        for (start, end, name) in self.0.variables.iter().filter(is_of_file) {
            // SAFETY: the library is loaded as long as there is an entry, and has the variable there.
            let bytes = unsafe { std::slice::from_raw_parts(*start as *const u8, end - start) };
            let name = name.to_string_lossy().into_owned();
            let value = found.entry(name);
            value
                .and_modify(|each| *each = None)
                .or_insert_with(|| Some(bytes.to_vec()));
        }
        let single = found.into_iter();
        single
            .filter_map(|(name, bytes)| Some((name, bytes?)))
            .collect()
    }

    /// Whether a copy of this process has the same variables, and not a copy of them: not those that
    /// only the loader writes, which say where code is.
    #[cfg(target_os = "linux")]
    pub(crate) fn share(&self, shared: bool) -> io::Result<()> {
        let (first, end) = self.0.writable;
        let start = first.max(self.0.constant);
        let bytes = end.saturating_sub(start);
        if bytes == 0 {
            return Ok(());
        }
        let both = libc::PROT_READ | libc::PROT_WRITE;
        let how = if shared {
            libc::MAP_SHARED
        } else {
            libc::MAP_PRIVATE
        };
        // SAFETY: the pages are the library's own, which is loaded; no other thread has it yet.
        unsafe {
            let new = libc::mmap(null_mut(), bytes, both, how | libc::MAP_ANONYMOUS, -1, 0);
            if new == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            ptr::copy_nonoverlapping(start as *const u8, new.cast(), bytes);
            let fixed = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            if libc::mremap(new, bytes, bytes, fixed, start) == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(missing_docs, clippy::unused_self, reason = "as above")]
    pub(crate) fn share(&self, _: bool) -> io::Result<()> {
        Ok(())
    }

    /// From now on a write to a variable of the file is a crash, or the first is a warning.
    pub(crate) fn freeze(&self, thaws: bool) {
        self.0
            .thaws
            .store(if thaws { WARNS } else { ENDS }, Ordering::Release);
        self.0.is_frozen.store(true, Ordering::Release);
        self.0.protect(libc::PROT_READ);
    }
}

/// What a write to a frozen variable does.
const ENDS: u8 = 0;
const WARNS: u8 = 1;
const WARNED: u8 = 2;

impl Entry {
    /// The host trusts more than the registered ops, which it has copied: no variable is written from
    /// now on. False: some was.
    pub(crate) fn stays_frozen(&self) -> bool {
        let thaws = &self.0.thaws;
        let _ = thaws.compare_exchange(WARNS, ENDS, Ordering::AcqRel, Ordering::Acquire);
        thaws.load(Ordering::Acquire) == ENDS
    }
}

impl Region {
    /// Sets what may be done with the file's variables.
    fn protect(&self, allowed: c_int) {
        self.protect_from(self.writable.0, allowed);
    }

    /// The same from there on.
    fn protect_from(&self, start: usize, allowed: c_int) {
        let bytes = self.writable.1.saturating_sub(start);
        // SAFETY: the pages are the library's own, which is loaded.
        unsafe { libc::mprotect(start as *mut c_void, bytes, allowed) };
    }

    /// Lets the file write its variables, if a write is to be a warning. True: it is the first.
    fn thaw(&self) -> bool {
        let (before, after) = (Ordering::AcqRel, Ordering::Acquire);
        let is_first = self
            .thaws
            .compare_exchange(WARNS, WARNED, before, after)
            .is_ok();
        if is_first {
            // Not what says where code is.
            let start = self.writable.0.max(self.constant);
            self.protect_from(start, libc::PROT_READ | libc::PROT_WRITE);
            self.is_frozen.store(false, Ordering::Release);
        }
        is_first
    }

    /// The variable there, if it must not be written.
    fn frozen(&self, address: usize) -> Option<&[u8]> {
        let (start, end) = self.writable;
        let is_frozen = self.is_frozen.load(Ordering::Acquire) && (start..end).contains(&address);
        let name = || {
            let whole = find(&self.variables, address).unwrap_or(b"a variable");
            // A function's own variable: NAME.NUMBER.
            let end = whole.iter().position(|byte| *byte == b'.');
            &whole[..end.unwrap_or(whole.len())]
        };
        is_frozen.then(name)
    }
}

/// Where the part of a file ends that is read only once it is loaded.
fn constant(image: &ElfFile64<'_>) -> Option<u64> {
    let endian = image.endian();
    let mut all = image.elf_program_headers().iter();
    let part = all.find(|each| each.p_type(endian) == PT_GNU_RELRO)?;
    Some(part.p_vaddr(endian) + part.p_memsz(endian))
}

/// The name of what lies there.
fn find(places: &[Place], address: usize) -> Option<&[u8]> {
    let mut places = places.iter();
    let place = places.find(|place| (place.0..place.1).contains(&address))?;
    Some(place.2.as_bytes())
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.is_loaded.store(false, Ordering::Release);
        // The loader writes there when it unloads.
        let was_frozen = self.0.is_frozen.load(Ordering::Acquire);
        if was_frozen || self.0.thaws.load(Ordering::Acquire) == WARNED {
            self.0.protect(libc::PROT_READ | libc::PROT_WRITE);
        }
    }
}

fn install() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        for (index, signal) in SIGNALS.into_iter().enumerate() {
            // SAFETY: the handler calls nothing but what POSIX allows in one; `BEFORE` is written
            // before the handler that reads it is in place.
            unsafe {
                let before = (&raw mut BEFORE[index]).cast::<libc::sigaction>();
                libc::sigaction(signal, ptr::null(), before);
                let mut action: libc::sigaction = mem::zeroed();
                action.sa_sigaction = handler as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(signal, &raw const action, null_mut());
            }
        }
    });
}

extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system gives valid pointers; regions are never freed.
    unsafe {
        let Registers { pc, caller, sp } = Registers::from_context(context);
        let newest = REGIONS.load(Ordering::Acquire).as_ref();
        let breach = call::breach();
        let loaded = || {
            std::iter::successors(newest, |region| region.next)
                .filter(|region| region.is_loaded.load(Ordering::Acquire))
        };
        let places = match breach {
            // Where the check returns to.
            Some((place, ..)) => [place, place],
            None => [pc, caller],
        };
        for place in places {
            let region = loaded().find(|each| (each.start..each.end).contains(&place));
            if let Some(region) = region {
                // Of an address that no memory can have, x86 does not tell which.
                let is_known = (*info).si_code != libc::SI_KERNEL;
                let address = if is_known {
                    (*info).si_addr() as usize
                } else {
                    usize::MAX
                };
                let is_own = place == pc;
                // A call that never returns may be the last of its function.
                let called = place - usize::from(!is_own);
                let function = find(&region.functions, called).unwrap_or_default();
                let frozen = region.frozen(address).unwrap_or_default();
                let thaws = breach.is_none() && !frozen.is_empty();
                let warns = thaws && region.thaw();
                // Another thread was first.
                if thaws && !warns && region.thaws.load(Ordering::Acquire) == WARNED {
                    return;
                }
                let (of, says_it) = match breach {
                    Some((_, of, what)) => (of, what),
                    None => (frozen, &b""[..]),
                };
                let what = if !says_it.is_empty() {
                    ""
                } else if frozen.is_empty() {
                    explain(
                        signal,
                        address,
                        is_own && address.abs_diff(sp) < 1 << 16,
                        pc,
                    )
                } else if warns {
                    ", which all flows and runs share: no harm if nothing but messages reads it"
                } else {
                    ", which all flows would share, after module_init: keep it in the socket's \
                     private state (inet_csk_ca)"
                };
                let writes: &[u8] = if of.is_empty() { b"" } else { b"writes " };
                let comma: &[u8] = if function.is_empty() {
                    b""
                } else {
                    b", function "
                };
                let (file, line) = region.lines.find(called);
                let file = file.unwrap_or(region.file.as_bytes());
                let mut digits = [0; 11];
                let mut text = [0; MOMENT_BYTES];
                say(&[
                    if warns { b"warning: " } else { b"error: " },
                    file,
                    shown_line(line, &mut digits),
                    comma,
                    function,
                    b": ",
                    writes,
                    of,
                    says_it,
                    what.as_bytes(),
                    call::socket().map_or(&[], |tp| moment(tp, &mut text)),
                    b"\n",
                ]);
                if warns {
                    return;
                }
                libc::_exit(1);
            }
        }
        if let (Some(region), true) = (loaded().next(), signal != libc::SIGFPE) {
            let file = region.file.as_bytes();
            let why = b" ran in this process; a bad pointer in it may be the cause of this crash:";
            say(&[b"note: ", file, why, b"\n"]);
        }
        // Back to whoever handled it before: the instruction runs, and faults, once more.
        let index = SIGNALS.iter().position(|each| *each == signal);
        let before = (&raw const BEFORE[index.unwrap_or(0)]).cast::<libc::sigaction>();
        libc::sigaction(signal, before, null_mut());
        // Not a fault but sent, as by abort: nothing would send it again.
        if (*info).si_code <= 0 {
            libc::raise(signal);
        }
    }
}

const MOMENT_BYTES: usize = 80;

/// Which flow it was, when, and with what window.
///
/// # Safety
/// As of [`Moment::from_socket`].
unsafe fn moment(tp: *const TcpSock, text: &mut [u8; MOMENT_BYTES]) -> &[u8] {
    let mut left = &mut text[..];
    // SAFETY: see above.
    // Numbers are written without allocating, and no number is too long.
    let _ = write!(left, "{}", unsafe { Moment::from_socket(tp) });
    let free = left.len();
    &text[..MOMENT_BYTES - free]
}

fn explain(signal: c_int, address: usize, is_at_stack: bool, pc: usize) -> &'static str {
    match signal {
        libc::SIGFPE => DIVIDES,
        libc::SIGILL | libc::SIGABRT => STOPS,
        _ if address == pc => "calls a function through a bad pointer",
        _ if is_at_stack => NO_STACK,
        _ if address < 4096 => "reads or writes through a null pointer",
        _ => "reads or writes memory that is not its own (a bad pointer or index)",
    }
}

/// Writes one line.
fn say(parts: &[&[u8]]) {
    let none = libc::iovec {
        iov_base: null_mut(),
        iov_len: 0,
    };
    let mut all = [none; 12];
    for (slot, part) in all.iter_mut().zip(parts) {
        slot.iov_base = part.as_ptr().cast_mut().cast();
        slot.iov_len = part.len();
    }
    // SAFETY: the parts are valid; writev is a system call.
    unsafe { libc::writev(libc::STDERR_FILENO, all.as_ptr(), all.len() as c_int) };
}

/// Where a thread was when it faulted; 0 where that is not known.
#[derive(Default)]
struct Registers {
    pc: usize,
    /// Where it would return to, if it is in a function without a frame, such as memcpy, or
    /// jumped to nowhere.
    caller: usize,
    sp: usize,
}

impl Registers {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe fn from_context(context: *mut c_void) -> Self {
        // SAFETY: the third argument of a handler with SA_SIGINFO.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let sp = registers[libc::REG_RSP as usize] as usize;
        let mut caller = 0usize;
        let to = libc::iovec {
            iov_base: (&raw mut caller).cast(),
            iov_len: size_of::<usize>(),
        };
        let from = libc::iovec {
            iov_base: sp as *mut c_void,
            iov_len: size_of::<usize>(),
        };
        // The stack may be used up: the system reads it without faulting.
        // SAFETY: `to` is valid; a bad `from` is an error.
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const to, 1, &raw const from, 1, 0) };
        Self {
            pc: registers[libc::REG_RIP as usize] as usize,
            caller,
            sp,
        }
    }

    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    unsafe fn from_context(context: *mut c_void) -> Self {
        // SAFETY: the third argument of a handler with SA_SIGINFO.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        Self {
            pc: registers.pc as usize,
            caller: registers.regs[30] as usize,
            sp: registers.sp as usize,
        }
    }

    #[cfg(not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    unsafe fn from_context(_: *mut c_void) -> Self {
        Self::default()
    }
}

/// Ends the process, because a user's file wrote where it must not.
pub(crate) fn end(file: &str, what: &str) -> ! {
    say(&[b"error: ", file.as_bytes(), b": ", what.as_bytes(), b"\n"]);
    // SAFETY: what would run on the way out may be damaged.
    unsafe { libc::_exit(1) }
}

/// Gives this thread a stack for the handler, which a thread that used up its own needs.
pub(crate) fn prepare_thread() {
    thread_local!(static STACK: Option<Stack> = Stack::new());
    STACK.with(|_| ());
}

struct Stack(*mut c_void);

const STACK_BYTES: usize = 64 << 10;

impl Stack {
    /// `None` if the thread has one.
    fn new() -> Option<Self> {
        // SAFETY: plain system calls; the memory is the handler's until `drop`.
        unsafe {
            let mut stack: libc::stack_t = mem::zeroed();
            libc::sigaltstack(ptr::null(), &raw mut stack);
            if stack.ss_flags & libc::SS_DISABLE == 0 {
                return None;
            }
            let memory = libc::mmap(
                null_mut(),
                STACK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return None;
            }
            stack.ss_sp = memory;
            stack.ss_size = STACK_BYTES;
            stack.ss_flags = 0;
            libc::sigaltstack(&raw const stack, null_mut());
            Some(Self(memory))
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: made by `new` in this thread, which handles no signal now.
        unsafe {
            let mut stack: libc::stack_t = mem::zeroed();
            stack.ss_flags = libc::SS_DISABLE;
            libc::sigaltstack(&raw const stack, null_mut());
            libc::munmap(self.0, STACK_BYTES);
        }
    }
}
