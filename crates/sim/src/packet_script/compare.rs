//! What a script expects beside what an endpoint did.

use super::{Event, Input, Output, Role, Script, Seen};

/// How early a packet may be if the kernel's ticks are those of the script: timers are never early.
const EARLY_US: f64 = 1_000.0;
/// Width of a column of the listing.
const COLUMN: usize = 56;

impl Script {
    /// Compares what the script expects with what an endpoint did. `exact`: times must be equal to
    /// the microsecond.
    pub fn compare(&self, seen: &[Seen], exact: bool) -> Comparison {
        let mut comparison = Comparison::default();
        comparison.row(None, None, &format!("{}.pkt expects", self.name), "seen");
        let is_state = |output: &Output| matches!(output, Output::State(_));
        // A look tells what is, whatever the order of what leaves at its time.
        let (states, packets): (Vec<_>, Vec<_>) =
            seen.iter().cloned().partition(|one| is_state(&one.output));
        let (mut states, mut packets) = (&states[..], &packets[..]);
        let mut late_us = 0.0;
        for line in &self.lines {
            let (at_us, number) = (line.at_us as f64 + late_us, Some(line.number));
            let tolerance_us = if exact { 0.5 } else { line.tolerance_us as f64 };
            match &line.event {
                // The look's answer says the same.
                Event::Input(Input::Look(_)) => (),
                Event::Input(input) => {
                    comparison.row(None, number, &timed(at_us, &input.to_string()), "");
                }
                Event::Output(wanted) => {
                    let rest = match is_state(wanted) {
                        true => &mut states,
                        false => &mut packets,
                    };
                    let (taken, found) = take(wanted, rest);
                    let (now, later) = rest.split_at(taken);
                    let early_us = match self.hz {
                        Some(_) if self.role != Role::Socket => tolerance_us.min(EARLY_US),
                        _ => tolerance_us,
                    };
                    let on_time =
                        |one: &Seen| (-early_us..=tolerance_us).contains(&(one.at_us - at_us));
                    let differs = taken == 0 || !found.answers(wanted) || !now.iter().all(on_time);
                    let right = now.first().map_or("nothing".into(), |first| {
                        timed(first.at_us, &found.to_string())
                    });
                    let latest = now.iter().map(|one| one.at_us).fold(at_us, f64::max);
                    let left = timed(at_us, &wanted.to_string());
                    comparison.row(differs.then_some(latest), number, &left, &right);
                    if self.role == Role::Socket && !is_state(wanted) && taken > 0 {
                        late_us = now[taken - 1].at_us - line.at_us as f64;
                    }
                    *rest = later;
                }
            }
        }
        for more in packets.iter().filter(|_| !self.open_end) {
            let right = timed(more.at_us, &more.output.to_string());
            comparison.row(Some(more.at_us), None, "nothing", &right);
        }
        comparison
    }
}

/// What a script expects beside what an endpoint did.
#[derive(Debug, Default)]
pub struct Comparison {
    /// A row for each event.
    pub listing: String,
    /// Time of the first difference.
    pub differs_at_us: Option<f64>,
}

impl Comparison {
    /// Adds a row. `differs`: the time of the difference that it shows.
    fn row(&mut self, differs: Option<f64>, number: Option<usize>, left: &str, right: &str) {
        let first = differs.is_some() && self.differs_at_us.is_none();
        self.differs_at_us = self.differs_at_us.or(differs);
        let mark = if first { "-->" } else { "" };
        let number = number.map_or(String::new(), |number| number.to_string());
        let row = format!("{mark:3} {number:>4} {left:<COLUMN$} {right}");
        self.listing += row.trim_end();
        self.listing += "\n";
    }
}

/// Takes what answers `wanted`: one output, or bursts that touch. Returns how many, and what they
/// are together.
pub(super) fn take(wanted: &Output, seen: &[Seen]) -> (usize, Output) {
    let Some(first) = seen.first() else {
        return (0, Output::Bursts((0, 0), None));
    };
    let (Output::Bursts(range, _), Output::Burst { segments, push, .. }) = (wanted, &first.output)
    else {
        return (1, first.output.clone());
    };
    let (mut taken, mut joined, mut pushed) = (1, *segments, *push);
    while let Some(Output::Burst { segments, push, .. }) = seen.get(taken).map(|next| &next.output)
    {
        if segments.0 != joined.1 || segments.1 > range.1 {
            break;
        }
        (joined.1, pushed) = (segments.1, *push);
        taken += 1;
    }
    (taken, Output::Bursts(joined, Some(pushed)))
}

fn timed(at_us: f64, what: &str) -> String {
    format!("{:9.3} {what}", at_us / 1_000.0)
}
