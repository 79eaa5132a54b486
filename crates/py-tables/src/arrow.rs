//! Tables and columns for Python and from it, by the Arrow PyCapsule interface: both sides take them as
//! they are in memory, without a copy.
//!
//! The C structures are those of <https://arrow.apache.org/docs/format/CDataInterface.html> and
//! <https://arrow.apache.org/docs/format/CStreamInterface.html>.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::slice::from_raw_parts;
use std::sync::Arc;

use ackclock_sim::record::{Table, Values};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// What `polars.DataFrame(…)` makes of a table, and `polars.Series(…)` of a column.
#[pyclass(frozen)]
pub struct Arrow {
    columns: Arc<[Column]>,
    is_table: bool,
}

pub struct Column {
    name: &'static str,
    /// The type, in Arrow's letters.
    format: &'static CStr,
    values: Values,
}

impl Column {
    fn new(name: &'static str, mut values: Values) -> Self {
        // They stay as long as the table in Python.
        let format = match &mut values {
            Values::U32(values) => (values.shrink_to_fit(), c"I").1,
            Values::U64(values) => (values.shrink_to_fit(), c"L").1,
            Values::Name(codes) => (codes.shrink_to_fit(), c"C").1,
        };
        Self {
            name,
            format,
            values,
        }
    }

    fn data(&self) -> (usize, *const c_void) {
        match &self.values {
            Values::U32(values) => (values.len(), values.as_ptr().cast()),
            Values::U64(values) => (values.len(), values.as_ptr().cast()),
            Values::Name(codes) => (codes.len(), codes.as_ptr().cast()),
        }
    }
}

impl Arrow {
    /// A table. Its names are codes: indices into the names that the table declares.
    ///
    /// # Panics
    /// If a column has another length than the first.
    pub fn table(table: &Table, values: Vec<Values>) -> Self {
        let names = table.columns.iter().map(|column| column.name);
        let columns: Arc<[_]> = names
            .zip(values)
            .map(|(name, values)| Column::new(name, values))
            .collect();
        let rows = |column: &Column| column.data().0;
        assert!(columns.windows(2).all(|two| rows(&two[0]) == rows(&two[1])));
        Self {
            columns,
            is_table: true,
        }
    }

    /// A column of 64 bits, in two's complement if it is signed.
    pub fn column(values: Vec<u64>, signed: bool) -> Self {
        let mut column = Column::new("", Values::U64(values));
        if signed {
            column.format = c"l";
        }
        Self {
            columns: Arc::new([column]),
            is_table: false,
        }
    }

    fn schema(&self) -> Schema {
        let of = |column: &Column| Schema::new(column.format, column.name, Vec::new());
        if self.is_table {
            Schema::new(c"+s", "", self.columns.iter().map(of).collect())
        } else {
            of(&self.columns[0])
        }
    }

    fn array(&self) -> Array {
        // A pointer to the bits that tell which values are missing comes first: none is.
        let of = |column: &Column| {
            let (rows, data) = column.data();
            Array::new(&self.columns, rows, vec![null(), data], Vec::new())
        };
        if self.is_table {
            let columns = self.columns.iter().map(of).collect();
            Array::new(&self.columns, self.__len__(), vec![null()], columns)
        } else {
            of(&self.columns[0])
        }
    }
}

#[pymethods]
impl Arrow {
    fn __len__(&self) -> usize {
        self.columns.first().map_or(0, |column| column.data().0)
    }

    /// Capsules of the schema and of the values, which both own what they need.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema; // a wish, which an exporter may pass over
        Ok((
            PyCapsule::new_with_value(py, self.schema(), c"arrow_schema")?,
            PyCapsule::new_with_value(py, self.array(), c"arrow_array")?,
        ))
    }
}

/// `struct ArrowSchema`
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    kept: *mut c_void,
}

/// `struct ArrowArray`
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    kept: *mut c_void,
}

// SAFETY: what they point to is theirs, and nothing changes it until they are released.
unsafe impl Send for Schema {}
// SAFETY: as above; the columns are shared and never written.
unsafe impl Send for Array {}

/// What a structure points to, until it is released.
struct Kept<T, Of> {
    children: Vec<*mut T>,
    #[expect(dead_code, reason = "it is kept for who has a pointer into it")]
    of: Of,
}

impl<T, Of> Kept<T, Of> {
    fn new(children: Vec<T>, of: Of) -> Box<Self> {
        let own = |child| Box::into_raw(Box::new(child));
        Box::new(Self {
            children: children.into_iter().map(own).collect(),
            of,
        })
    }
}

impl<T, Of> Drop for Kept<T, Of> {
    fn drop(&mut self) {
        for &child in &self.children {
            // SAFETY: `new` made it of a box. Who took the child over has left one that is released.
            drop(unsafe { Box::from_raw(child) });
        }
    }
}

impl Schema {
    fn new(format: &'static CStr, name: &str, children: Vec<Self>) -> Self {
        let name = CString::new(name).expect("a name has no zero byte");
        let at = name.as_ptr();
        let mut kept = Kept::new(children, name);
        Self {
            format: format.as_ptr(),
            name: at,
            metadata: null(),
            flags: 0, // no value is missing
            n_children: kept.children.len() as i64,
            children: kept.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(Self::release),
            kept: Box::into_raw(kept).cast(),
        }
    }

    unsafe extern "C" fn release(this: *mut Self) {
        // SAFETY: who calls it has a structure that is not released: `new` made `kept`.
        unsafe {
            drop(Box::from_raw((*this).kept.cast::<Kept<Self, CString>>()));
            (*this).release = None;
        }
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it is not released.
            unsafe { release(self) }
        }
    }
}

type Shared = (Arc<[Column]>, Vec<*const c_void>);

impl Array {
    fn new(
        columns: &Arc<[Column]>,
        rows: usize,
        mut buffers: Vec<*const c_void>,
        children: Vec<Self>,
    ) -> Self {
        let (n_buffers, at) = (buffers.len() as i64, buffers.as_mut_ptr());
        let mut kept: Box<Kept<Self, Shared>> = Kept::new(children, (columns.clone(), buffers));
        Self {
            length: rows as i64,
            null_count: 0,
            offset: 0,
            n_buffers,
            n_children: kept.children.len() as i64,
            buffers: at,
            children: kept.children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(Self::release),
            kept: Box::into_raw(kept).cast(),
        }
    }

    unsafe extern "C" fn release(this: *mut Self) {
        // SAFETY: who calls it has a structure that is not released: `new` made `kept`.
        unsafe {
            drop(Box::from_raw((*this).kept.cast::<Kept<Self, Shared>>()));
            (*this).release = None;
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it is not released.
            unsafe { release(self) }
        }
    }
}

/// `struct ArrowArrayStream`
#[repr(C)]
struct Stream {
    schema: unsafe extern "C" fn(*mut Self, *mut Schema) -> c_int,
    next: unsafe extern "C" fn(*mut Self, *mut Array) -> c_int,
    error: unsafe extern "C" fn(*mut Self) -> *const c_char,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    kept: *mut c_void,
}

/// Rows of a table that Python has.
pub enum Frame {
    /// Those that the engine handed over.
    Own(Arc<[Column]>),
    /// Those of a polars `DataFrame`.
    Polars(BTreeMap<String, Series>),
}

/// A column that Python has: letter of its type, and values.
pub struct Series(u8, Array);

impl Frame {
    /// Those of an `Arrow`; `None` of another object.
    pub fn own(rows: &Bound<'_, PyAny>) -> Option<Self> {
        let own = rows.cast::<Arrow>().ok()?;
        Some(Self::Own(Arc::clone(&own.get().columns)))
    }

    /// The columns of a polars `DataFrame` that have whole numbers or names.
    ///
    /// # Errors
    /// Python's.
    pub fn new(frame: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut columns = BTreeMap::new();
        for column in frame
            .call_method0("rechunk")?
            .call_method0("get_columns")?
            .try_iter()?
        {
            let column = column?;
            let capsule = column.call_method0("__arrow_c_stream__")?;
            let capsule = capsule.cast_into::<PyCapsule>()?;
            let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
            // SAFETY: the capsule, which lives until the end of this turn, owns a stream of that name.
            let series = unsafe { Series::of(stream.cast().as_ptr()) };
            if let Some(series) = series {
                columns.insert(column.getattr("name")?.extract()?, series);
            }
        }
        Ok(Self::Polars(columns))
    }
}

impl Series {
    /// The only chunk of a stream; `None` of a type that is not ours.
    unsafe fn of(stream: *mut Stream) -> Option<Self> {
        let (mut schema, mut array) = (MaybeUninit::uninit(), MaybeUninit::zeroed());
        // SAFETY: a stream writes both, and a released array at its end: one of zeros is one, too.
        let (schema, array) = unsafe {
            let told = ((*stream).schema)(stream, schema.as_mut_ptr());
            assert!(told == 0 && ((*stream).next)(stream, array.as_mut_ptr()) == 0);
            (schema.assume_init(), array.assume_init())
        };
        // SAFETY: a format is a text.
        let format = unsafe { CStr::from_ptr(schema.format) };
        let [kind @ (b'C' | b'I' | b'L')] = format.to_bytes() else {
            return None;
        };
        assert!(array.null_count <= 0, "a value is missing");
        Some(Self(*kind, array))
    }

    /// # Safety
    /// `T` is its type.
    unsafe fn values<T>(&self) -> &[T] {
        if self.1.length == 0 {
            return &[];
        }
        // SAFETY: a column that is not released has two buffers, and so many values behind the offset.
        unsafe {
            let values = *self.1.buffers.add(1).cast::<*const T>();
            from_raw_parts(values.add(self.1.offset as usize), self.1.length as usize)
        }
    }
}

impl ackclock_measure::Table for Frame {
    fn column(&self, name: &str) -> ackclock_measure::Column<'_> {
        use ackclock_measure::Column;
        let found = match self {
            Self::Own(columns) => {
                let column = columns.iter().find(|column| column.name == name);
                column.map(|column| match &column.values {
                    Values::U32(values) => Column::U32(values),
                    Values::U64(values) => Column::U64(values),
                    Values::Name(codes) => Column::U8(codes),
                })
            }
            // SAFETY: by the letters of Arrow's formats.
            Self::Polars(columns) => columns.get(name).map(|column| unsafe {
                match column.0 {
                    b'C' => Column::U8(column.values()),
                    b'I' => Column::U32(column.values()),
                    _ => Column::U64(column.values()),
                }
            }),
        };
        found.unwrap_or_else(|| panic!("no column {name}"))
    }
}
