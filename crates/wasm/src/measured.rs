//! What a run measured: `ackclock-measure` for the page, under the keys of `ackclock.results.summary` and
//! `ackclock.questions.measure`.

use ackclock_measure::{
    headline, is_equal, numbers, Column, Estimate, Mark, Number, Rule, Run, Seen, Setup, Table as _,
};
use ackclock_sim::record::{EventKind, Table, Values};
use ackclock_sim::{Prepared, RunResult, Scenario};
use serde::Deserialize;
use serde_json::{json, Map, Value};

use crate::face::{refuse, Refusal};

/// A table with its rows.
#[derive(Debug)]
pub struct Rows {
    pub table: Table,
    pub values: Vec<Values>,
}

/// Those of [`RunResult::TABLES`].
pub type Tables = [Rows; RunResult::TABLES.len()];

pub fn tables(result: RunResult) -> Tables {
    let mut values = result.into_tables().into_iter();
    RunResult::TABLES.map(|table| Rows {
        table,
        values: values.next().expect("each table has its values"),
    })
}

impl ackclock_measure::Table for Rows {
    fn column(&self, name: &str) -> Column<'_> {
        let columns = self.table.columns.iter().zip(&self.values);
        let mut named = columns.filter(|(column, _)| column.name == name);
        column(named.next().expect("it is a column of the table").1)
    }
}

fn setup(scenario: &Scenario) -> Setup {
    serde_json::from_str(&scenario.to_json()).expect("the canonical form has its keys")
}

/// What the scorecard and an attack measure of a run; the first `mine` flows are those of the algorithm.
/// Names of numbers that are only lower bounds are in `at_least`; a number without a value is null.
pub fn measured(scenario: &Scenario, mine: usize, result: RunResult) -> Value {
    let (setup, trace_hash) = (setup(scenario), result.trace_hash);
    let [flows, samples, queues, events, _, transfers] = &tables(result);
    let run = Run {
        setup: &setup,
        flows,
        samples,
        queues,
        events,
        transfers,
    };
    let (mut found, mut at_least) = (Map::new(), Vec::new());
    for (name, number) in numbers(&run, mine) {
        let value = match number {
            Some(Number::Is(value)) => Some(value),
            Some(Number::AtLeast(value)) => {
                at_least.push(Value::from(name));
                Some(value)
            }
            None => None,
        };
        // A number that is none (NaN) is null, too.
        found.insert(name.into(), value.into());
    }
    found.insert("at_least".into(), at_least.into());
    json!({
        "kind": "measured",
        "numbers": found,
        "goodputs_bps": ackclock_measure::goodputs_bps(&setup, flows),
        "trace_hash": format!("{trace_hash:016x}"),
    })
}

/// Columns of a table that Python has, by their names.
#[derive(Debug)]
pub struct Frame(Vec<(String, Values)>);

impl Frame {
    /// A line of JSON with name, type and length of each, and their bytes; `None` of no bytes.
    pub fn read(bytes: &[u8]) -> Result<Option<Self>, Refusal> {
        let Some(at) = bytes.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let (head, mut rest) = (&bytes[..at], &bytes[at + 1..]);
        let head: Vec<(String, String, usize)> = serde_json::from_slice(head).map_err(refuse)?;
        let columns = head.into_iter().map(|(name, kind, len)| {
            let width = usize::from(kind.as_bytes()[kind.len() - 1] - b'0');
            let (own, others) = rest.split_at(width * len);
            rest = others;
            let number = |bytes: &[u8]| {
                let add =
                    |sum: u64, (byte, shift): (&u8, u32)| sum | u64::from(*byte) << (8 * shift);
                bytes.iter().zip(0..).fold(0, add)
            };
            let numbers = own.chunks_exact(width).map(number);
            let values = match width {
                1 => Values::Name(own.to_vec()),
                4 => Values::U32(numbers.map(|number| number as u32).collect()),
                _ => Values::U64(numbers.collect()),
            };
            (name, values)
        });
        Ok(Some(Self(columns.collect())))
    }
}

impl ackclock_measure::Table for Frame {
    fn column(&self, name: &str) -> Column<'_> {
        let mut named = self.0.iter().filter(|(own, _)| own == name);
        column(&named.next().unwrap_or_else(|| panic!("no column {name}")).1)
    }
}

fn column(values: &Values) -> Column<'_> {
    match values {
        Values::U32(values) => Column::U32(values),
        Values::U64(values) => Column::U64(values),
        Values::Name(codes) => Column::U8(codes),
    }
}

/// What is known for a card.
#[derive(Deserialize)]
struct Card {
    others: Vec<String>,
    rows: Vec<Row>,
    failed: Option<String>,
}

#[derive(Deserialize)]
struct Row {
    row: String,
    numbers: Vec<Asked>,
}

/// A number of the algorithm, that of each other in its place, and the paired difference to it.
#[derive(Deserialize)]
struct Asked {
    #[serde(flatten)]
    rule: Rule,
    found: Option<Estimate>,
    against: Vec<(Option<Estimate>, Option<Estimate>)>,
}

/// The marks of a card, and the card in one line.
pub fn judged(card: &str) -> Result<Value, String> {
    let card: Card = serde_json::from_str(card).map_err(|error| error.to_string())?;
    let (mut rows, mut lines, mut equal) = (Vec::new(), Vec::new(), card.others.clone());
    for Row { row, numbers } in card.rows {
        let is_unsafe = numbers.iter().any(|of| of.rule.is_unsafe(of.found));
        let mark = |of: &Asked, other: usize| of.rule.mark(of.against[other].1);
        let others = 0..card.others.len();
        let marks = others
            .clone()
            .map(|other| Mark::of_row(numbers.iter().map(|of| mark(of, other))));
        let marks: Vec<_> = marks.collect();
        for (other, name) in card.others.iter().enumerate() {
            let is_equal =
                |of: &Asked| is_equal(of.found, of.against[other].0, of.against[other].1);
            equal.retain(|each| each != name || numbers.iter().all(is_equal));
        }
        let answers = numbers.iter().map(|of| {
            let marks = others.clone().map(|other| mark(of, other));
            json!({"unsafe": of.rule.is_unsafe(of.found), "marks": marks.collect::<Vec<_>>()})
        });
        rows.push(
            json!({"answers": answers.collect::<Vec<_>>(), "marks": marks, "unsafe": is_unsafe}),
        );
        lines.push((row, is_unsafe, marks.first().map(|mark| mark.name().into())));
    }
    if rows.is_empty() {
        equal.clear();
    }
    let first = card.others.first().map(String::as_str);
    let says = headline(&lines, first, &equal, card.failed.as_deref());
    Ok(json!({"kind": "judged", "rows": rows, "says": says}))
}

/// What the rows of a run came to so far.
#[derive(Debug)]
pub struct SoFar {
    setup: Setup,
    seen: Seen,
    /// When each flow has completed; 0: not yet.
    completed_us: Vec<u64>,
}

impl SoFar {
    pub fn new(scenario: &Scenario) -> Self {
        let setup = setup(scenario);
        Self {
            seen: Seen::new(&setup),
            completed_us: vec![0; setup.flows.len()],
            setup,
        }
    }

    /// Takes the next rows.
    pub fn take(&mut self, [_, samples, queues, events, ..]: &Tables) {
        let rows = events.u32("flow").iter().zip(events.u64("time_us"));
        for (kind, (flow, time_us)) in events.codes("kind").into_iter().zip(rows) {
            if kind == EventKind::Completed as u8 {
                self.completed_us[*flow as usize - 1] = *time_us;
            }
        }
        self.seen
            .take_samples(&self.setup, samples, &self.completed_us);
        self.seen.take_queues(queues);
    }

    /// The summary of a run that has ended; `packets`: those sent.
    pub fn summary(self, prepared: &Prepared, flows: &Rows, packets: u64) -> Value {
        let scenario = prepared.scenario();
        let summary = self.seen.summary(&self.setup, flows, false);
        let mut summary = json!(summary);
        for (number, flow) in scenario.flows.iter().enumerate() {
            let each = &mut summary["flows"][number];
            each["flow"] = (number + 1).into();
            each["algorithm"] = prepared.algorithms()[&flow.algorithm]
                .algorithm()
                .name()
                .into();
            each["direction"] = json!(flow.direction);
        }
        for each in summary["queues"].as_array_mut().into_iter().flatten() {
            let number = each["queue"].as_u64().unwrap_or(1) as usize;
            let behind = scenario.links.get(number.wrapping_sub(2));
            let kind = json!(behind.unwrap_or(&scenario.bottleneck).queue);
            let name = kind.as_object().and_then(|of| of.keys().next());
            each["discipline"] = name.map_or(kind.as_str(), |name| Some(name)).into();
        }
        summary["backend"] = "sim".into();
        summary["seed"] = scenario.seed.into();
        summary["duration_s"] = self.setup.duration_s().into();
        summary["packets"] = packets.into();
        summary
    }
}
