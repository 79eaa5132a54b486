//! The keys of each table, as `make generate` writes them from Python's classes, which come from the
//! simulator's own structs.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

/// All tables, and what errors say of keys.
#[derive(Deserialize)]
pub struct Keys {
    pub tables: HashMap<String, Vec<Key>>,
    pub words: Words,
}

/// What to write, by key.
#[derive(Deserialize)]
pub struct Words {
    /// For a key that is a table.
    pub tables: HashMap<String, String>,
    /// For one in a table.
    pub inner_tables: HashMap<String, String>,
    /// For a key that is missing.
    pub like: HashMap<String, String>,
}

/// A key of a table.
#[derive(Deserialize)]
pub struct Key {
    pub key: String,
    /// Its other name, which files have.
    pub alias: Option<String>,
    #[serde(default)]
    pub required: bool,
    pub default: Option<Value>,
    #[serde(flatten)]
    pub takes: Takes,
}

/// What a key takes.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Takes {
    Quantity(Kind),
    Many {
        many: Box<Takes>,
    },
    Choice {
        choices: Vec<Value>,
    },
    Table {
        table: String,
    },
    Plain {
        plain: String,
    },
    /// A table of several kinds, by the value of `kind`.
    Kinds {
        kinds: serde_json::Map<String, Value>,
        /// The kind for which a number may stand, and its key.
        short: Option<(String, String)>,
    },
}

/// A quantity or a number, from `low` to `high` in the canonical unit.
#[derive(Deserialize)]
pub struct Kind {
    pub kind: Of,
    pub low: u64,
    pub high: u64,
    #[serde(default)]
    pub like: String,
}

/// The classes of `ackclock.scenario.kinds`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Of {
    Integer,
    Bytes,
    Thousandths,
    Millionths,
    Billionths,
    File,
    Trace,
    Time,
    Rate,
    Size,
    Payload,
    Room,
}

impl Keys {
    /// The one there is.
    pub fn get() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        KEYS.get_or_init(|| serde_json::from_str(include_str!("keys.json")).expect("generated"))
    }

    /// The keys of a table.
    pub fn of(table: &str) -> &'static [Key] {
        &Self::get().tables[table]
    }

    /// What a key that is a quantity or a number takes.
    pub fn kind(table: &str, key: &str) -> &'static Kind {
        let mut keys = Self::of(table).iter();
        match keys.find(|each| each.key == key).map(|each| &each.takes) {
            Some(Takes::Quantity(kind)) => kind,
            _ => panic!("{table} has no quantity {key}"),
        }
    }
}

impl Key {
    /// The names by which a file may have it, the usual one first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.alias.as_deref().into_iter().chain([self.key.as_str()])
    }

    /// Its name in the canonical form.
    pub fn canonical_name(&self) -> String {
        match &self.takes {
            Takes::Quantity(kind) => self.key.clone() + kind.kind.suffix(),
            _ => self.key.clone(),
        }
    }
}
