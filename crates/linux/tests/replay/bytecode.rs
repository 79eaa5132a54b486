//! An algorithm as BPF bytecode, which the kernel runs on calls that are handed to it.

use std::mem::{offset_of, size_of};
use std::path::Path;

use ackclock_host::{Algorithm, Configured, TcpSock};
use libbpf_rs::{MapCore as _, MapFlags, MapImpl, Object, ObjectBuilder, ProgramInput};

use crate::call::{Call, Outcome};
use crate::clang;
use ackclock_linux::bpf::unless_interrupted;

/// `CALLS` of host_memory.c.
pub const CALLS: usize = 1024;

pub struct Bytecode {
    object: Object,
}

impl Bytecode {
    /// Compiles and loads an algorithm's file with host_memory.c around it.
    pub fn load(algorithm: &Algorithm) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().unwrap();
        let source = root.join(algorithm.source_path());
        let wrapper = root.join("crates/linux/tests/replay/host_memory.c");
        let directory = tempfile::tempdir().unwrap();
        let object = directory.path().join("algorithm.o");
        let include = root.join("algorithms/include");
        let include = [include.as_path(), Path::new(env!("LIBBPF_INCLUDE"))];
        let output = clang::command(&clang::find().unwrap(), &include, &wrapper, &object)
            .arg("-U__bpf__")
            .arg(format!("-DALGORITHM={source:?}"))
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {messages}", algorithm.name());
        let object = unless_interrupted(|| ObjectBuilder::default().open_file(&object)?.load());
        let object = object.unwrap_or_else(|error| panic!("{}: {error}", algorithm.name()));
        Self { object }
    }

    fn map(&self, name: &str) -> MapImpl<'_> {
        let ends = |map: &MapImpl| map.name().to_string_lossy().ends_with(name);
        self.object.maps().find(ends).unwrap()
    }

    /// What the bytecode makes of [`CALLS`] calls, each on the socket that it has.
    pub fn make(&self, configured: &Configured, calls: &[Call]) -> Vec<Outcome> {
        assert_eq!(calls.len(), CALLS);
        let params = self.map(".bss");
        let values = configured.values();
        let mut block: Vec<u8> = values
            .iter()
            .flat_map(|(_, value)| value.to_le_bytes())
            .collect();
        block.resize(params.value_size() as usize, 0);
        params.update(&[0; 4], &block, MapFlags::ANY).unwrap();

        let keys: Vec<u8> = (0..CALLS as u32).flat_map(u32::to_le_bytes).collect();
        let values: Vec<u8> = calls.iter().flat_map(bytes).copied().collect();
        let (map, any) = (self.map("calls"), MapFlags::ANY);
        map.update_batch(&keys, &values, CALLS as u32, any, any)
            .unwrap();
        let program = self.object.progs_mut().next().unwrap();
        let output = program.test_run(ProgramInput::default()).unwrap();
        assert_eq!(output.return_value as usize, CALLS);
        let made = map.lookup_batch(CALLS as u32, any, any).unwrap();
        made.map(|(_, value)| outcome(&value)).collect()
    }
}

fn bytes(call: &Call) -> &[u8] {
    // SAFETY: any memory may be read as bytes; padding is whatever it is, and C ignores it.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(call).cast(), size_of::<Call>()) }
}

fn outcome(value: &[u8]) -> Outcome {
    assert_eq!(value.len(), size_of::<Call>());
    let result = &value[offset_of!(Call, result)..][..4];
    let tp = &value[offset_of!(Call, tp)..][..size_of::<TcpSock>()];
    // SAFETY: TcpSock is plain integers and a pointer that nobody follows.
    let tp: TcpSock = unsafe { std::ptr::read_unaligned(tp.as_ptr().cast()) };
    Outcome::from_socket(&tp, u32::from_le_bytes(result.try_into().unwrap()))
}
