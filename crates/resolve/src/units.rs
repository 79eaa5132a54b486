//! Quantities as people write them ("250mbit", "200ms", "1bdp"), read exactly: a quantity finer than the
//! unit of the simulator is refused.

/// What may end a number, and its size in the canonical unit, in the order of messages.
pub type Units = &'static [(&'static str, u64)];

/// Nanoseconds.
pub const TIME_UNITS: Units = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
/// Bits per second.
pub const RATE_UNITS: Units = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("tbit", 1_000_000_000_000),
];
/// Bytes.
pub const SIZE_UNITS: Units = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
/// Full segments or packets, of so many bytes as the caller says.
pub const PACKETS: Units = &[("packet", 1), ("packets", 1)];
/// The units, and what people write for each, in small letters.
const MEANT: &[(&str, &str)] = &[
    ("s", "sec secs second seconds"),
    ("ms", "msec"),
    ("us", "usec µs μs"),
    ("min", "m minute minutes"),
    ("h", "hour hours"),
    ("bit", "bps b bits"),
    ("kbit", "kb kbps k"),
    ("mbit", "m mb mbps mbits"),
    ("gbit", "gb gbps g gbits"),
    ("tbit", "tb tbps"),
    ("B", "byte bytes"),
    ("kB", "kb k"),
    ("MB", "m mb"),
    ("GB", "gb g"),
    ("KiB", "kib"),
    ("MiB", "mib"),
    ("GiB", "gib"),
    ("packets", "pkt pkts p"),
    ("bdp", "bdps"),
];
/// Longest text of a quantity.
const MOST_CHARACTERS: usize = 100;
/// What stands for a number beyond all limits.
const HUGE: i128 = i128::MAX / 4;

/// A number, exactly.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    /// The number is these times 10 to the power of the exponent.
    pub digits: i128,
    /// The power.
    pub exponent: i32,
}

impl Decimal {
    /// Of a number without spaces.
    fn parse(text: &str) -> Self {
        let (number, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let is_negative = number.starts_with('-');
        let number = number.trim_start_matches(['+', '-']);
        let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
        let rest = rest.trim_end_matches('0');
        let mut digits = 0_i128;
        for digit in whole.chars().chain(rest.chars()) {
            let digit = i128::from(digit.to_digit(10).unwrap_or(0));
            digits = digits.saturating_mul(10).saturating_add(digit).min(HUGE);
        }
        Self {
            digits: if is_negative { -digits } else { digits },
            exponent: power.parse::<i32>().unwrap_or(0) - rest.len() as i32,
        }
    }

    /// So many of it, if that is a whole number; `HUGE` if it is beyond all limits.
    fn times(self, factor: u64) -> Option<i128> {
        let number = self.digits.saturating_mul(factor.into()).clamp(-HUGE, HUGE);
        let power = 10_i128.checked_pow(self.exponent.unsigned_abs());
        if number == 0 {
            return Some(0);
        }
        if self.exponent >= 0 {
            let huge = number.saturating_mul(power.unwrap_or(HUGE));
            return Some(huge.clamp(-HUGE, HUGE));
        }
        let power = power?;
        (number % power == 0).then(|| number / power)
    }

    /// Without an exponent and without zeros at its end: `Decimal.normalize`, as `f` formats it.
    pub fn plain(self) -> String {
        let text = self.digits.unsigned_abs().to_string();
        let mut shown = if self.exponent >= 0 {
            text + &"0".repeat(self.exponent as usize)
        } else {
            let places = self.exponent.unsigned_abs() as usize;
            let padded = format!("{text:0>width$}", width = places + 1);
            let (whole, rest) = padded.split_at(padded.len() - places);
            let rest = rest.trim_end_matches('0');
            let point = if rest.is_empty() { "" } else { "." };
            format!("{whole}{point}{rest}")
        };
        if self.digits < 0 {
            shown.insert(0, '-');
        }
        shown
    }
}

/// Time in ns, from "200ms".
pub fn duration_ns(text: &str) -> Result<i128, String> {
    whole(text, TIME_UNITS, "200ms", "nanoseconds")
}

/// Rate in bit/s, from "250mbit".
pub fn rate_bps(text: &str) -> Result<i128, String> {
    if let Some((number, of_bytes, of_either)) = byte_rate(text.trim()) {
        let unit = format!("{}bit", of_bytes.or(of_either).unwrap_or("").to_lowercase());
        let mut eight = Decimal::parse(number);
        eight.digits = eight.digits.saturating_mul(8);
        let in_bits = format!("\"{}{unit}\"", eight.plain());
        let fix = match of_either {
            Some(letter) => format!(
                "did you mean \"{number}{unit}\", or {in_bits} ({number} {}B/s)?",
                letter.to_uppercase()
            ),
            None => format!("did you mean {in_bits}?"),
        };
        return Err(format!("rates are in bits per second; {fix}"));
    }
    whole(
        &text.to_ascii_lowercase(),
        RATE_UNITS,
        "250mbit",
        "bits per second",
    )
}

/// Size in bytes, from "10MB".
pub fn size_bytes(text: &str) -> Result<i128, String> {
    whole(text, SIZE_UNITS, "10MB", "bytes")
}

/// Payload in bytes, from "10MB" or "600packets" of `mss` bytes each.
pub fn payload(text: &str, mss: u64) -> Result<i128, String> {
    let packets = PACKETS.iter().map(|(unit, _)| (*unit, mss));
    let units: Vec<_> = SIZE_UNITS.iter().copied().chain(packets).collect();
    whole(text, &units, "10MB", "bytes")
}

/// Room of a queue.
#[derive(Clone, Copy, Debug)]
pub enum Room {
    /// So many times rate and RTT.
    Bdp(Decimal),
    /// So many full packets.
    Packets(i128),
    /// IP bytes.
    Bytes(i128),
    /// What the link sends in so long a time.
    Ns(i128),
}

/// From "1bdp", "100packets", "2MB" or "50ms".
pub fn buffer(text: &str) -> Result<Room, String> {
    let times = TIME_UNITS.iter().filter(|(unit, _)| unit.ends_with('s'));
    let units = [("bdp", 1)].iter().chain(PACKETS).chain(SIZE_UNITS);
    let units: Vec<_> = units.chain(times.clone()).copied().collect();
    let (number, unit, size) = split(text, &units, &["1bdp", "100packets", "2MB"])?;
    let of = match unit {
        "bdp" => return Ok(Room::Bdp(number)),
        "packet" | "packets" => "packets",
        _ if times.clone().any(|(time, _)| *time == unit) => "ns",
        _ => "bytes",
    };
    let room = integer(number, size, text, of)?;
    Ok(match of {
        "packets" => Room::Packets(room),
        "ns" => Room::Ns(room),
        _ => Room::Bytes(room),
    })
}

/// Any quantity, from "20ms" or "1bdp": the canonical unit that ends the names of columns (s, bps, bytes,
/// packets or bdp), the number as it is written, and the size of its unit, of a time in ns.
///
/// # Errors
/// What to write.
pub fn any(text: &str) -> Result<(&'static str, String, u64), String> {
    let of = |base, units: Units| units.iter().map(move |(unit, size)| (base, *unit, *size));
    let every = of("s", TIME_UNITS)
        .chain(of("bps", RATE_UNITS))
        .chain(of("bytes", SIZE_UNITS))
        .chain(of("packets", PACKETS))
        .chain(of("bdp", &[("bdp", 1)]));
    let units: Vec<_> = every.clone().map(|(_, unit, size)| (unit, size)).collect();
    let (number, unit, size) = split(text, &units, &["20ms", "1bdp"])?;
    let base = every.clone().find(|(_, each, _)| *each == unit);
    Ok((base.map_or("", |(base, ..)| base), number.plain(), size))
}

fn whole(
    text: &str,
    units: &[(&'static str, u64)],
    example: &str,
    of: &str,
) -> Result<i128, String> {
    let (number, _, size) = split(text, units, &[example])?;
    integer(number, size, text, of)
}

fn integer(number: Decimal, size: u64, text: &str, of: &str) -> Result<i128, String> {
    let whole = number.times(size);
    whole.ok_or_else(|| format!("{text} is not a whole number of {of}; round it"))
}

/// The number, the unit, and its size.
fn split(
    text: &str,
    units: &[(&'static str, u64)],
    examples: &[&str],
) -> Result<(Decimal, &'static str, u64), String> {
    let like = |examples: &[String]| examples.join(" or ");
    let quoted: Vec<_> = examples.iter().map(|each| format!("\"{each}\"")).collect();
    let length = text.chars().count();
    if length > MOST_CHARACTERS {
        return Err(format!(
            "has {length} characters; write a number and a unit, like {}",
            like(&quoted)
        ));
    }
    let known = || {
        units
            .iter()
            .map(|(unit, _)| *unit)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (number, unit) = quantity(text.trim())
        .ok_or_else(|| format!("write a number and a unit, like {}", like(&quoted)))?;
    let unit = match units == RATE_UNITS {
        true => unit.strip_suffix("/s").unwrap_or(unit),
        false => unit,
    };
    if unit.is_empty() {
        let shown = examples.iter().map(|each| {
            let unit = each.trim_start_matches(|letter: char| letter.is_ascii_digit());
            format!("\"{number}{unit}\"")
        });
        let shown: Vec<_> = shown.collect();
        return Err(format!("add a unit ({}), like {}", known(), like(&shown)));
    }
    if let Some((unit, size)) = units.iter().find(|(known, _)| *known == unit) {
        return Ok((Decimal::parse(number), unit, *size));
    }
    let lower = unit.to_lowercase();
    let meant = MEANT.iter().find(|(meant, written)| {
        let is_known = units.iter().any(|(unit, _)| unit == meant);
        is_known && written.split(' ').any(|each| each == lower)
    });
    let fix = match meant {
        Some((meant, _)) => format!("did you mean \"{number}{meant}\"?"),
        None => format!("use one of {}", known()),
    };
    Err(format!("unknown unit \"{unit}\"; {fix}"))
}

/// How many bytes of the text are a number without a sign: `12`, `12.5`, `12.`, `.5`.
fn number_len(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let rest = &text[whole..];
    match rest.strip_prefix('.').map(digits) {
        Some(0) if whole == 0 => 0,
        Some(decimals) => whole + 1 + decimals,
        None => whole,
    }
}

/// The text of the number, and the unit behind it.
fn quantity(text: &str) -> Option<(&str, &str)> {
    let sign = usize::from(text.starts_with(['+', '-']));
    let mut end = sign + number_len(&text[sign..]);
    if end == sign {
        return None;
    }
    if let Some(power) = text[end..].strip_prefix(['e', 'E']) {
        let signed = usize::from(power.starts_with(['+', '-']));
        let digits = power[signed..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        if (1..=3).contains(&digits) {
            end += 1 + signed + digits;
        }
    }
    let unit = text[end..].trim_start();
    let letters = unit.strip_suffix("/s").unwrap_or(unit);
    letters
        .chars()
        .all(char::is_alphabetic)
        .then_some((&text[..end], unit))
}

/// Of a rate in bytes, or in a unit that may mean bytes: the number, and its letter.
fn byte_rate(text: &str) -> Option<(&str, Option<&str>, Option<&str>)> {
    let end = number_len(text);
    if end == 0 {
        return None;
    }
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let prefix = usize::from(unit.starts_with(['k', 'm', 'g', 't', 'K', 'M', 'G', 'T']));
    let (letter, rest) = unit.split_at(prefix);
    let base = rest
        .strip_suffix("/s")
        .or(rest.strip_suffix("ps"))
        .unwrap_or(rest);
    if ["B", "byte", "bytes", "Byte", "Bytes"].contains(&base) {
        return Some((
            number,
            Some(letter).filter(|letter| !letter.is_empty()),
            None,
        ));
    }
    let is_small = letter.chars().all(char::is_lowercase) && !letter.is_empty();
    (is_small && ["b", "b/s"].contains(&rest)).then_some((number, None, Some(letter)))
}
