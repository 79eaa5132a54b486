//! Tables and columns for Python, by the Arrow PyCapsule interface: polars takes them as they are
//! in memory, without a copy.

use ackclock_sim::record::{Table, Values};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_data::ffi::FFI_ArrowArray;
use arrow_data::ArrayData;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// What `polars.DataFrame(…)` makes of a table, and `polars.Series(…)` of a column.
#[pyclass(frozen)]
pub struct Arrow(ArrayData);

impl Arrow {
    /// A table. Its names are codes: indices into the names that the table declares.
    pub fn table(table: &Table, values: Vec<Values>) -> PyResult<Self> {
        let values = values.into_iter().map(|values| match values {
            Values::U32(values) => array(DataType::UInt32, values),
            Values::U64(values) => array(DataType::UInt64, values),
            Values::Name(codes) => array(DataType::UInt8, codes),
        });
        let columns = values.collect::<Result<Vec<_>, _>>().map_err(refuse)?;
        let fields = table.columns.iter().zip(&columns);
        let fields =
            fields.map(|(column, of)| Field::new(column.name, of.data_type().clone(), false));
        let rows = ArrayData::builder(DataType::Struct(fields.collect()))
            .len(columns.first().map_or(0, ArrayData::len))
            .child_data(columns);
        Ok(Self(rows.build().map_err(refuse)?))
    }

    /// A column of 64 bits, in two's complement if it is signed.
    pub fn column(values: Vec<u64>, signed: bool) -> PyResult<Self> {
        let kind = if signed {
            DataType::Int64
        } else {
            DataType::UInt64
        };
        Ok(Self(array(kind, values).map_err(refuse)?))
    }
}

fn array<T: ArrowNativeType>(kind: DataType, mut values: Vec<T>) -> Result<ArrayData, ArrowError> {
    values.shrink_to_fit(); // it stays as long as the table in Python
    let rows = ArrayData::builder(kind).len(values.len());
    rows.add_buffer(Buffer::from_vec(values)).build()
}

fn refuse(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Arrow {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Capsules of the schema and of the values, which both own what they need.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema; // a wish, which an exporter may pass over
        let schema = FFI_ArrowSchema::try_from(self.0.data_type()).map_err(refuse)?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, FFI_ArrowArray::new(&self.0), c"arrow_array")?,
        ))
    }
}
