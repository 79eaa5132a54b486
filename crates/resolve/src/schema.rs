//! The JSON Schema of a scenario file, for editors: made of [`Keys`].
//!
//! The schema accepts what [`crate::Scenario`] accepts. Only what a JSON Schema cannot say differs:
//! `tests/scenario/test_schema.py` lists it, and tests that nothing else does.

use serde_json::{json, Map, Value};

use crate::keys::{Key, Keys, Kind, Of, Takes};
use crate::scenario::NEW;
use crate::units::{Units, PACKETS, RATE_UNITS, SIZE_UNITS, TIME_UNITS};

/// A number that is not negative, and what may stand before its unit.
const NUMBER: &str = r"\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?\s*";

/// Draft 7, which every editor reads.
pub fn schema() -> Value {
    let tables = Keys::get().order.iter();
    let mut tables: Map<_, _> = tables.map(|name| (name.clone(), table(name))).collect();
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:ackclock:scenario",
        "title": "A scenario file of ackclock",
    });
    let scenario = tables.remove("Scenario").expect("the whole");
    for (key, value) in scenario.as_object().into_iter().flatten() {
        schema[key] = value.clone();
    }
    schema["definitions"] = tables.into();
    schema
}

fn table(name: &str) -> Value {
    let of = &Keys::get().tables[name];
    let mut properties = Map::new();
    for key in &of.keys {
        let mut names = key.names();
        let usual = names.next().expect("each key has a name");
        properties.insert(usual.into(), property(key));
        for other in names {
            let mut same = property(key);
            same["description"] = format!("The same as `{usual}`.").into();
            same["x-taplo"] = json!({"hidden": true});
            properties.insert(other.into(), same);
        }
    }
    let is_needed = |key: &&Key| key.required || key.key == "kind";
    let needed: Vec<_> = of
        .keys
        .iter()
        .filter(is_needed)
        .map(|key| &key.key)
        .collect();
    let mut schema = json!({
        "description": of.about, "type": "object", "additionalProperties": false,
        "properties": properties, "required": needed,
    });
    if let Some(rules) = together(name) {
        then(&mut schema, rules);
    }
    schema
}

fn property(key: &Key) -> Value {
    let mut schema = value(&key.takes);
    let range = match &key.takes {
        Takes::Quantity(kind) => format!(" ({})", kind.shown()),
        _ => String::new(),
    };
    if !key.about.is_empty() {
        schema["description"] = format!("{}{range}", key.about).into();
    }
    if let Some(default) = &key.default {
        schema["default"] = default.clone();
    }
    schema
}

fn value(takes: &Takes) -> Value {
    match takes {
        Takes::Quantity(kind) => quantity(kind),
        Takes::Many(many) => json!({"type": "array", "items": value(many)}),
        Takes::Choice(choices) => json!({"enum": choices}),
        Takes::Table(table) => reference(table),
        Takes::Bool => json!({"type": "boolean"}),
        Takes::Text => json!({"type": "string"}),
        Takes::Kinds { kinds, short } => of_kinds(kinds, short.as_ref()),
    }
}

/// Its kind in quotes, a table with `kind`, or of the first kind a number.
fn of_kinds(kinds: &[(String, String)], short: Option<&(String, String)>) -> Value {
    let is_complete = |table: &str| !Keys::of(table).iter().any(|key| key.required);
    let complete = kinds.iter().filter(|(_, table)| is_complete(table));
    let complete: Vec<_> = complete.map(|(kind, _)| kind).collect();
    let every: Vec<_> = kinds.iter().map(|(kind, _)| kind).collect();
    let number = short.map(|(_, key)| quantity(Keys::kind(&kinds[0].1, key)));
    let (mut types, mut offered) = (vec!["object"], Vec::new());
    let mut rules = vec![json!({
        "if": {"type": "object"},
        "then": {"required": ["kind"], "properties": {"kind": {"enum": every}}},
    })];
    if !complete.is_empty() {
        types.push("string");
        rules.push(json!({"if": {"type": "string"}, "then": {"enum": complete}}));
        offered.push(json!({"enum": complete}));
    }
    if let Some(number) = number {
        types.push("number");
        rules.push(json!({"if": {"type": "number"}, "then": number}));
        offered.push(number);
    }
    for (kind, table) in kinds {
        rules.push(json!({
            "if": {"required": ["kind"], "properties": {"kind": {"const": kind}}, "type": "object"},
            "then": reference(table),
        }));
        offered.push(reference(table));
    }
    // An editor offers what it finds in `anyOf`; that anything fits there leaves the refusal to the rules,
    // whose words are of the one kind.
    offered.push(true.into());
    rules.push(json!({"type": types}));
    let mut schema = json!({"anyOf": offered});
    then(&mut schema, rules);
    schema
}

/// Adds rules where an editor does not look for keys to offer, as it does in a bare `allOf`.
fn then(schema: &mut Value, rules: Vec<Value>) {
    schema["if"] = true.into();
    schema["then"] = json!({"allOf": rules});
}

fn reference(table: &str) -> Value {
    json!({"$ref": format!("#/definitions/{table}")})
}

fn quantity(kind: &Kind) -> Value {
    let text = |units: &str, examples: &[&str]| {
        json!({
            "type": "string", "maxLength": 100, "pattern": format!("^{NUMBER}({units})\\s*$"),
            "examples": examples,
        })
    };
    let any_of = |of: &[Units]| {
        let names = of
            .iter()
            .flat_map(|units| units.iter().map(|(unit, _)| *unit));
        names.collect::<Vec<_>>().join("|")
    };
    let like = match kind.like.as_str() {
        "" => kind.usual().0,
        like => like,
    };
    let room = [&["1bdp", "100packets", "2MB", "50ms"]];
    match kind.kind {
        Of::Integer | Of::Bytes => {
            json!({"type": "integer", "minimum": kind.low, "maximum": kind.high})
        }
        Of::Thousandths | Of::Millionths | Of::Billionths => {
            let [low, high] = [kind.low, kind.high].map(|number| kind.written_value(number));
            json!({"type": "number", "minimum": low, "maximum": high})
        }
        Of::File | Of::Trace => json!({"type": "string", "minLength": 1}),
        Of::Time => text(&any_of(&[TIME_UNITS]), &[like]),
        Of::Rate => {
            let prefixes = RATE_UNITS
                .iter()
                .filter_map(|(unit, _)| unit.strip_suffix("bit"));
            let small = prefixes.collect::<String>();
            let large = small.to_uppercase();
            text(&format!("[{small}{large}]?[bB][iI][tT](/[sS])?"), &[like])
        }
        Of::Size => text(&any_of(&[SIZE_UNITS]), &[like]),
        Of::Payload => text(&any_of(&[PACKETS, SIZE_UNITS]), &["10MB", "600packets"]),
        Of::Room => text(
            &any_of(&[&[("bdp", 1)], PACKETS, SIZE_UNITS, &TIME_UNITS[..4]]),
            room[0],
        ),
    }
}

/// What the keys of a table must be together, as far as their values need not be compared.
fn together(table: &str) -> Option<Vec<Value>> {
    let empty = || json!({"maxItems": 0});
    let filled = |key: &str| json!({"required": [key], "properties": {key: {"minItems": 1}}});
    let any =
        |keys: &[&str]| json!({"anyOf": keys.iter().map(|key| filled(key)).collect::<Vec<_>>()});
    let each = |item: Value| {
        let lists = ["flow", "flows", "session", "sessions"];
        let lists = lists.map(|list| (list.to_string(), json!({"items": item})));
        json!({"properties": Map::from_iter(lists)})
    };
    let no_ecn = || json!({"properties": {"ecn": {"const": false}}});
    let is_old = json!({
        "required": ["profile"], "properties": {"profile": {"not": {"enum": NEW}}},
    });
    let flow = [
        json!({"properties": {"route": {"uniqueItems": true}, "back": {"uniqueItems": true}}}),
        json!({
            "if": {"required": ["direction"], "properties": {"direction": {"const": "reverse"}}},
            "then": {"properties": {"route": empty(), "back": empty()}},
        }),
        json!({"if": is_old, "then": no_ecn()}),
    ];
    Some(match table {
        "Bottleneck" => vec![
            json!({
                "if": {"anyOf": [{"required": ["trace"]}, {"required": ["timeline"]}]},
                "else": {"required": ["rate"]},
            }),
            json!({
                "if": {"required": ["trace"]},
                "then": {"properties": {
                    "rate": false, "rate_at": empty(), "burst": {"const": "0B"},
                }},
            }),
            json!({
                "if": {"required": ["drop_every_packets"]},
                "then": {"properties": {"drop_packets": empty()}},
            }),
            json!({"properties": {"drop_packets": {"uniqueItems": true}}}),
        ],
        "Flow" => flow.into(),
        "Session" => {
            let needs_size =
                ["pareto", "lognormal", "gap"].map(|key| (key.into(), json!(["size"])));
            let mut rules = Vec::from(flow);
            rules.push(json!({"dependencies": Map::from_iter(needs_size)}));
            rules.push(json!({"not": {"required": ["pareto", "lognormal"]}}));
            rules
        }
        "Scenario" => vec![
            json!({"not": {"required": ["link", "links"]}}),
            json!({"not": {"required": ["flow", "flows"]}}),
            json!({"not": {"required": ["session", "sessions"]}}),
            json!({"not": {"required": ["change", "changes"]}}),
            json!({"not": {"required": ["program", "programs"]}}),
            json!({
                "if": any(&["flows", "session", "sessions", "program", "programs"]),
                "else": filled("flow"),
            }),
            json!({
                "if": any(&["link", "links"]),
                "then": {"allOf": [
                    {"properties": {"bottleneck": false}},
                    each(json!({"properties": {"direction": {"not": {"const": "reverse"}}}})),
                ]},
                "else": {"required": ["bottleneck"]},
            }),
            json!({"if": {"required": ["rtt"]}, "else": each(json!({"required": ["rtt"]}))}),
            json!({
                "if": is_old,
                "then": each(json!({"if": {"required": ["profile"]}, "else": no_ecn()})),
            }),
        ],
        _ => return None,
    })
}
