//! What to write for a key, in an error.

/// Of a key that is a table.
const TABLES: [(&str, &str); 6] = [
    ("bottleneck", "a table [bottleneck] with rate and buffer"),
    ("link", "one table [[link]] with rate and buffer per link"),
    ("flow", "one table [[flow]] per flow"),
    ("session", "one table [[session]] per kind of traffic"),
    (
        "change",
        "one table [[change]] with its time, at, per change",
    ),
    (
        "program",
        "one table [[program]] with its command per program",
    ),
];

/// Of a key that is a table in a table.
const INNER_TABLES: [(&str, &str); 11] = [
    ("queue", "its kind in quotes, or a table with kind"),
    ("loss", "a probability, like 0.001, or a table with kind"),
    ("reorder", "a table, like {p = 0.01, delay = \"10ms\"}"),
    (
        "policer",
        "a table, like {rate = \"20mbit\", burst = \"100kB\"}",
    ),
    (
        "frames",
        "a table, like {size = \"10kB\", every = \"20ms\"}",
    ),
    (
        "writes",
        "a list of tables, like [{size = \"1MB\"}, {at = \"5s\", size = \"10kB\", every = \"1s\"}]",
    ),
    (
        "rate_at",
        "a list of tables, like [{time = \"20s\", rate = \"25mbit\"}]",
    ),
    (
        "read_rate_at",
        "a list of tables, like [{time = \"20s\", rate = \"0bit\"}]",
    ),
    (
        "loss_at",
        "a list of tables, like [{time = \"20s\", p = 0.01}]",
    ),
    ("delay_jitter", "a table, like {by = \"10ms\"}"),
    (
        "delay_at",
        "a list of tables, like [{time = \"20s\", delay = \"50ms\"}]",
    ),
];

/// What a missing key may look like.
const LIKE: [(&str, &str); 16] = [
    ("at", "for example at = \"12.5s\""),
    ("duration", "for example duration = \"60s\""),
    ("rate", "for example rate = \"100mbit\""),
    ("buffer", "for example buffer = \"1bdp\""),
    ("algorithm", "for example algorithm = \"cubic\""),
    ("time", "for example time = \"20s\""),
    ("delay", "for example delay = \"50ms\""),
    ("burst", "for example burst = \"100kB\""),
    ("every", "for example every = \"20ms\""),
    ("lasts", "for example lasts = \"16.7ms\""),
    ("good", "for example good = \"5s\""),
    ("bad", "for example bad = \"16.7ms\""),
    ("by", "for example by = \"10ms\""),
    ("size", "for example size = \"10kB\""),
    ("p", "for example p = 0.01"),
    ("r", "for example r = 0.3"),
];

fn find(all: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    let found = all.iter().find(|(each, _)| *each == key);
    found.map(|(_, words)| *words)
}

/// What to write for a table of a scenario, by either of its names ("flow", "flows").
pub fn table(key: &str) -> Option<&'static str> {
    find(&TABLES, key).or_else(|| {
        let one = key.strip_suffix('s').filter(|one| *one != "bottleneck")?;
        find(&TABLES, one)
    })
}

/// What to write for a table in a table.
pub fn inner_table(key: &str) -> Option<&'static str> {
    find(&INNER_TABLES, key)
}

/// What to write for a key that is missing.
pub fn missing(key: &str) -> &'static str {
    let found = table(key).or_else(|| find(&LIKE, key));
    found.unwrap_or_else(|| panic!("no example of {key}"))
}
