//! Scenarios with the code that will run them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use ackclock_host::{Algorithm, KernelModule, Source, SUPPORT};
use ackclock_py_tables::{dict, refuse, refuse_field};
use ackclock_resolve::Files;
use ackclock_sim::describe::{self, fingerprint};
use ackclock_sim::Scenario;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use serde_json::Value;

use crate::scenario::Written;
use ackclock_sim::scenario::KERNEL;

/// The files of one command: each C file is read and compiled once, and each file of a link read once.
#[pyclass(frozen, module = "ackclock._core")]
#[derive(Default)]
pub struct Snapshot {
    code: ackclock_host::Snapshot,
    pub(crate) files: Files,
}

/// Makes CSV of a Parquet file.
fn csv_of_parquet(content: &[u8]) -> Result<Vec<u8>, String> {
    Python::attach(|py| {
        let module = py.import("ackclock.engine.parquet")?;
        module
            .call_method1("to_csv", (PyBytes::new(py, content),))?
            .extract()
    })
    .map_err(|error: PyErr| Python::attach(|py| error.value(py).to_string()))
}

#[pymethods]
impl Snapshot {
    /// `contents`: of the files that another machine's links name, by their paths. With them it knows
    /// the C files that it takes, and reads no other file.
    #[new]
    #[pyo3(signature = (contents=None))]
    fn new(contents: Option<BTreeMap<String, Vec<u8>>>) -> Self {
        #[cfg(feature = "quic")]
        ackclock_quic::install();
        match contents {
            None => Self {
                code: ackclock_host::Snapshot::default(),
                files: Files::here(csv_of_parquet),
            },
            Some(contents) => Self {
                code: ackclock_host::Snapshot::of_another_machine(),
                files: Files::given(
                    contents,
                    "did not come with the scenarios",
                    Some(csv_of_parquet),
                ),
            },
        }
    }

    /// The contents of the files of links that were read so far, by their paths.
    fn contents(&self) -> BTreeMap<String, Cow<'_, [u8]>> {
        let each = self.files.contents().into_iter();
        each.map(|(path, bytes)| (path, bytes.into())).collect()
    }

    /// The times in the file of a link's trace, ms, as of mahimahi.
    ///
    /// Raises AckclockError that names line and fix.
    fn trace(&self, py: Python<'_>, path: &str) -> PyResult<Vec<u64>> {
        py.detach(|| self.files.trace(path)).map_err(refuse)
    }

    /// Loads an algorithm by its spec, `name_or_path[@preset][:param=value,…]`: what `algorithms`
    /// tells of it, values and the shortest spec. `as_module`: of a file in the kernel's form that the
    /// simulator cannot run, what its text tells.
    ///
    /// Raises AckclockError.
    #[pyo3(signature = (spec, as_module=false))]
    pub fn configure<'py>(
        &self,
        py: Python<'py>,
        spec: &Bound<'py, PyString>,
        as_module: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        // The name of a file may be any bytes, which Python keeps as lone surrogates.
        let spec = spec.to_str().map_err(|_| {
            let name = spec
                .repr()
                .map_or_else(|_| "its name".into(), |name| name.to_string());
            refuse(format!("{name} is not text in UTF-8: rename the file"))
        })?;
        if let Some(name) = spec.strip_prefix(KERNEL) {
            return dict(
                py,
                &describe::undeclared(spec, name, "the running kernel's own"),
            );
        }
        // A user's file is compiled here: let Python's other threads go on.
        let error = match py.detach(|| self.code.configure(spec)) {
            Ok(configured) => return dict(py, &describe::configured(&configured)),
            Err(error) => error,
        };
        let module = as_module.then(|| py.detach(|| self.code.kernel_module(spec)).ok());
        match module.flatten().flatten() {
            Some(module) => dict(py, &of_module(spec, &module)),
            None => Err(refuse(error)),
        }
    }

    /// What a kernel module of an algorithm is compiled from: path and text of its file and of those
    /// that it includes, path below `algorithms/` and text of our headers, and its parameters as the
    /// file has them.
    ///
    /// Raises AckclockError.
    fn module(&self, py: Python<'_>, spec: &str) -> PyResult<Module> {
        let configured = py.detach(|| self.code.configure(spec)).map_err(refuse)?;
        let sources = configured.algorithm().sources();
        let values = configured.values().into_iter();
        Ok((
            sources.iter().map(file).collect(),
            SUPPORT.to_vec(),
            values.map(|(name, value)| (name.into(), value)).collect(),
        ))
    }

    /// What Linux compiles where the spec names a file in the kernel's form: path and text of the
    /// file and of those in quotation marks below it; which of them are C files beside a header;
    /// the name of the ops, or None: those registered first; parameters as they are written. Else
    /// None.
    ///
    /// Raises AckclockError.
    fn kernel_module(&self, py: Python<'_>, spec: &str) -> PyResult<Option<OfKernel>> {
        let module = py
            .detach(|| self.code.kernel_module(spec))
            .map_err(refuse)?;
        Ok(module.map(|of| {
            let sources = of.sources.iter().map(file).collect();
            (sources, of.beside, of.chosen, of.settings)
        }))
    }

    /// The users' C files that it compiled: each path that leads to one, as it was written → its
    /// fingerprint, and path and text of the file and of all that it includes.
    fn files(&self) -> BTreeMap<OsString, (String, Vec<File>)> {
        let of = |algorithm: &Algorithm| {
            let sources = algorithm.sources().iter();
            (fingerprint(algorithm), sources.map(file).collect())
        };
        let files = self.code.files();
        files
            .iter()
            .map(|(path, each)| (path.clone().into(), of(each)))
            .collect()
    }

    /// Compiles the copy `at` of another machine's C file, and takes it for what specs call
    /// `path`. Returns its fingerprint.
    ///
    /// Raises AckclockError.
    #[expect(clippy::needless_pass_by_value, reason = "Python's")]
    fn take(&self, py: Python<'_>, path: PathBuf, at: PathBuf) -> PyResult<String> {
        let algorithm = py.detach(|| self.code.take(&path, &at)).map_err(refuse)?;
        Ok(fingerprint(&algorithm))
    }

    /// Checks a scenario (canonical JSON), whichever host its algorithms run on.
    ///
    /// Raises FieldError.
    fn validate(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        let checked = py.detach(|| Scenario::parse(json)?.validate(&self.code).map(drop));
        checked.map_err(refuse_field)
    }

    /// Reads the files of a scenario: those of its links, and its algorithms' by their specs, as
    /// `configure` tells of them. `as_module`: as there.
    ///
    /// Raises AckclockError that names table, key, value and fix.
    fn read<'py>(
        &self,
        py: Python<'py>,
        scenario: &Written,
        as_module: bool,
    ) -> PyResult<BTreeMap<String, Bound<'py, PyDict>>> {
        let found = scenario.0.algorithms(|spec| {
            let configured = self.configure(py, &PyString::new(py, spec), as_module);
            configured.map_err(|error| error.value(py).to_string())
        });
        let found = found.map_err(refuse)?;
        py.detach(|| scenario.0.read_files(&self.files))
            .map_err(refuse)?;
        Ok(found)
    }

    /// Resolves a scenario and takes the code of its algorithms: what `run_many` takes.
    ///
    /// Raises AckclockError that names table, key, value and fix.
    fn prepare(&self, py: Python<'_>, scenario: &Written) -> PyResult<Prepared> {
        let prepared = py.detach(|| scenario.0.prepare(&self.files, &self.code));
        let prepared = Arc::new(prepared.map_err(refuse)?);
        Ok(Prepared { prepared })
    }
}

/// What `configure` tells of a file that only Linux runs.
fn of_module(spec: &str, module: &KernelModule) -> Value {
    let mut of = describe::undeclared(spec, &module.name(), "a file in the kernel's form");
    of["source"] = module.file.clone().into();
    of["fingerprint"] = format!("{:016x}", module.fingerprint).into();
    for (name, value) in &module.settings {
        of["values"][name] = value.clone().into();
    }
    of
}

/// A file and its text.
type File = (PathBuf, Vec<u8>);

fn file(source: &Source) -> File {
    (source.path.clone(), source.text.clone())
}

/// What `Snapshot::kernel_module` tells.
type OfKernel = (
    Vec<File>,
    Vec<PathBuf>,
    Option<String>,
    Vec<(String, String)>,
);
/// What `Snapshot::module` tells.
type Module = (
    Vec<File>,
    Vec<(&'static str, &'static str)>,
    Vec<(String, u32)>,
);

/// A scenario that `run_many` takes. No file is read after `Snapshot.prepare` made it.
#[pyclass(frozen, module = "ackclock._core")]
pub struct Prepared {
    pub(crate) prepared: Arc<ackclock_sim::Prepared>,
}

#[pymethods]
impl Prepared {
    /// The scenario, canonical JSON. It is made when it is asked for: with many flows it is large.
    #[getter]
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.prepared.scenario().to_json())
    }

    /// The code that runs: spec in the scenario → name, source, spec, values, fingerprint.
    #[getter]
    fn algorithms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dict(py, &describe::code(self.prepared.algorithms()))
    }
}
