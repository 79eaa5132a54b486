//! A table of a scenario: its values by their keys, what is wrong with it, and its canonical form.

use ackclock_sim::scenario::able::{refused_by, Host};
use serde_json::{Map, Value};

use crate::keys::{Key, Keys, Takes};
use crate::python::{brief, general, toml};
use crate::words;
use ackclock_host::nearest;

/// A table whose values have been looked at one by one.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name of its kind in [`Keys`].
    pub of: String,
    /// Of each key, in the order of `Keys`.
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    value: Entry,
    /// Does the file have it?
    is_given: bool,
}

/// The value of a key.
#[derive(Clone, Debug)]
pub enum Entry {
    Missing,
    Plain(Value),
    Table(Table),
    Many(Vec<Entry>),
}

/// What is wrong with the value of a key.
struct Fault {
    /// The number of the value in a list, from 0.
    index: Option<usize>,
    value: Value,
    why: Why,
}

enum Why {
    /// In words.
    Said(String),
    /// An inner table has said it, with its key.
    Inner(String),
    Missing,
    NoList,
    NoTable,
    /// The values to choose from.
    Choose(String),
    NoBool,
    NoText,
    /// The kinds to choose from.
    UnknownKind(Vec<String>),
}

impl Fault {
    fn new(value: &Value, why: Why) -> Self {
        let value = value.clone();
        Self {
            index: None,
            value,
            why,
        }
    }
}

impl Table {
    /// The table of these fields; or the first thing wrong in one line.
    pub fn parse(of: &str, mut given: Map<String, Value>) -> Result<Self, String> {
        let keys = Keys::of(of);
        given.retain(|_, value| !value.is_null()); // as if the key were not there
        if let Some(kind) = keys.iter().find(|key| key.key == "kind") {
            let default = kind.default.clone().expect("each kind has its name");
            given.entry("kind").or_insert(default);
        }
        if let Some(Value::String(spec)) = given.get_mut("algorithm") {
            if let Some(name) = spec.strip_prefix("linux:") {
                *spec = format!("kernel:{name}"); // both name Linux's own
            }
        }
        // A table has few keys of the many: comparing is faster than a hash of each.
        let taken = |key: &Key| {
            let mut names = key.names();
            names.find_map(|name| given.keys().find(|each| *each == name).cloned())
        };
        let known: Vec<_> = keys.iter().map(taken).collect();
        // A misspelt key before the one that is missing for it.
        let unknown = given
            .keys()
            .find(|name| !known.iter().flatten().any(|each| each == *name));
        if let Some(name) = unknown {
            return Err(format!("{}: {}", brief(name), unknown_key(of, name)));
        }
        let mut fields = Vec::with_capacity(keys.len());
        for (key, name) in keys.iter().zip(known) {
            let (value, is_given) = match &name {
                Some(name) => (check(&key.takes, &given[name]), true),
                None => (default(key), false),
            };
            let name = name.as_deref().unwrap_or(&key.key);
            let value = value.map_err(|fault| explain(name, &fault))?;
            fields.push(Field { value, is_given });
        }
        Ok(Self {
            of: of.into(),
            fields,
        })
    }

    fn index(&self, key: &str) -> usize {
        let mut keys = Keys::of(&self.of).iter();
        let found = keys.position(|each| each.key == key);
        found.unwrap_or_else(|| panic!("{} has no key {key}", self.of))
    }

    /// Has a table of this kind this key?
    pub fn has_key(&self, key: &str) -> bool {
        Keys::of(&self.of).iter().any(|each| each.key == key)
    }

    /// The value of a key that the file does not have.
    pub fn fill(&mut self, key: &str, value: Value) {
        let index = self.index(key);
        if !self.fields[index].is_given {
            self.fields[index].value = Entry::Plain(value);
        }
    }

    /// Does the file have the key?
    pub fn is_given(&self, key: &str) -> bool {
        self.fields[self.index(key)].is_given
    }

    pub fn entry(&self, key: &str) -> &Entry {
        &self.fields[self.index(key)].value
    }

    /// The text of a key; none if it is missing.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.entry(key) {
            Entry::Plain(value) => value.as_str(),
            _ => None,
        }
    }

    /// The whole number of a key; none if it is missing.
    pub fn number(&self, key: &str) -> Option<u64> {
        match self.entry(key) {
            Entry::Plain(value) => value.as_u64(),
            _ => None,
        }
    }

    /// Is it there, and neither `false` nor 0?
    pub fn is_true(&self, key: &str) -> bool {
        match self.entry(key) {
            Entry::Missing => false,
            Entry::Plain(value) => {
                *value != Value::Bool(false) && value.as_f64().is_none_or(|number| number != 0.0)
            }
            Entry::Many(each) => !each.is_empty(),
            Entry::Table(_) => true,
        }
    }

    /// The table in a key, if there is one.
    pub fn table(&self, key: &str) -> Option<&Self> {
        match self.entry(key) {
            Entry::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The tables in a key.
    pub fn tables(&self, key: &str) -> Vec<&Self> {
        match self.entry(key) {
            Entry::Many(each) => each.iter().filter_map(Entry::as_table).collect(),
            _ => Vec::new(),
        }
    }

    /// The numbers in a key.
    pub fn numbers(&self, key: &str) -> Vec<u64> {
        let number = |each: &Entry| match each {
            Entry::Plain(value) => value.as_u64(),
            _ => None,
        };
        match self.entry(key) {
            Entry::Many(each) => each.iter().filter_map(number).collect(),
            _ => Vec::new(),
        }
    }

    /// What the file has of it.
    pub fn written(&self) -> Map<String, Value> {
        let fields = Keys::of(&self.of).iter().zip(&self.fields);
        let given = fields.filter(|(_, field)| field.is_given);
        given
            .map(|(key, field)| {
                let name = key.alias.as_ref().unwrap_or(&key.key);
                (name.clone(), field.value.written())
            })
            .collect()
    }

    /// What an error shows as the value of a key: what is written, or a default.
    pub fn shown(&self, key: &str) -> Option<Value> {
        if !self.has_key(key) {
            return None;
        }
        match self.entry(key) {
            Entry::Missing => None,
            Entry::Plain(value) => Some(value.clone()),
            other => self.is_given(key).then(|| other.written()),
        }
    }

    /// The key that has a name in the canonical form; that name itself, if it is not of a key.
    pub fn key_of<'a>(&self, field: &'a str) -> &'a str {
        let mut keys = Keys::of(&self.of).iter();
        let found = keys.find(|key| key.canonical_name() == field);
        found.map_or(field, |key| &field[..key.key.len()])
    }

    /// The table with the names and the values of the canonical form. Null is only in tables of a kind,
    /// where it is filled later.
    pub fn canonical(&self, mss: u64) -> Result<Map<String, Value>, String> {
        let fields = Keys::of(&self.of).iter().zip(&self.fields);
        let has_kind = self.has_key("kind");
        let there = fields.filter(|(_, field)| has_kind || !matches!(field.value, Entry::Missing));
        let canonical = there.map(|(key, field)| {
            let value = match (&field.value, &key.takes) {
                (Entry::Plain(value), Takes::Quantity(kind)) => kind
                    .canonical(value, mss)
                    .map_err(|error| format!("{} = {}: {error}", key.key, toml(value)))?,
                (entry, _) => entry.canonical(mss)?,
            };
            Ok((key.canonical_name(), value))
        });
        canonical.collect()
    }
}

impl Entry {
    pub fn as_table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) => Some(table),
            _ => None,
        }
    }

    fn written(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Plain(value) => value.clone(),
            Self::Table(table) => table.written().into(),
            Self::Many(each) => each.iter().map(Self::written).collect::<Vec<_>>().into(),
        }
    }

    fn canonical(&self, mss: u64) -> Result<Value, String> {
        Ok(match self {
            Self::Missing => Value::Null,
            Self::Plain(value) => value.clone(),
            Self::Many(each) => {
                let each = each.iter().map(|each| each.canonical(mss));
                each.collect::<Result<Vec<_>, _>>()?.into()
            }
            Self::Table(table) => {
                let mut fields = table.canonical(mss)?;
                match fields.shift_remove("kind") {
                    None => fields.into(),
                    Some(kind) if fields.is_empty() => kind,
                    Some(kind) => {
                        let kind = kind.as_str().unwrap_or_default().to_string();
                        Value::Object(Map::from_iter([(kind, fields.into())]))
                    }
                }
            }
        })
    }
}

fn default(key: &Key) -> Result<Entry, Fault> {
    if key.required {
        return Err(Fault::new(&Value::Null, Why::Missing));
    }
    match (&key.takes, &key.default) {
        (Takes::Many(_), _) => Ok(Entry::Many(Vec::new())),
        (_, None) => Ok(Entry::Missing),
        (Takes::Kinds { .. }, Some(kind)) => check(&key.takes, kind),
        (_, Some(value)) => Ok(Entry::Plain(value.clone())),
    }
}

fn check(takes: &Takes, value: &Value) -> Result<Entry, Fault> {
    let plain = || Entry::Plain(value.clone());
    let refuse = |why| Err(Fault::new(value, why));
    match takes {
        Takes::Quantity(kind) => match kind.check(value) {
            Ok(()) => Ok(plain()),
            Err(words) => refuse(Why::Said(words)),
        },
        Takes::Many(many) => {
            let Value::Array(all) = value else {
                return refuse(Why::NoList);
            };
            let each = all.iter().enumerate().map(|(index, value)| {
                check(many, value).map_err(|fault| Fault {
                    index: Some(index),
                    ..fault
                })
            });
            each.collect::<Result<_, _>>().map(Entry::Many)
        }
        Takes::Choice(choices) if choices.contains(value) => Ok(plain()),
        Takes::Choice(choices) => {
            let names: Vec<_> = choices.iter().map(Value::to_string).collect();
            refuse(Why::Choose(listed(&names)))
        }
        Takes::Bool if value.is_boolean() => Ok(plain()),
        Takes::Bool => refuse(Why::NoBool),
        Takes::Text if value.is_string() => Ok(plain()),
        Takes::Text => refuse(Why::NoText),
        Takes::Table(table) => inner(table, value),
        Takes::Kinds { kinds, short } => {
            let tagged = match (value, short) {
                (Value::Number(_), Some((kind, key))) => {
                    serde_json::json!({"kind": kind, (key.as_str()): value})
                }
                (Value::String(_), _) => serde_json::json!({"kind": value}),
                _ => value.clone(),
            };
            let Some(kind) = tagged.get("kind") else {
                return Err(Fault::new(&tagged, Why::NoTable));
            };
            match kinds.iter().find(|(name, _)| kind == name) {
                Some((_, table)) => inner(table, &tagged),
                None => {
                    let known = kinds.iter().map(|(kind, _)| kind.clone()).collect();
                    Err(Fault::new(&tagged, Why::UnknownKind(known)))
                }
            }
        }
    }
}

fn inner(table: &str, value: &Value) -> Result<Entry, Fault> {
    let Value::Object(fields) = value else {
        return Err(Fault::new(value, Why::NoTable));
    };
    let parsed = Table::parse(table, fields.clone());
    parsed
        .map(Entry::Table)
        .map_err(|words| Fault::new(value, Why::Inner(words)))
}

/// "a", "b" or "c"
fn listed(names: &[String]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        _ => names.concat(),
    }
}

/// One line: field, value, fix.
fn explain(field: &str, fault: &Fault) -> String {
    let is_table = words::table(field).is_some();
    let inner = words::inner_table(field);
    let mut name = if is_table {
        field.strip_suffix('s').unwrap_or(field).into()
    } else {
        brief(field)
    };
    match fault.index {
        Some(index) if is_table || inner.is_some() => name += &format!(" {}", index + 1),
        Some(index) => name = format!("number {} of {name}", index + 1),
        None => {}
    }
    let value = || format!("{name} = {}", brief(&toml(&fault.value)));
    let tables = inner
        .or(words::table(field))
        .map(|tables| format!("write {tables}"));
    match (&fault.why, &fault.value) {
        (Why::Inner(said), _) => {
            let joint = if fault.index.is_some() { ": " } else { "." };
            format!("{name}{joint}{said}")
        }
        (Why::Missing, _) => {
            format!("{name} is missing; write {}", words::missing(&name))
        }
        (Why::UnknownKind(known), _) => unknown_kind(&name, field, &fault.value, known),
        (_, Value::Array(_)) if field == "bottleneck" => {
            "[[bottleneck]]: write [bottleneck] with one bracket, or [[link]] for several".into()
        }
        (Why::NoList, Value::Object(_)) if is_table => {
            format!("[{name}]: write [[{name}]] with two brackets; there may be several")
        }
        (why, _) => {
            let fix = tables.unwrap_or_else(|| match why {
                Why::NoList => format!("write numbers in brackets, like {field} = [1, 2]"),
                Why::Choose(known) => format!("choose {known}"),
                Why::NoBool => "write true or false".into(),
                Why::NoText => "write text in quotes".into(),
                Why::Said(said) => said.clone(),
                _ => String::new(),
            });
            format!("{}: {fix}", value())
        }
    }
}

/// Where the keys of a table are written.
const PLACES: [(&str, &str); 5] = [
    ("Scenario", "the scenario, above the tables"),
    ("Bottleneck", "[bottleneck] or [[link]]"),
    ("Flow", "[[flow]]"),
    ("Session", "[[session]]"),
    ("Program", "[[program]]"),
];

fn unknown_key(of: &str, field: &str) -> String {
    if words::table(field).is_some() {
        return format!(
            "the same as {}; keep one of the two",
            field.strip_suffix('s').unwrap_or(field)
        );
    }
    if ["scenario", "axes"].contains(&field) {
        return "this is the file of a sweep; run it with `ackclock sweep`".into();
    }
    if field == "ecn" && of == "DropTail" {
        return "a drop_tail queue cannot mark; remove ecn, or choose a queue like codel".into();
    }
    let mut of_flow = Keys::of("Flow").iter().filter(|_| of == "Session");
    if let Some(key) = of_flow.find(|key| key.key == field) {
        let field = key.canonical_name();
        if let Some((_, why)) = refused_by(Host::Session).find(|(each, _)| *each == field) {
            return format!("{why}; leave it out");
        }
    }
    let keys = Keys::of(of).iter();
    let known: Vec<_> = keys
        .map(|key| key.names().next().unwrap_or(&key.key))
        .collect();
    if let Some(near) = nearest(field, &known) {
        return format!("unknown key; did you mean \"{near}\"?");
    }
    let has = |(table, _): &&(&str, &str)| Keys::of(table).iter().any(|key| key.key == field);
    let places: Vec<_> = PLACES.iter().filter(has).map(|(_, at)| *at).collect();
    if !places.is_empty() {
        return format!("unknown key; it is a key of {}", places.join(" or of "));
    }
    format!("unknown key; known keys are {}", known.join(", "))
}

fn unknown_kind(name: &str, field: &str, table: &Value, known: &[String]) -> String {
    let kind = &table["kind"];
    let text = kind.as_str().map_or_else(|| toml(kind), String::from);
    let names: Vec<_> = known.iter().map(String::as_str).collect();
    let percent = text
        .strip_suffix('%')
        .and_then(|number| number.trim().parse::<f64>().ok());
    let fix = if let Some(percent) = percent {
        format!("write {}", general(percent / 100.0, 6))
    } else if !text.starts_with(char::is_alphabetic) {
        format!("write {}", words::inner_table(field).unwrap_or("its kind"))
    } else if let Some(near) = nearest(&text, &names) {
        format!("did you mean \"{near}\"?")
    } else {
        let quoted: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
        format!("choose from {}", quoted.join(", "))
    };
    let is_short = table.as_object().is_some_and(|table| table.len() == 1);
    let joint = if is_short { " = " } else { ".kind = " };
    format!("{name}{joint}{}: {fix}", toml(kind))
}
