//! What `ackclock._core` answers, for Python without a native library: names and arguments in JSON.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ackclock_host::{Snapshot, SUPPORT};
use ackclock_measure::Setup;
use ackclock_resolve::{Files, Scenario};
use ackclock_sim::describe;
use ackclock_sim::scenario::KERNEL;
use ackclock_sim::ScenarioError;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};

use crate::measured::Frame;
use crate::page;

/// Makes functions those that `call` finds by their names.
macro_rules! doors {
    ($($(#[$attribute:meta])*
    fn $name:ident($($given:ident: $type:ty),* $(,)?) -> $made:ty $body:block)*) => {
        $(fn $name($($given: $type),*) -> $made $body)*

        /// What the function of this name returns.
        pub fn call(name: &str, given: &[serde_json::Value]) -> super::Answer {
            let mut given = given.iter();
            match name {
                $(stringify!($name) => {
                    $(let $given: $type = super::argument(given.next())?;)*
                    let made = serde_json::to_value($name($($given),*));
                    made.map(Some).map_err(super::refuse)
                })*
                _ => Ok(None),
            }
        }
    };
}

#[cfg(target_arch = "wasm32")]
#[path = "c_files.rs"]
pub mod c_files;
#[path = "../../py/src/doors.rs"]
mod doors;

/// What a function returns; `None`: there is none of that name.
type Answer = Result<Option<Value>, Refusal>;

/// Name of an exception of Python, and its arguments.
#[derive(Debug, Serialize)]
pub struct Refusal(pub Value);

pub fn refuse(error: impl ToString) -> Refusal {
    Refusal(json!(["AckclockError", error.to_string()]))
}

fn refuse_field(error: ScenarioError) -> Refusal {
    Refusal(json!(["FieldError", error.field, error.value, error.fix]))
}

fn no_value(text: String) -> Refusal {
    Refusal(json!(["ValueError", text]))
}

fn argument<'a, T: Deserialize<'a>>(given: Option<&'a Value>) -> Result<T, Refusal> {
    T::deserialize(given.unwrap_or(&Value::Null)).map_err(refuse)
}

/// What a user gives.
#[derive(Deserialize)]
struct Fields(Map<String, Value>);

/// What Python gets as a `dict`.
#[derive(Serialize)]
struct Object(Value);

/// The run that Python asks about; its tables are asked for.
#[derive(Deserialize)]
struct Ran(Setup);

impl Ran {
    fn setup(&self) -> Result<Setup, Refusal> {
        Ok(self.0.clone())
    }

    fn whole(&self, table: &str) -> Result<Frame, Refusal> {
        let mut parts = self.parts(table, &[])?;
        parts
            .next()
            .unwrap_or_else(|| Err(refuse(format!("no table {table}"))))
    }

    fn parts(
        &self,
        table: &str,
        columns: &[&str],
    ) -> Result<impl Iterator<Item = Result<Frame, Refusal>>, Refusal> {
        let mut what = Some(json!(["rows", table, columns]));
        Ok(std::iter::from_fn(move || {
            let what = what.take().unwrap_or_else(|| json!(["more rows"]));
            let bytes = page::asked(&what);
            let found = bytes.map_err(refuse).and_then(|bytes| Frame::read(&bytes));
            found.transpose()
        }))
    }
}

/// The C files of this instance, and the files of links.
static CODE: LazyLock<Snapshot> = LazyLock::new(Snapshot::default);
static FILES: LazyLock<Files> = LazyLock::new(|| {
    let read = |path: &str| page::asked(&json!(["file", path]));
    // A file is Parquet after it was read: the host has it still.
    Files::of(Box::new(read), |_| {
        String::from_utf8(page::asked(&json!(["csv"]))?)
            .map(String::into_bytes)
            .map_err(|error| error.to_string())
    })
});

mod own {
    use super::*;

    fn scenario(fields: Fields) -> Result<Scenario, Refusal> {
        Scenario::new(fields.0).map_err(refuse)
    }

    fn configured(spec: &str) -> Result<Value, String> {
        match spec.strip_prefix(KERNEL) {
            Some(name) => Ok(describe::undeclared(spec, name, "the running kernel's own")),
            None => {
                let configured = CODE.configure(spec);
                configured
                    .map(|of| describe::configured(&of))
                    .map_err(|error| error.to_string())
            }
        }
    }

    doors! {

    fn configure(spec: String) -> Result<Value, Refusal> {
        configured(&spec).map_err(refuse)
    }

    fn header_bytes() -> u64 {
        ackclock_resolve::HEADER_BYTES
    }

    fn written(fields: Fields) -> Result<Object, Refusal> {
        Ok(Object(scenario(fields)?.written().into()))
    }

    fn in_words(fields: Fields, field: String, value: String, fix: String) -> Result<String, Refusal> {
        Ok(scenario(fields)?.in_words(&field, &value, &fix))
    }

    fn resolve(fields: Fields) -> Result<String, Refusal> {
        let resolved = scenario(fields)?.resolve(&FILES);
        resolved.map(|scenario| scenario.to_json()).map_err(refuse)
    }

    fn read(fields: Fields) -> Result<BTreeMap<String, Value>, Refusal> {
        let scenario = scenario(fields)?;
        let found = scenario.algorithms(configured).map_err(refuse)?;
        scenario.read_files(&FILES).map_err(refuse)?;
        Ok(found)
    }

    fn prepare(fields: Fields) -> Result<(String, Value, f64), Refusal> {
        let prepared = scenario(fields)?.prepare(&FILES, &CODE).map_err(refuse)?;
        let (scenario, code) = (prepared.scenario(), describe::code(prepared.algorithms()));
        Ok((scenario.to_json(), code, scenario.work()))
    }

    fn validate(json: String) -> Result<(), Refusal> {
        let scenario = ackclock_sim::Scenario::parse(&json);
        let checked = scenario.and_then(|scenario| scenario.validate(&CODE).map(drop));
        checked.map_err(refuse_field)
    }

    fn module(spec: String) -> Result<Value, Refusal> {
        let configured = CODE.configure(&spec).map_err(refuse)?;
        let sources = configured.algorithm().sources().iter();
        let sources: Vec<_> = sources
            .map(|each| json!([each.path, String::from_utf8_lossy(&each.text)]))
            .collect();
        Ok(json!([sources, SUPPORT, configured.values()]))
    }

    fn trace(path: String) -> Result<Vec<u64>, Refusal> {
        FILES.trace(&path).map_err(refuse)
    }

    }
}

/// Calls a function: its name and what it is given, in JSON. Tells `answer` or `refused`.
pub fn call(text: &str) {
    let (name, given): (String, Vec<Value>) = match serde_json::from_str(text) {
        Ok(read) => read,
        Err(error) => return refused(refuse(error)),
    };
    let mut answer = own::call(&name, &given);
    if let Ok(None) = answer {
        answer = doors::call(&name, &given);
    }
    #[cfg(target_arch = "wasm32")]
    if let Ok(None) = answer {
        answer = c_files::call(&name, &given);
    }
    match answer {
        Ok(Some(value)) => drop(page::message(&json!({"kind": "answer", "value": value}))),
        Ok(None) => refused(refuse(format!(
            "{name}: the portable engine has no such function"
        ))),
        Err(refusal) => refused(refusal),
    }
}

/// Tells why there is none.
pub fn refused(Refusal(error): Refusal) {
    page::message(&json!({"kind": "refused", "error": error}));
}
