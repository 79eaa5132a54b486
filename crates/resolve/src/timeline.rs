//! The file of a link in time: its rate, delay and losses at times, in CSV or lines.

use std::collections::BTreeMap;

use crate::python::general;
use crate::units::{Units, RATE_UNITS, TIME_UNITS};

/// Rows of a file: they are a part of the scenario.
const MOST_ROWS: usize = 1_000_000;
/// How long each delay of LeoReplayer's lasts.
const LINE_NS: u64 = 10_000_000;
/// In 10⁹ parts, as the canonical form has probabilities.
const PARTS: u64 = 1_000_000_000;
const LIKE: &str = "write a first line like time_s,rate_mbit,delay_ms,loss,up";

/// A column without its unit: its units, least and most in the canonical unit.
const QUANTITIES: [(&str, Units, f64, f64); 3] = [
    ("time", TIME_UNITS, 0.0, 3.6e15),
    ("rate", RATE_UNITS, 1e3, 1e12),
    ("delay", TIME_UNITS, 0.0, 1e11),
];

/// Time in ns, value in the canonical unit.
pub type Steps = [(u64, u64)];

/// What changes, and when. None: the file has no such column.
#[derive(Clone, Default)]
pub struct Timeline {
    pub rate: Option<Vec<(u64, u64)>>,
    pub delay: Option<Vec<(u64, u64)>>,
    pub loss: Option<Vec<(u64, u64)>>,
    pub up: Option<Vec<(u64, u64)>>,
}

impl Timeline {
    /// The probability of a loss in 10⁹ parts: 1 while the link is down, `base_ppb` at first.
    pub fn losses(&self, base_ppb: u64) -> Vec<(u64, u64)> {
        let of = |steps: &Option<Vec<(u64, u64)>>, kind| {
            let steps = steps.iter().flatten();
            steps
                .map(move |(at_ns, value)| (*at_ns, kind, *value))
                .collect::<Vec<_>>()
        };
        let mut events = [of(&self.loss, 0), of(&self.up, 1)].concat();
        events.sort_unstable();
        let (mut p_ppb, mut up, mut steps) = (base_ppb, 1, BTreeMap::new());
        for (at_ns, kind, value) in events {
            (p_ppb, up) = if kind == 1 {
                (p_ppb, value)
            } else {
                (value, up)
            };
            steps.insert(at_ns, if up == 0 { PARTS } else { p_ppb });
        }
        changes(steps, Some(base_ppb))
    }
}

/// Without the steps that change nothing.
fn changes(steps: impl IntoIterator<Item = (u64, u64)>, mut last: Option<u64>) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for (at_ns, value) in steps {
        if last != Some(value) {
            found.push((at_ns, value));
        }
        last = Some(value);
    }
    found
}

/// The timeline in the content of a file, or what to write.
pub fn read(content: &[u8]) -> Result<Timeline, String> {
    let text = std::str::from_utf8(content);
    let text = text.map_err(|_| format!("is neither Parquet nor text; {LIKE}"))?;
    let text = text.trim_start_matches('\u{feff}');
    let is_said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines: Vec<_> = text.lines().filter(is_said).collect();
    let Some(first) = lines.first() else {
        return Err(format!("has no lines; {LIKE}"));
    };
    if first.trim().parse::<f64>().is_ok() {
        let times_ns = (0..lines.len() as u64).map(|row| row * LINE_NS).collect();
        return of_table(vec![("delay_ms", lines)], Some(times_ns), 0);
    }
    let separator = [',', ';'].into_iter().find(|each| first.contains(*each));
    let names = cells_of(first, separator);
    let mut columns: Vec<Vec<&str>> = vec![Vec::new(); names.len()];
    for line in &lines[1..] {
        let cells = cells_of(line, separator);
        if cells.len() > names.len() {
            return Err(format!(
                "is not CSV (found more fields than defined in 'Schema'); {LIKE}"
            ));
        }
        for (column, cells) in columns
            .iter_mut()
            .zip(cells.into_iter().chain(std::iter::repeat("")))
        {
            column.push(cells);
        }
    }
    of_table(names.into_iter().zip(columns).collect(), None, 1)
}

/// The cells of a line; without a separator they stand between spaces.
fn cells_of(line: &str, separator: Option<char>) -> Vec<&str> {
    match separator {
        Some(separator) => line.split(separator).map(unquoted).collect(),
        None => line.split_whitespace().collect(),
    }
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    let inner = cell
        .strip_prefix('"')
        .and_then(|cell| cell.strip_suffix('"'));
    inner.unwrap_or(cell).trim()
}

/// The timeline of columns with names; `times_ns`: of the rows, if no column has them.
fn of_table(
    table: Vec<(&str, Vec<&str>)>,
    times_ns: Option<Vec<u64>>,
    header: usize,
) -> Result<Timeline, String> {
    let rows = table.first().map_or(0, |(_, cells)| cells.len());
    if !(1..=MOST_ROWS).contains(&rows) {
        return Err(format!("has {rows} rows; give it from 1 to {MOST_ROWS}"));
    }
    let mut columns: BTreeMap<&str, Vec<Option<u64>>> = BTreeMap::new();
    for (name, cells) in table {
        let (key, unit) = key_of(name)?;
        if columns.contains_key(key) {
            return Err(format!("has two columns of {key}; keep one"));
        }
        columns.insert(key, numbers(&cells, name, key, unit, header)?);
    }
    let given = times_ns.map(|times| times.into_iter().map(Some).collect());
    let times: Vec<_> = given
        .or_else(|| columns.remove("time"))
        .ok_or_else(|| format!("has no column of times; {LIKE}"))?;
    if columns.is_empty() {
        return Err(format!("has times, and nothing that changes; {LIKE}"));
    }
    if let Some(row) = times.iter().position(Option::is_none) {
        return Err(format!("row {} has no time", row + 1));
    }
    let times: Vec<_> = times.into_iter().flatten().collect();
    if let Some(row) = times.windows(2).position(|pair| pair[1] <= pair[0]) {
        return Err(format!(
            "row {} is not after the row above it; sort the rows by time",
            row + 2
        ));
    }
    let mut steps = |key: &str| {
        columns.remove(key).map(|values| {
            let given = times.iter().zip(values);
            changes(
                given.filter_map(|(time, value)| Some((*time, value?))),
                None,
            )
        })
    };
    Ok(Timeline {
        rate: steps("rate"),
        delay: steps("delay"),
        loss: steps("loss"),
        up: steps("up"),
    })
}

/// What a column is of, and its unit in the canonical one.
fn key_of(name: &str) -> Result<(&str, f64), String> {
    match name {
        "loss" => return Ok((name, PARTS as f64)),
        "loss_percent" => return Ok(("loss", (PARTS / 100) as f64)),
        "up" => return Ok((name, 1.0)),
        _ => {}
    }
    let (key, unit) = name.rsplit_once('_').unwrap_or(("", name));
    let of = |key: &str| QUANTITIES.iter().find(|(of, ..)| *of == key);
    if let Some((key, units, ..)) = of(key) {
        if let Some((_, size)) = units.iter().find(|(each, _)| *each == unit) {
            return Ok((key, *size as f64));
        }
    }
    if let Some((of, units, ..)) = of(key).or(of(name)) {
        let names: Vec<_> = units
            .iter()
            .map(|(unit, _)| format!("{of}_{unit}"))
            .collect();
        return Err(format!(
            "column \"{name}\": write its unit into its name: {}",
            names.join(", ")
        ));
    }
    Err(format!("column \"{name}\": unknown; {LIKE}"))
}

/// The values in the canonical unit, None where a cell is empty.
fn numbers(
    cells: &[&str],
    name: &str,
    key: &str,
    unit: f64,
    header: usize,
) -> Result<Vec<Option<u64>>, String> {
    let known = QUANTITIES.iter().find(|(of, ..)| *of == key);
    let most = if key == "loss" { PARTS as f64 } else { 1.0 };
    let (low, high) = known.map_or((0.0, most), |(_, _, low, high)| (*low, *high));
    let mut values = Vec::with_capacity(cells.len());
    for (text, row) in cells.iter().zip(1 + header..) {
        let text = match text.trim() {
            "true" if key == "up" => "1",
            "false" if key == "up" => "0",
            text => text,
        };
        if text.is_empty() {
            values.push(None);
            continue;
        }
        let value = text.parse::<f64>().ok().filter(|value| !value.is_nan());
        let value =
            value.ok_or_else(|| format!("line {row}: {name} = \"{text}\": write a number"))?;
        values.push(Some((value, text, row)));
    }
    let number = |(value, text, row): (f64, &str, usize)| {
        let number = (value * unit).round_ties_even();
        let is_switch = key != "up" || value == 0.0 || value == 1.0;
        let is_dead = key == "rate" && number == 0.0;
        if is_switch && ((low..=high).contains(&number) || is_dead) {
            return Ok(number as u64);
        }
        let zero = if key == "rate" {
            "0 (nothing leaves) or "
        } else {
            ""
        };
        let limits = match key {
            "up" => "0 or 1".to_string(),
            _ => format!(
                "{zero}{} to {}",
                general(low / unit, 6),
                general(high / unit, 6)
            ),
        };
        Err(format!("line {row}: {name} = {text}: choose from {limits}"))
    };
    values
        .into_iter()
        .map(|value| value.map(number).transpose())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn other_separators_and_percent() {
        for text in [
            "time_s,rate_mbit,loss_percent\n0,2.5,0\n0.5,10,1.5\n",
            "time_s rate_mbit\tloss_percent\n0  2.5 0\n0.5\t10\t1.5\n",
            "time_s;rate_mbit;loss_percent\n0;2.5;0\n0.5;10;1.5\n",
        ] {
            let said = read(text.as_bytes()).unwrap();
            assert_eq!(
                said.rate,
                Some(vec![(0, 2_500_000), (500_000_000, 10_000_000)])
            );
            assert_eq!(said.loss, Some(vec![(0, 0), (500_000_000, 15_000_000)]));
        }
        let refused = read(b"time_s,loss_percent\n0,200\n").err().unwrap();
        assert_eq!(refused, "line 2: loss_percent = 200: choose from 0 to 100");
    }
}
