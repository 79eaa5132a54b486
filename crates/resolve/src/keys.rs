//! The keys of each table that people write, made of the fields of the simulator's own structs: their
//! schema says what each field means, its range and its default.

use std::collections::HashMap;
use std::sync::OnceLock;

use ackclock_sim::scenario::able::{self, Answer, Host, HOSTS};
use ackclock_sim::schema::schema;
use serde_json::{json, Map, Value};

/// All tables, by the names of their structs.
#[derive(Default)]
pub struct Keys {
    pub tables: HashMap<String, TableKeys>,
    /// Their names, each after those of the tables in it.
    pub order: Vec<String>,
}

/// The keys of a table.
pub struct TableKeys {
    /// What the table is, in Markdown.
    pub about: String,
    /// Those that must be given first, tables last.
    pub keys: Vec<Key>,
}

/// A key of a table.
pub struct Key {
    pub key: String,
    /// Its other name, which files have.
    pub alias: Option<String>,
    pub required: bool,
    /// None: no value, or of a list no value in it.
    pub default: Option<Value>,
    pub takes: Takes,
    /// What it means.
    pub about: String,
}

/// What a key takes.
pub enum Takes {
    Quantity(Kind),
    Many(Box<Takes>),
    Choice(Vec<Value>),
    Table(String),
    Bool,
    Text,
    /// A table of several kinds, by the value of `kind`.
    Kinds {
        /// Kind and name of its table.
        kinds: Vec<(String, String)>,
        /// The kind for which a number may stand, and its key.
        short: Option<(String, String)>,
    },
}

/// A quantity or a number, from `low` to `high` in the canonical unit.
pub struct Kind {
    /// How people write it.
    pub kind: Of,
    /// The least.
    pub low: u64,
    /// The most.
    pub high: u64,
    /// An example in an error, if it is not the usual one.
    pub like: String,
}

/// How people write a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A whole number.
    Integer,
    /// A number of bytes without its unit, of things that have few.
    Bytes,
    /// A number with few decimals: the canonical form has it in a small unit, as an integer.
    Thousandths,
    /// The same.
    Millionths,
    /// The same.
    Billionths,
    /// The path of a file.
    File,
    /// The path of the file of a trace.
    Trace,
    /// Text with a unit: "200ms".
    Time,
    /// "250mbit".
    Rate,
    /// "2MB".
    Size,
    /// A size, or full segments: "600packets".
    Payload,
    /// The size of a queue: "1bdp", "100packets", "2MB" or "50ms". `low` to `high` count packets.
    Room,
}

/// The ends of the names of canonical fields, and what people write instead. Of other fields people
/// write the integer itself (`hz`, `drop_every_packets`).
const KINDS: [(&str, Of); 6] = [
    ("_ns", Of::Time),
    ("_bps", Of::Rate),
    ("_bytes", Of::Size),
    ("_thousandths", Of::Thousandths),
    ("_ppm", Of::Millionths),
    ("_ppb", Of::Billionths),
];

/// Fields that people write in another way than their name says.
const OTHER_KINDS: [(&str, Of); 6] = [
    ("Scenario.mss_bytes", Of::Bytes),
    ("Flow.mss_bytes", Of::Bytes),
    ("Flow.size_bytes", Of::Payload),
    ("Bottleneck.buffer", Of::Room),
    ("Bottleneck.trace_ms", Of::Trace),
    ("Bottleneck.timeline", Of::File),
];

/// Keys that may be missing though the canonical field may not: resolving fills it.
const OPTIONAL: [&str; 12] = [
    "Scenario.tso",
    "Flow.rtt_ns",
    "Program.rtt_ns",
    "Bottleneck.rate_bps",
    "Codel.mtu_bytes",
    "FqCodel.mtu_bytes",
    "Pie.mtu_bytes",
    "Dualpi2.mtu_bytes",
    "FqCodel.quantum_bytes",
    "Fq.quantum_bytes",
    "Fq.initial_quantum_bytes",
    "Red.idle_packet_ns",
];

/// A key that resolving reads into `rate_at`, `delay_at` and `loss_at`.
const TIMELINE: &str =
    "File of the link in time, CSV or Parquet: a column `time_s`, and those that \
    change of `rate_mbit`, `delay_ms`, `loss` and `up` (0: every packet is lost), or in other \
    units. Or a delay in ms on each line, for 10 ms each, as LeoReplayer's.";

/// A key of which resolving makes others.
const HOST: &str =
    "`\"as installed\"`: where nothing else is written, a `receive_buffer` of 6 MiB, \
    or 32 MiB with `linux-7` (`tcp_rmem`), and `hz` 250 (docs/vlinux.md).";

impl Of {
    /// Those that are text with a unit.
    pub const QUANTITIES: [(&str, Self); 4] = [
        ("Time", Self::Time),
        ("Rate", Self::Rate),
        ("Size", Self::Size),
        ("Payload", Self::Payload),
    ];
}

impl Keys {
    /// The one there is.
    pub fn get() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        KEYS.get_or_init(Maker::all)
    }

    /// The keys of a table.
    pub fn of(table: &str) -> &'static [Key] {
        &Self::get().tables[table].keys
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

    /// Is it a table, or a list of tables, that is always there?
    fn is_of_tables(&self, is_optional: bool) -> bool {
        match &self.takes {
            Takes::Table(_) => !is_optional,
            Takes::Many(many) => matches!(**many, Takes::Table(_)),
            _ => false,
        }
    }
}

/// Makes the keys of the simulator's schema.
struct Maker {
    /// The schema of each struct.
    defs: Map<String, Value>,
    made: Keys,
}

impl Maker {
    fn all() -> Keys {
        let mut defs = schema()["$defs"].as_object().expect("structs").clone();
        defs.insert("Scenario".into(), schema().clone());
        let made = Keys::default();
        let mut maker = Self { defs, made };
        maker.add("Bottleneck", None);
        maker.add("Scenario", None);
        maker.made
    }

    /// The table of a struct, `tag` its kind.
    fn add(&mut self, name: &str, tag: Option<&str>) {
        if self.made.tables.contains_key(name) {
            return;
        }
        let of = self.defs[name].clone();
        let mut keys = Vec::new();
        if let Some(tag) = tag {
            keys.push((
                Key {
                    key: "kind".into(),
                    alias: None,
                    required: false,
                    default: Some(tag.into()),
                    takes: Takes::Choice(vec![tag.into()]),
                    about: String::new(),
                },
                false,
            ));
        }
        for (path, of) in self.fields(name) {
            if path == "Session.sizes" {
                keys.extend(self.sizes(&of));
            } else if path != "Scenario.header_bytes" {
                keys.push(self.key(&path, &of));
            }
        }
        // What must be given comes first, tables last, as a reader wants to see them.
        keys.sort_by_key(|(key, is_optional)| match key {
            key if key.is_of_tables(*is_optional) => 2,
            key => u8::from(!key.required),
        });
        let about = of["description"].as_str().unwrap_or(name).into();
        let keys = keys.into_iter().map(|(key, _)| key).collect();
        self.made
            .tables
            .insert(name.into(), TableKeys { about, keys });
        self.made.order.push(name.into());
    }

    /// The fields that are keys of a table: struct and name, and what the schema says.
    fn fields(&self, name: &str) -> Vec<(String, Value)> {
        let own = |of: &str| -> Vec<(String, Value)> {
            let fields = self.defs[of]["properties"].as_object();
            let fields = fields.into_iter().flatten();
            let path = |(field, what): (&String, &Value)| (format!("{of}.{field}"), what.clone());
            fields.map(path).collect()
        };
        let described = |mut of: Value, about: &str| {
            of["description"] = about.into();
            of
        };
        let mut fields = own(name);
        match name {
            "Session" => {
                let is_of_both = |(path, _): &(String, Value)| {
                    able::refused_by(Host::Session).all(|(field, _)| *field != path[5..])
                };
                let of_flow = own("Flow").into_iter().filter(is_of_both);
                fields.retain(|(path, _)| path != "Session.flow");
                fields = of_flow.chain(fields).collect();
            }
            "Scenario" => {
                let rtt = self.defs["Flow"]["properties"]["rtt_ns"].clone();
                let about =
                    "Round-trip propagation delay of each flow that has no `rtt` of its own.";
                fields.insert(0, ("Flow.rtt_ns".into(), described(rtt, about)));
                let of = json!({"type": ["string", "null"], "enum": ["as installed"]});
                fields.push(("Scenario.host".into(), described(of, HOST)));
            }
            "Bottleneck" => {
                let of = json!({
                    "type": ["array", "null"], "items": {"type": "integer"}, "minItems": 1,
                    "maxItems": 1_000_000,
                });
                fields.push(("Bottleneck.timeline".into(), described(of, TIMELINE)));
            }
            _ => {}
        }
        if let "Flow" | "Session" = name {
            let one = name.to_lowercase();
            let most = &self.defs["Scenario"]["properties"][format!("{one}s")]["maxItems"];
            let of = json!({"type": "integer", "minimum": 1, "maximum": most, "default": 1});
            let about = format!("Number of {one}s like this one.");
            fields.push((format!("{name}.count"), described(of, &about)));
        }
        fields
    }

    /// Each distribution is a key of its own, with its parameter.
    fn sizes(&mut self, of: &Value) -> Vec<(Key, bool)> {
        let mut found = Vec::new();
        for choice in self.target(of)["oneOf"].as_array().expect("laws").clone() {
            for (law, parameter) in choice["properties"].as_object().into_iter().flatten() {
                let mut of = parameter.clone();
                of["type"] = json!(["integer", "null"]);
                of["description"] = choice["description"].clone();
                found.push(self.key(&format!("Session.{law}_thousandths"), &of));
            }
        }
        found
    }

    /// A key, and whether it may be missing.
    fn key(&mut self, path: &str, of: &Value) -> (Key, bool) {
        let (table, name) = path.split_once('.').expect("table and field");
        let types = of["type"].as_array();
        let is_optional = OPTIONAL.contains(&path)
            || types.is_some_and(|types| types.contains(&"null".into()))
            || of.get("anyOf").is_some();
        let target = self.target(of);
        let takes = self.takes(path, name, of, &target);
        let default = match (&takes, of.get("default")) {
            (Takes::Many(_), _) | (_, None) => None,
            (Takes::Quantity(_), Some(_)) if OPTIONAL.contains(&path) => None,
            (Takes::Quantity(kind), Some(default)) => {
                Some(kind.written_value(default.as_u64().expect("a number")))
            }
            (_, Some(default)) => Some(written_name(default)),
        };
        let key = match &takes {
            Takes::Quantity(kind) => name.strip_suffix(kind.kind.suffix()).unwrap_or(name),
            _ => name,
        };
        let is_many = matches!(takes, Takes::Many(_));
        let one = key
            .strip_suffix('s')
            .filter(|_| table == "Scenario" && is_many);
        let is_filled = path == "Scenario.bottleneck";
        let key = Key {
            key: key.into(),
            alias: one.map(String::from),
            required: default.is_none() && !is_optional && !is_many && !is_filled,
            default,
            takes,
            about: words(of["description"].as_str().unwrap_or_default()),
        };
        (key, is_optional)
    }

    fn takes(&mut self, path: &str, name: &str, of: &Value, target: &Value) -> Takes {
        let other = OTHER_KINDS.iter().find(|(each, _)| *each == path);
        let types = target["type"].to_string();
        if other.is_some() || types.contains("\"integer\"") {
            let by_name = KINDS.iter().find(|(unit, _)| name.ends_with(unit));
            let kind = other.or(by_name).map_or(Of::Integer, |(_, kind)| *kind);
            return Takes::Quantity(quantity(kind, of, target));
        }
        if types.contains("\"boolean\"") {
            return Takes::Bool;
        }
        if types.contains("\"string\"") && target.get("enum").is_none() {
            return Takes::Text;
        }
        if target["type"] == "array" {
            let items = &target["items"];
            return Takes::Many(Box::new(match items["type"].as_str() {
                Some("integer") => Takes::Quantity(quantity(Of::Integer, items, items)),
                _ => self.reference(items),
            }));
        }
        if target["type"] == "object" {
            let named = self.defs.iter().find(|(_, each)| *each == target);
            let name = named.expect("a struct").0.clone();
            self.add(&name, None);
            return Takes::Table(name);
        }
        let choices = target["oneOf"].as_array().cloned();
        let choices = choices.unwrap_or_else(|| vec![target.clone()]);
        if choices.iter().any(|each| each.get("properties").is_some()) {
            return self.kinds(&choices);
        }
        let values = choices
            .iter()
            .flat_map(tags)
            .map(|each| written_name(&each));
        Takes::Choice(values.collect())
    }

    /// A table whose `kind` says which keys it has.
    fn kinds(&mut self, choices: &[Value]) -> Takes {
        let (mut kinds, mut short) = (Vec::new(), None);
        for choice in choices {
            for tag in tags(choice) {
                let tag = tag.as_str().expect("a name");
                let name = class_of(tag);
                let of = choice.get("properties").map(|each| each[tag].clone());
                let of = of.unwrap_or_else(|| json!({"properties": {}}));
                let mut of_struct = self.target(&of);
                let about = [&choice["description"], &of["description"]];
                let about = about.into_iter().find(|each| each.is_string());
                of_struct["description"] = about.cloned().unwrap_or_else(|| name.clone().into());
                self.defs.insert(name.clone(), of_struct.clone());
                self.add(&name, Some(tag));
                let fields = of_struct["properties"].as_object();
                // Of the first kind its only key alone stands for the table.
                if let (true, Some(fields)) = (kinds.is_empty(), fields) {
                    if let (1, Some(key)) = (fields.len(), fields.keys().next()) {
                        short = Some((tag.into(), key.trim_end_matches("_ppb").into()));
                    }
                }
                kinds.push((tag.to_string(), name));
            }
        }
        Takes::Kinds { kinds, short }
    }

    fn reference(&mut self, of: &Value) -> Takes {
        let path = of["$ref"].as_str().expect("a struct");
        let name = path.rsplit('/').next().unwrap_or_default().to_string();
        self.add(&name, None);
        Takes::Table(name)
    }

    /// What a field refers to.
    fn target(&self, of: &Value) -> Value {
        let choices = of["anyOf"].as_array().into_iter().flatten();
        let of = choices
            .clone()
            .find(|each| each["type"] != "null")
            .unwrap_or(of);
        match of["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            Some(name) => self.defs[name].clone(),
            None => of.clone(),
        }
    }
}

fn quantity(kind: Of, of: &Value, target: &Value) -> Kind {
    let first = target["oneOf"][0]["properties"].as_object();
    let target = first
        .and_then(|each| each.values().next())
        .unwrap_or(target);
    let limits = match target.get("items") {
        Some(_) => ["minItems", "maxItems"],
        None => ["minimum", "maximum"],
    };
    let [low, high] = limits.map(|limit| target[limit].as_u64().expect("each number has a range"));
    let mut quantity = Kind {
        kind,
        low,
        high,
        like: String::new(),
    };
    if let Of::Time | Of::Rate | Of::Size | Of::Payload = kind {
        let examples = of["examples"].as_array().into_iter().flatten();
        let numbers = examples.chain(of.get("default")).filter_map(Value::as_u64);
        let (usual, _) = quantity.usual();
        let mut shown = numbers
            .filter(|number| *number > 0)
            .map(|number| quantity.written(number));
        quantity.like = shown.find(|shown| shown != usual).unwrap_or_default();
    }
    quantity
}

/// The names of a choice among names, and of structs behind names.
fn tags(choice: &Value) -> Vec<Value> {
    if let Some(fields) = choice["properties"].as_object() {
        return fields.keys().map(|name| name.clone().into()).collect();
    }
    match choice.get("const") {
        Some(name) => vec![name.clone()],
        None => choice["enum"].as_array().cloned().unwrap_or_default(),
    }
}

/// How people write a name of the canonical form.
fn written_name(name: &Value) -> Value {
    match name.as_str() {
        Some("at_once") => "at once".into(),
        _ => name.clone(),
    }
}

/// `fq_codel` is `FqCodel`.
fn class_of(tag: &str) -> String {
    let parts = tag
        .split('_')
        .map(|part| part[..1].to_uppercase() + &part[1..]);
    parts.collect()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All tables as data: name, what it is, and of each key its names, whether it must be given, its
/// default, what it means, what it takes, and the answers of `hosts` that take not all of it.
pub fn data() -> Value {
    let keys = Keys::get();
    let hosts = HOSTS.map(|(name, host)| (name, able::answers(host)));
    let table = |name: &String| {
        let of = &keys.tables[name];
        let each = of.keys.iter().map(|key| {
            let mut data = key.data();
            data["hosts"] = json!({});
            let field = key.canonical_name();
            for (host, answers) in &hosts {
                let is_its =
                    |(of, _, _): &&Answer| of == name || (*of, &**name) == ("Flow", "Session");
                let mut answers = answers.iter().filter(is_its);
                if let Some((.., says)) = answers.find(|(_, each, _)| *each == field) {
                    data["hosts"][host] = (&**says).into();
                }
            }
            data
        });
        json!({"name": name, "about": of.about, "keys": each.collect::<Vec<_>>()})
    };
    keys.order.iter().map(table).collect()
}

impl Key {
    fn data(&self) -> Value {
        let mut data = self.takes.data();
        data["key"] = self.key.clone().into();
        data["about"] = self.about.clone().into();
        data["required"] = self.required.into();
        data["alias"] = self.alias.clone().into();
        data["default"] = self.default.clone().into();
        data
    }
}

impl Takes {
    fn data(&self) -> Value {
        match self {
            Self::Quantity(of) => json!({
                "kind": format!("{:?}", of.kind), "low": of.low, "high": of.high,
                "range": of.shown(),
            }),
            Self::Many(many) => json!({"many": many.data()}),
            Self::Choice(choices) => json!({"choices": choices}),
            Self::Table(table) => json!({"table": table}),
            Self::Bool => json!({"plain": "bool"}),
            Self::Text => json!({"plain": "str"}),
            Self::Kinds { kinds, short } => json!({
                "kinds": kinds.iter().map(|(kind, table)| (kind.clone(), table.clone().into())).collect::<Map<_, _>>(),
                "short": short,
            }),
        }
    }
}
