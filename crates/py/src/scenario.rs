//! Scenarios as people write them: `ackclock-resolve` for Python.

use ackclock_py_tables::{dict, refuse};
use ackclock_resolve as resolve;
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Number, Value};

use crate::prepared::Snapshot;

/// What a user gives.
pub struct Fields(pub Map<String, Value>);

impl<'py> FromPyObject<'_, 'py> for Fields {
    type Error = PyErr;

    const INPUT_TYPE: PyStaticExpr = <Bound<'py, PyMapping> as FromPyObject>::INPUT_TYPE;

    fn extract(fields: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        of_mapping(&*fields.cast::<PyMapping>()?).map(Self)
    }
}

/// What Python gets as a `dict`.
pub struct Object(pub Value);

impl<'py> IntoPyObject<'py> for Object {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    const OUTPUT_TYPE: PyStaticExpr = PyDict::TYPE_HINT;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        dict(py, &self.0)
    }
}

/// A scenario whose keys are allowed and fit together. It does not change.
#[pyclass(frozen, module = "ackclock._core")]
pub struct Written(pub resolve::Scenario);

#[pymethods]
impl Written {
    /// Raises AckclockError, one line that names table, key, value and fix.
    #[new]
    fn new(fields: Fields) -> PyResult<Self> {
        resolve::Scenario::new(fields.0).map(Self).map_err(refuse)
    }

    /// What is given, with one name and one form for each key.
    #[getter]
    fn fields(&self) -> Object {
        Object(self.0.written().into())
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
