//! Refusals of the canonical form, in the words that people wrote.

use super::{count, Scenario};
use crate::model::Table;
use crate::python::{brief, toml};

impl Scenario {
    /// A refusal of its canonical form: the key and the value as they are written.
    pub fn in_words(&self, field: &str, value: &str, fix: &str) -> String {
        let (mut place, mut table, mut key) = (String::new(), &self.top, field);
        if let Some((name, index, rest)) = indexed(field) {
            let (tables, number) = match name {
                "link" => (&self.links, index + 2),
                "flow" => (&self.flows, number_of(&self.flows, index + 1)),
                "change" => (&self.changes, index + 1),
                "program" => (&self.programs, index + 1),
                _ => (&self.sessions, number_of(&self.sessions, index + 1)),
            };
            place = format!("{name} {number}: ");
            (table, key) = (&tables[number - 1], rest);
        } else if let Some(rest) = field.strip_prefix("bottleneck.") {
            place = self.link_name(0);
            (table, key) = (&self.links[0], rest);
        }
        let fix = self.renumbered(fix);
        if let Some(many) = key.strip_suffix(".len()") {
            let name = match place.as_str() {
                "" => format!("[[{}]]", many.trim_end_matches('s')),
                _ => many.into(),
            };
            return format!("{place}{name}, {value} in all: {fix}");
        }
        let key = table.key_of(key);
        let written = table.shown(key).map(|written| brief(&toml(&written)));
        let value = written.unwrap_or_else(|| value.into());
        format!("{place}{key} = {value}: {fix}")
    }

    /// The engine numbers flows as the results do, a table with `count` more than once.
    fn renumbered(&self, fix: &str) -> String {
        let mut shown = String::new();
        let mut words = fix.split(' ').peekable();
        while let Some(word) = words.next() {
            shown += word;
            let tables = match word {
                "flow" => &self.flows,
                "session" => &self.sessions,
                _ => {
                    shown += if words.peek().is_some() { " " } else { "" };
                    continue;
                }
            };
            let Some(next) = words.peek() else { break };
            shown.push(' ');
            let digits = next.len()
                - next
                    .trim_start_matches(|each: char| each.is_ascii_digit())
                    .len();
            if let Ok(number) = next[..digits].parse::<usize>() {
                shown += &number_of(tables, number).to_string();
                shown += &next[digits..];
                words.next();
                shown += if words.peek().is_some() { " " } else { "" };
            }
        }
        shown
    }
}

/// `flows[3].flow.rtt_ns` is `("flow", 3, "rtt_ns")`.
fn indexed(field: &str) -> Option<(&str, usize, &str)> {
    let (name, rest) = field.split_once("s[")?;
    let (index, key) = rest.split_once("].")?;
    let is_known = ["flow", "session", "link", "change", "program"].contains(&name);
    let key = key.strip_prefix("flow.").unwrap_or(key);
    is_known.then_some((name, index.parse().ok()?, key))
}

/// The table of a flow or session, as the results number them.
fn number_of(tables: &[Table], number: usize) -> usize {
    let mut all = 0;
    let found = tables.iter().position(|table| {
        all += count(table) as usize;
        all >= number
    });
    found.unwrap_or(tables.len().saturating_sub(1)) + 1
}
