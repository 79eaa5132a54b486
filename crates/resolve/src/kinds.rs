//! What the value of a key may be, and its canonical form.

use serde_json::Value;

use crate::keys::{Kind, Of};
use crate::python::float;
use crate::units::{self, Room, Units, RATE_UNITS, SIZE_UNITS, TIME_UNITS};

impl Of {
    /// What ends the name of the canonical field, and not that of the key.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Integer | Self::File | Self::Room => "",
            Self::Bytes | Self::Size | Self::Payload => "_bytes",
            Self::Thousandths => "_thousandths",
            Self::Millionths => "_ppm",
            Self::Billionths => "_ppb",
            Self::Trace => "_ms",
            Self::Time => "_ns",
            Self::Rate => "_bps",
        }
    }

    /// Decimals that a fraction may have, and their number in words.
    fn decimals(self) -> (u32, &'static str) {
        match self {
            Self::Thousandths => (3, "three"),
            Self::Millionths => (6, "six"),
            _ => (9, "nine"),
        }
    }
}

impl Kind {
    /// Is the value allowed? If not: what to write.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match self.kind {
            Of::Integer | Of::Bytes => {
                let number = value.as_i64().map(i128::from);
                let is_allowed = number.is_some_and(|number| self.allows(number));
                is_allowed
                    .then_some(())
                    .ok_or_else(|| format!("write a whole number from {}", self.shown()))
            }
            Of::Thousandths | Of::Millionths | Of::Billionths => self.check_fraction(value),
            Of::File | Of::Trace => match value.as_str() {
                Some(path) if !path.is_empty() => Ok(()),
                _ => Err("write the path of a file in quotes, like \"cellular.trace\"".into()),
            },
            Of::Time | Of::Rate | Of::Size => {
                let (usual, _) = self.usual();
                let like = if self.like.is_empty() {
                    usual
                } else {
                    &self.like
                };
                let text = value.as_str().ok_or_else(|| {
                    format!("write text with a unit, like \"{}\"", example(value, like))
                })?;
                self.check_range(signed(text, self.parse(text)?))
            }
            Of::Payload => {
                let text = value.as_str();
                let text =
                    text.ok_or_else(|| format!("write text with a unit, like {}", self.shown()))?;
                self.check_range(signed(text, units::payload(text, 1)?))
            }
            Of::Room => {
                let text = value
                    .as_str()
                    .ok_or("write text with a unit, like \"1bdp\" or \"100packets\"".to_string())?;
                let is_positive = match units::buffer(text)? {
                    Room::Bdp(number) => number.digits > 0,
                    Room::Packets(number) | Room::Bytes(number) | Room::Ns(number) => number > 0,
                };
                is_positive.then_some(()).ok_or_else(|| {
                    "a queue needs room for at least one packet; write \"1bdp\" or \"100packets\""
                        .into()
                })
            }
        }
    }

    fn allows(&self, number: i128) -> bool {
        (i128::from(self.low)..=i128::from(self.high)).contains(&number)
    }

    fn check_range(&self, number: i128) -> Result<(), String> {
        let range = || format!("choose from {}", self.range());
        self.allows(number).then_some(()).ok_or_else(range)
    }

    fn check_fraction(&self, value: &Value) -> Result<(), String> {
        let (decimals, words) = self.kind.decimals();
        let parts = 10_f64.powi(decimals as i32);
        let (low, high) = (self.low as f64 / parts, self.high as f64 / parts);
        let number = value
            .as_f64()
            .filter(|number| (low..=high).contains(number));
        let number = number.ok_or_else(|| format!("write a number from {}", self.shown()))?;
        let rounded: f64 = format!("{number:.0$}", decimals as usize)
            .parse()
            .unwrap_or(number);
        (rounded == number)
            .then_some(())
            .ok_or_else(|| format!("write at most {words} decimals"))
    }

    /// The number that a text stands for.
    fn parse(&self, text: &str) -> Result<i128, String> {
        match self.kind {
            Of::Time => units::duration_ns(text),
            Of::Rate => units::rate_bps(text),
            _ => units::size_bytes(text),
        }
    }

    /// An allowed value in the canonical form. A room depends on more ([`resolve_room`](Self::resolve_room)).
    pub fn canonical(&self, value: &Value, mss: u64) -> Result<Value, String> {
        let number = match (self.kind, value) {
            (Of::Time | Of::Rate | Of::Size, Value::String(text)) => self.parse(text)?,
            (Of::Payload, Value::String(text)) => {
                let size = units::payload(text, mss)?;
                self.check_range(size)?;
                size
            }
            (Of::Thousandths | Of::Millionths | Of::Billionths, Value::Number(number)) => {
                let parts = 10_f64.powi(self.kind.decimals().0 as i32);
                let number = number.as_f64().unwrap_or(0.0) * parts;
                number.round_ties_even() as i128
            }
            _ => return Ok(value.clone()),
        };
        Ok(u64::try_from(number).unwrap_or(u64::MAX).into())
    }

    /// The size of a queue in packets or bytes: a BDP to the nearest packet, a time to the nearest byte.
    pub fn resolve_room(
        &self,
        text: &str,
        packet_bytes: u64,
        rate_bps: u64,
        rtt_ns: u64,
    ) -> Result<(&'static str, u64), String> {
        let (packet, rate) = (i128::from(packet_bytes), i128::from(rate_bps));
        let nearest = |number: i128, of: i128| (2 * number + of) / (2 * of);
        let (kind, room) = match units::buffer(text)? {
            Room::Bdp(number) => {
                let bits_e9 = rate * i128::from(rtt_ns);
                let power = 10_i128.pow(number.exponent.unsigned_abs().min(12));
                let (digits, of) = match number.exponent {
                    0.. => (number.digits.saturating_mul(power), 1),
                    _ => (number.digits, power),
                };
                // What is too large for a number is too large for a queue.
                let bits = digits
                    .checked_mul(bits_e9)
                    .filter(|bits| *bits < i128::MAX / 4);
                let of = of * 8 * packet * 1_000_000_000;
                (
                    "packets",
                    bits.map_or(i128::MAX / 4, |bits| nearest(bits, of)),
                )
            }
            Room::Ns(number) => {
                let bits = number.saturating_mul(rate).min(i128::MAX / 4);
                ("bytes", nearest(bits, 8 * 1_000_000_000))
            }
            Room::Packets(number) => ("packets", number),
            Room::Bytes(number) => ("bytes", number),
        };
        let least = if kind == "packets" {
            i128::from(self.low)
        } else {
            packet
        };
        if !(least..=i128::from(self.high)).contains(&room) {
            let is = match u64::try_from(room) {
                Ok(room) => format!("is {room} {kind}"),
                Err(_) => "is too large".into(),
            };
            return Err(format!("{is}; choose from {least} to {}", self.high));
        }
        Ok((kind, room as u64))
    }

    /// The usual example, and the units in which values are shown.
    pub fn usual(&self) -> (&'static str, Units) {
        match self.kind {
            Of::Time => ("10s", TIME_UNITS),
            Of::Rate => ("250mbit", RATE_UNITS),
            _ => ("10MB", SIZE_UNITS),
        }
    }

    /// What people write for a canonical value, as JSON.
    pub fn written_value(&self, number: u64) -> Value {
        let text = self.written(number);
        match self.kind {
            Of::Time | Of::Rate | Of::Size | Of::Payload => text.into(),
            _ => text.parse().expect("a number"),
        }
    }

    /// What people write for a canonical value.
    pub fn written(&self, number: u64) -> String {
        match self.kind {
            Of::Time | Of::Rate | Of::Size | Of::Payload => {
                let (usual, units) = self.usual();
                if number == 0 {
                    let unit = usual.trim_start_matches(|letter: char| letter.is_ascii_digit());
                    return format!("0{}", if units == SIZE_UNITS { "B" } else { unit });
                }
                let shown = units
                    .iter()
                    .filter(|(unit, _)| !unit.contains('i') || units == RATE_UNITS);
                let (size, unit) = shown
                    .filter(|(_, size)| number % size == 0)
                    .map(|(unit, size)| (size, unit))
                    .max()
                    .expect("the first unit is 1");
                format!("{}{unit}", number / size)
            }
            Of::Thousandths | Of::Millionths | Of::Billionths => {
                let parts = 10_u64.pow(self.kind.decimals().0);
                if number % parts == 0 {
                    (number / parts).to_string()
                } else {
                    float(number as f64 / parts as f64)
                }
            }
            _ => number.to_string(),
        }
    }

    /// The range, in an error.
    pub fn shown(&self) -> String {
        match self.kind {
            Of::File | Of::Trace => "the path of a file".into(),
            Of::Room => "\"1bdp\", \"100packets\", \"2MB\" or \"50ms\"".into(),
            Of::Payload => "\"10MB\" or \"600packets\"".into(),
            _ => self.range(),
        }
    }

    fn range(&self) -> String {
        let high = self.written(self.high);
        match (self.kind, self.low) {
            // Of what may stand still, and else is as fast as a link.
            (Of::Rate, 0) => format!("1kbit to {high}, or 0bit"),
            (_, low) => format!("{} to {high}", self.written(low)),
        }
    }
}

/// "-0s" is below "0s".
fn signed(text: &str, number: i128) -> i128 {
    match text.trim_start().starts_with('-') {
        true => number.min(-1),
        false => number,
    }
}

/// A number that lacks its unit, with the unit of `like` or a smaller one; or else `like`.
fn example(value: &Value, like: &str) -> String {
    let number = value
        .as_f64()
        .filter(|number| 0.0 < *number && *number < 1e18);
    let Some(number) = number else {
        return like.into();
    };
    let unit = like.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let (small, least) = match unit {
        "MB" => ("B", 1e3),
        "mbit" => ("bit", 1e6),
        _ => (unit, 0.0),
    };
    let written = match value.as_i64() {
        Some(whole) => whole.to_string(),
        // As Rust shows it: without an exponent.
        None => format!("{number}"),
    };
    format!("{written}{}", if number >= least { small } else { unit })
}
