//! What the keys of a link must be together, and what its files say.

use serde_json::{json, Map, Value};

use crate::files::Files;
use crate::model::{Entry, Table};
use crate::timeline::{Steps, Timeline};
use crate::units;
use ackclock_net::rate::Trace;

/// The least rate of a link that is not dead.
const LEAST_BPS: i128 = 1_000;

fn ns(table: &Table, key: &str) -> i128 {
    table
        .text(key)
        .map_or(0, |text| units::duration_ns(text).unwrap_or(0))
}

/// Refuses keys that contradict each other; `prefix` names the table.
pub fn check(prefix: &str, link: &Table, packet_bytes: u64) -> Result<(), String> {
    let (rate, trace) = (link.text("rate"), link.text("trace"));
    if rate.is_none() && trace.is_none() && link.text("timeline").is_none() {
        return Err(format!(
            "{prefix}rate is missing; write for example rate = \"100mbit\", or a trace"
        ));
    }
    if let Some(trace) = trace {
        let others = [
            ("rate", rate.is_some()),
            ("rate_at", link.is_true("rate_at")),
            ("burst", link.text("burst") != Some("0B")),
        ];
        if let Some((key, _)) = others.iter().find(|(_, is_given)| *is_given) {
            return Err(format!(
                "{prefix}trace = \"{trace}\": it says when packets leave; remove {key}, or trace"
            ));
        }
    }
    check_steps(prefix, link)?;
    let numbers = link.numbers("drop_packets");
    if !numbers.is_empty() && link.is_true("drop_every_packets") {
        return Err(format!(
            "{prefix}drop_packets and drop_every_packets: keep one of the two"
        ));
    }
    if !numbers.is_sorted_by(|before, after| before < after) {
        return Err(format!(
            "{prefix}drop_packets = {numbers:?}: write the numbers in order, each once"
        ));
    }
    if let Some(loss) = link.table("loss").filter(|loss| loss.of == "Outages") {
        if ns(loss, "lasts") >= ns(loss, "every") {
            let text = |key| loss.text(key).unwrap_or_default();
            return Err(format!(
                "{prefix}loss.lasts = \"{}\": must be less than {}, from the start of one outage to \
                 the next",
                text("lasts"),
                text("every")
            ));
        }
    }
    let policer = link
        .table("policer")
        .and_then(|policer| policer.text("burst"));
    for (key, burst) in [("burst", link.text("burst")), ("policer.burst", policer)] {
        let burst = burst.unwrap_or("0B");
        if (1..i128::from(packet_bytes)).contains(&units::size_bytes(burst)?) {
            return Err(format!(
                "{prefix}{key} = \"{burst}\": give room for a packet, at least {packet_bytes}B"
            ));
        }
    }
    if let Some(red) = link.table("queue").filter(|queue| queue.of == "Red") {
        let text = |key| red.text(key).unwrap_or_default();
        if units::size_bytes(text("max"))? < units::size_bytes(text("min"))? {
            return Err(format!(
                "{prefix}queue.max = \"{}\": is less than {}, the min; write at least that",
                text("max"),
                text("min")
            ));
        }
    }
    Ok(())
}

fn check_steps(prefix: &str, link: &Table) -> Result<(), String> {
    for key in ["rate_at", "delay_at", "loss_at"] {
        let steps = link.tables(key);
        for (pair, number) in steps.windows(2).zip(2..) {
            if ns(pair[1], "time") <= ns(pair[0], "time") {
                let [before, after] =
                    [0, 1].map(|each| pair[each].text("time").unwrap_or_default());
                return Err(format!(
                    "{prefix}{key} {number}: time = \"{after}\": is not after {before}, the time \
                     before it; write them in order"
                ));
            }
        }
    }
    for (step, number) in link.tables("rate_at").into_iter().zip(1..) {
        let rate = step.text("rate").unwrap_or_default();
        if (1..LEAST_BPS).contains(&units::rate_bps(rate)?) {
            return Err(format!(
                "{prefix}rate_at {number}: rate = \"{rate}\": choose from 1kbit to 1tbit, or 0bit: \
                 nothing leaves"
            ));
        }
    }
    Ok(())
}

/// Puts what the files of a link say into its canonical fields.
pub fn read(link: &Table, fields: &mut Map<String, Value>, files: &Files) -> Result<(), String> {
    fields.shift_remove("timeline");
    if let Some(path) = link.text("trace") {
        let times_ms = files
            .trace(path)
            .map_err(|error| format!("trace = \"{path}\": {error}"))?;
        fields.insert("rate_bps".into(), Trace::mean_bps(&times_ms).into());
        fields.insert("trace_ms".into(), times_ms.into());
    }
    if let Some(path) = link.text("timeline") {
        let timeline = files.timeline(path);
        let read = timeline.and_then(|timeline| read_timeline(link, fields, timeline));
        read.map_err(|error| format!("timeline = \"{path}\": {error}"))?;
    }
    Ok(())
}

/// A number of a link in its canonical form, if it is there.
pub fn number(link: &Map<String, Value>, key: &str) -> Option<u64> {
    link.get(key)?.as_u64()
}

/// Of a RED that does not say it: 0 below a token bucket, where it sees no idle time. Without a rate `tc`
/// takes 10 Mb/s.
pub fn idle_packet_ns(link: &Map<String, Value>, packet_bytes: u64) -> u64 {
    let rate_bps = number(link, "rate_bps").filter(|of| *of > 0);
    let ns = 8_000_000_000 * packet_bytes / rate_bps.unwrap_or(10_000_000);
    match number(link, "burst_bytes") {
        Some(1..) => 0,
        _ => ns.clamp(1, 10_000_000_000),
    }
}

fn read_timeline(
    link: &Table,
    fields: &mut Map<String, Value>,
    timeline: Timeline,
) -> Result<(), String> {
    let loses = timeline.loss.is_some() || timeline.up.is_some();
    let columns = [
        ("rate_at", timeline.rate.is_some()),
        ("delay_at", timeline.delay.is_some()),
        ("loss_at", loses),
    ];
    let mut twice = columns
        .iter()
        .filter(|(key, is_given)| *is_given && link.is_true(key));
    if let Some((key, _)) = twice.next() {
        let of = key.trim_end_matches("_at");
        return Err(format!("has {of} too; remove {key}, or that column"));
    }
    if let Some(rates) = &timeline.rate {
        read_rates(link, fields, rates)?;
    } else if link.text("rate").is_none() && link.text("trace").is_none() {
        return Err("has no rate; write for example rate = \"100mbit\" too".into());
    }
    let mut delays = timeline.delay.as_deref().unwrap_or_default();
    if let [(0, delay), rest @ ..] = delays {
        fields.insert("delay_ns".into(), (*delay).into());
        delays = rest;
    }
    if !delays.is_empty() {
        let steps = delays
            .iter()
            .map(|(at_ns, delay)| json!({"time_ns": at_ns, "delay_ns": delay}));
        fields.insert("delay_at".into(), steps.collect::<Vec<_>>().into());
    }
    if loses {
        let base_ppb = match link.entry("loss") {
            Entry::Table(loss) if loss.of == "Bernoulli" && timeline.loss.is_none() => {
                loss.canonical(0)?["p_ppb"].as_u64().unwrap_or(0)
            }
            Entry::Table(_) => {
                return Err("has losses, and so has loss; remove loss, or that column".into());
            }
            _ => 0,
        };
        let steps = timeline.losses(base_ppb);
        let steps = steps
            .iter()
            .map(|(at_ns, p_ppb)| json!({"time_ns": at_ns, "p_ppb": p_ppb}));
        fields.insert("loss_at".into(), steps.collect::<Vec<_>>().into());
    }
    Ok(())
}

fn read_rates(link: &Table, fields: &mut Map<String, Value>, rates: &Steps) -> Result<(), String> {
    if link.text("trace").is_some() {
        return Err("has a rate, and so has the trace; remove the column, or trace".into());
    }
    let at_once = rates.first().is_some_and(|(at_ns, _)| *at_ns == 0);
    if at_once == link.text("rate").is_some() {
        let (has, fix) = match at_once {
            true => ("the rate", "remove rate"),
            false => ("no rate", "write rate too, the rate until its first row"),
        };
        return Err(format!("has {has} from 0 s on; {fix}"));
    }
    if at_once {
        let first = rates.iter().map(|(_, rate)| *rate).find(|rate| *rate != 0);
        fields.insert("rate_bps".into(), first.into());
    }
    let Some(rate_bps) = number(fields, "rate_bps") else {
        return Err("has a rate of 0 and no other; write one at a later time".into());
    };
    let usual = rates.iter().filter(|step| **step != (0, rate_bps));
    let steps = usual.map(|(at_ns, rate)| json!({"time_ns": at_ns, "rate_bps": rate}));
    fields.insert("rate_at".into(), steps.collect::<Vec<_>>().into());
    Ok(())
}
