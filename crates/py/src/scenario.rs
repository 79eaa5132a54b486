//! Scenarios as people write them: `ackclock-resolve` for Python.

use ackclock_py_tables::{dict, refuse, refuse_field};
use ackclock_resolve::{self as resolve, units, Kind, Of};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Number, Value};

use crate::prepared::Snapshot;
use ackclock_sim::scenario::{able, Scenario};
use ackclock_sim::tcp::ReceiveBuffer;

/// A scenario whose keys are allowed and fit together. It does not change.
#[pyclass(frozen, module = "ackclock._core")]
pub struct Written(pub resolve::Scenario);

#[pymethods]
impl Written {
    /// Raises AckclockError, one line that names table, key, value and fix.
    #[new]
    fn new(fields: &Bound<'_, PyMapping>) -> PyResult<Self> {
        let scenario = resolve::Scenario::new(of_mapping(fields)?);
        scenario.map(Self).map_err(refuse)
    }

    /// What is given, with one name and one form for each key.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dict(py, &self.0.written().into())
    }

    /// The canonical JSON that the simulator reads: integers in ns and bytes, no defaults.
    ///
    /// Raises AckclockError if the file of a link cannot be used.
    fn resolve(&self, py: Python<'_>, files: &Snapshot) -> PyResult<String> {
        let resolved = py.detach(|| self.0.resolve(&files.files));
        resolved.map(|scenario| scenario.to_json()).map_err(refuse)
    }

    /// A refusal of a field of the canonical form: the key and the value as they are written.
    fn in_words(&self, field: &str, value: &str, fix: &str) -> String {
        self.0.in_words(field, value, fix)
    }
}

/// Checks a table that stands alone: `of` is its name. What is given, in one form for each key.
///
/// Raises AckclockError, one line that names key, value and fix.
#[pyfunction]
pub fn table<'py>(
    py: Python<'py>,
    of: &str,
    fields: &Bound<'py, PyMapping>,
) -> PyResult<Bound<'py, PyDict>> {
    let given = resolve::table(of, of_mapping(fields)?).map_err(refuse)?;
    dict(py, &given.into())
}

/// The fields in the text of a scenario file.
///
/// Raises AckclockError if it is no TOML.
#[pyfunction]
pub fn read_toml<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    dict(py, &resolve::read(text).map_err(refuse)?.into())
}

/// The keys of each table, JSON: name, meaning, default, and what they take.
#[pyfunction]
pub fn keys() -> String {
    resolve::keys().to_string()
}

/// Refuses a scenario (canonical JSON) that Linux of a series ("6.12") in virtual time cannot run.
///
/// Raises FieldError that names the first field.
#[pyfunction]
pub fn check_on_vlinux(json: &str, series: &str) -> PyResult<()> {
    let scenario = Scenario::parse(json).map_err(refuse)?;
    let mut parts = series.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let checked = scenario.check_on(able::Host::Vlinux((next(), next())));
    checked.map_err(refuse_field)
}

/// What ends the window of a Linux as installed, with segments of `mss` bytes: its `tcp_rmem[2]`, and the
/// largest window, both bytes; None of a profile without its tuning.
#[pyfunction]
pub fn installed_window(profile: &str, mss: u64) -> Option<(u64, u64)> {
    let bytes = resolve::rmem_bytes(profile)?;
    Some((bytes, ReceiveBuffer::Tuned(bytes).most_window(mss)))
}

/// The keys of a flow that a switch of `net.ipv4` turns off, and the switches.
#[pyfunction]
pub fn switches() -> Vec<(&'static str, &'static str)> {
    able::switches().collect()
}

/// The number that a text with a unit stands for, in ns, bit/s or bytes: of a "Time", "Rate", "Size" or
/// "Payload", that one with packets of `mss` bytes.
///
/// Raises ValueError that says what to write.
#[pyfunction]
#[pyo3(signature = (kind, text, mss=1))]
pub fn read_quantity(kind: &str, text: &str, mss: u64) -> PyResult<i128> {
    let read = match quantity(kind)? {
        Of::Time => units::duration_ns(text),
        Of::Rate => units::rate_bps(text),
        Of::Size => units::size_bytes(text),
        _ => units::payload(text, mss),
    };
    read.map_err(PyValueError::new_err)
}

/// What people write for a number of ns, bit/s or bytes: `read_quantity` the other way.
#[pyfunction]
pub fn write_quantity(kind: &str, number: u64) -> PyResult<String> {
    let kind = quantity(kind)?;
    let (low, high, like) = (0, 0, String::new());
    Ok(Kind {
        kind,
        low,
        high,
        like,
    }
    .written(number))
}

fn quantity(kind: &str) -> PyResult<Of> {
    let found = Of::QUANTITIES.iter().find(|(name, _)| *name == kind);
    let found = found.map(|(_, of)| *of);
    found.ok_or_else(|| PyValueError::new_err(format!("{kind}: no kind of quantity")))
}

/// A quantity of any kind: the unit that ends the names of columns (s, bps, bytes, packets or bdp), the
/// number as it is written, and the size of its unit, of a time in ns.
///
/// Raises ValueError that says what to write.
#[pyfunction]
pub fn any_quantity(text: &str) -> PyResult<(&'static str, String, u64)> {
    units::any(text).map_err(PyValueError::new_err)
}

/// Room of a queue: "bdp", "packets", "bytes" or "ns", and how many.
///
/// Raises ValueError that says what to write.
#[pyfunction]
pub fn read_room(text: &str) -> PyResult<(&'static str, String)> {
    let room = units::buffer(text).map_err(PyValueError::new_err)?;
    Ok(match room {
        units::Room::Bdp(number) => ("bdp", number.plain()),
        units::Room::Packets(number) => ("packets", number.to_string()),
        units::Room::Bytes(number) => ("bytes", number.to_string()),
        units::Room::Ns(number) => ("ns", number.to_string()),
    })
}

/// The units of each kind of quantity, and their sizes in ns, bit/s and bytes.
#[pyfunction]
pub fn quantity_units() -> [(&'static str, Vec<(&'static str, u64)>); 3] {
    [
        ("Time", units::TIME_UNITS.to_vec()),
        ("Rate", units::RATE_UNITS.to_vec()),
        ("Size", units::SIZE_UNITS.to_vec()),
    ]
}

fn of_mapping(fields: &Bound<'_, PyMapping>) -> PyResult<Map<String, Value>> {
    let mut map = Map::new();
    for pair in fields.items()? {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        map.insert(text(&key)?, value_of(&value)?);
    }
    Ok(map)
}

/// The name of a file may be any bytes, which Python keeps as lone surrogates.
fn text(any: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = any.str()?;
    text.to_str().map(String::from).map_err(|_| {
        let shown = text
            .repr()
            .map_or_else(|_| "its name".into(), |shown| shown.to_string());
        refuse(format!("{shown} is not text in UTF-8: rename the file"))
    })
}

/// A value that Python gives. What is no value of a scenario becomes its text, which the key refuses.
fn value_of(any: &Bound<'_, PyAny>) -> PyResult<Value> {
    if any.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(value) = any.cast::<PyBool>() {
        return Ok(value.is_true().into());
    }
    if any.is_instance_of::<PyString>() {
        return Ok(text(any)?.into());
    }
    if any.is_instance_of::<PyInt>() {
        let whole = any.extract::<i64>().map(Number::from);
        let whole = whole
            .or_else(|_| any.extract::<u64>().map(Number::from))
            .ok();
        let number = whole.or_else(|| Number::from_f64(any.extract().unwrap_or(f64::INFINITY)));
        return Ok(number.map_or_else(|| Value::String("∞".into()), Value::Number));
    }
    if any.is_instance_of::<PyFloat>() {
        let number = Number::from_f64(any.extract()?);
        return Ok(match number {
            Some(number) => Value::Number(number),
            None => text(any)?.into(),
        });
    }
    if let Ok(list) = any.cast::<PyList>() {
        return list.iter().map(|each| value_of(&each)).collect();
    }
    if let Ok(tuple) = any.cast::<PyTuple>() {
        return tuple.iter().map(|each| value_of(&each)).collect();
    }
    if let Ok(fields) = any.getattr("given") {
        return value_of(&fields); // a `Table`
    }
    if let Ok(fields) = any.cast::<PyMapping>() {
        return Ok(of_mapping(fields)?.into());
    }
    match any.call_method0("item") {
        Ok(number) => value_of(&number), // of NumPy
        Err(_) => Ok(text(any)?.into()),
    }
}
