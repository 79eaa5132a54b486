//! What the keys of a scenario must be together, and its canonical form.

use std::collections::BTreeMap;

use ackclock_host::Snapshot;
use ackclock_sim::scenario::KERNEL;
use ackclock_sim::Prepared;
use serde_json::{json, Map, Value};

use crate::files::Files;
use crate::installed;
use crate::keys::Keys;
use crate::links;
use crate::model::{Entry, Table};
use crate::python::toml;
use crate::units;
use crate::words;

mod refusals;

/// Sizes of queues that are several full packets.
const FULL_PACKETS: [(&str, &str, u64); 2] = [
    ("fq", "quantum_bytes", 2),
    ("fq", "initial_quantum_bytes", 10),
];
/// The largest number in a route.
const MOST_LINKS: usize = 1_000;
/// Most rows of periodic samples, and of transfers.
const MAX_SAMPLES: i128 = 100_000_000;
/// IP and TCP headers of a packet.
pub const HEADER_BYTES: u64 = 52;
/// Where ECN, and no cache of routes, is modelled.
pub const NEW: [&str; 2] = ["linux-6", "linux-7"];

/// A scenario whose keys fit together.
pub struct Scenario {
    top: Table,
    links: Vec<Table>,
    flows: Vec<Table>,
    sessions: Vec<Table>,
    changes: Vec<Table>,
    programs: Vec<Table>,
    mss: u64,
}

/// A time that was checked before, ns.
fn ns(text: Option<&str>) -> i128 {
    text.map_or(0, |text| units::duration_ns(text).unwrap_or(0))
}

fn missing_rtt(name: &str) -> String {
    format!("{name}: rtt is missing; write for example rtt = \"100ms\"")
}

fn count(table: &Table) -> u64 {
    table.number("count").unwrap_or(1)
}

impl Scenario {
    /// The scenario of these fields, as in a file; or the first thing wrong.
    pub fn new(fields: Map<String, Value>) -> Result<Self, String> {
        let mut top = Table::parse("Scenario", fields)?;
        let own = |key| top.tables(key).into_iter().cloned().collect::<Vec<_>>();
        let (mut links, mut flows) = (own("links"), own("flows"));
        let (mut sessions, changes, programs) = (own("sessions"), own("changes"), own("programs"));
        let has_links = !links.is_empty();
        match top.table("bottleneck") {
            Some(_) if has_links => {
                return Err(
                    "bottleneck and link: keep one; [bottleneck] is the short form of one \
                            [[link]]"
                        .into(),
                );
            }
            Some(bottleneck) => links.push(bottleneck.clone()),
            None if has_links => {}
            None => {
                let write = words::missing("bottleneck");
                return Err(format!("bottleneck is missing; write {write}, or [[link]]"));
            }
        }
        let mss = top.number("mss").unwrap_or(1448);
        installed::fill(&mut top, &mut flows, &mut sessions)?;
        let scenario = Self {
            top,
            links,
            flows,
            sessions,
            changes,
            programs,
            mss,
        };
        scenario.check()?;
        Ok(scenario)
    }

    /// The RTT of a flow, session or program, as it is written.
    fn rtt_of<'a>(&'a self, table: &'a Table) -> Option<&'a str> {
        table.text("rtt").or(self.top.text("rtt"))
    }

    fn has_links(&self) -> bool {
        self.top.is_true("links")
    }

    /// The names of the links in errors.
    fn link_name(&self, index: usize) -> String {
        match self.has_links() {
            true => format!("link {}: ", index + 1),
            false => "bottleneck.".into(),
        }
    }

    fn packet_bytes(&self) -> u64 {
        self.mss + HEADER_BYTES
    }

    fn check(&self) -> Result<(), String> {
        let duration_ns = ns(self.top.text("duration"));
        if self.flows.is_empty() && self.sessions.is_empty() && self.programs.is_empty() {
            return Err("no flows: add at least one [[flow]] table".into());
        }
        self.check_numbers()?;
        for (flow, number) in self.flows.iter().zip(1..) {
            let name = format!("flow {number}");
            self.check_ecn(&name, flow)?;
            self.check_connection(&name, flow, duration_ns)?;
        }
        for (session, number) in self.sessions.iter().zip(1..) {
            let name = format!("session {number}");
            self.check_ecn(&name, session)?;
            self.check_connection(&name, session, duration_ns)?;
            self.check_session(&name, session)?;
        }
        for (program, number) in self.programs.iter().zip(1..) {
            self.rtt_of(program)
                .ok_or_else(|| missing_rtt(&format!("program {number}")))?;
        }
        self.check_links()?;
        self.check_sampling(duration_ns)?;
        self.check_transfers(duration_ns)
    }

    /// Of what has a place of its own in the canonical form.
    fn check_numbers(&self) -> Result<(), String> {
        let links = self.top.tables("links").len();
        if links > MOST_LINKS {
            return Err(format!("link: {links} links are more than {MOST_LINKS}"));
        }
        let most = Keys::kind("Flow", "count").high;
        for (name, tables) in [("flow", &self.flows), ("session", &self.sessions)] {
            let number: u64 = tables.iter().map(count).sum();
            if number > most {
                return Err(format!(
                    "{name}: count: {number} {name}s are more than {most}; write fewer"
                ));
            }
        }
        Ok(())
    }

    /// The hosts of a flow or session: its own, or the scenario's.
    fn profile_of<'a>(&'a self, flow: &'a Table) -> &'a str {
        let own = flow.text("profile");
        own.or(self.top.text("profile")).unwrap_or_default()
    }

    fn check_ecn(&self, name: &str, flow: &Table) -> Result<(), String> {
        let profile = self.profile_of(flow);
        if !flow.is_true("ecn") || NEW.contains(&profile) {
            return Ok(());
        }
        let ecn = flow
            .shown("ecn")
            .map_or_else(String::new, |ecn| ecn.to_string());
        Err(format!(
            "{name}: ecn = {ecn}: is not modelled with {profile}; write profile = \"linux-6\", or \
             ecn = false"
        ))
    }

    fn check_session(&self, name: &str, session: &Table) -> Result<(), String> {
        if session.is_given("pareto") && session.is_given("lognormal") {
            return Err(format!(
                "{name}: pareto and lognormal: sizes have one distribution"
            ));
        }
        for field in ["pareto", "lognormal", "gap"] {
            if session.text("size").is_none() && session.is_given(field) {
                return Err(format!(
                    "{name}: {field} needs a size, like size = \"6packets\""
                ));
            }
        }
        Ok(())
    }

    fn check_route(&self, name: &str, flow: &Table) -> Result<(), String> {
        let most = self.links.len() as u64;
        for key in ["route", "back"] {
            let route = flow.numbers(key);
            for link in &route {
                let times = route.iter().filter(|each| *each == link).count();
                let fix = if *link > most {
                    format!("there is no link {link}; choose from 1 to {most}")
                } else if times > 1 {
                    format!("link {link} is there twice; a route has no loop")
                } else {
                    continue;
                };
                return Err(format!("{name}: {key} = {}: {fix}", toml(&json!(route))));
            }
        }
        let is_reverse = flow.text("direction") == Some("reverse");
        if is_reverse && (self.has_links() || flow.is_true("route") || flow.is_true("back")) {
            return Err(format!(
                "{name}: direction = \"reverse\": is of a [bottleneck] that both directions share; \
                 with [[link]] tables write route and back instead"
            ));
        }
        Ok(())
    }

    fn check_connection(&self, name: &str, flow: &Table, duration_ns: i128) -> Result<(), String> {
        let refuse = |field: &str, value: &str, fix: &str| {
            Err(format!("{name}: {field} = \"{value}\": {fix}"))
        };
        let text = |key| flow.text(key).unwrap_or_default();
        if self.rtt_of(flow).is_none() {
            return Err(missing_rtt(name));
        }
        self.check_route(name, flow)?;
        let duration = self.top.text("duration").unwrap_or_default();
        let (start, spread) = (text("start"), text("start_spread"));
        let latest_ns = ns(Some(start)) + ns(Some(spread));
        if ns(Some(start)) >= duration_ns {
            let fix = format!("must be less than {duration}, the duration of the run");
            return refuse("start", start, &fix);
        }
        if latest_ns >= duration_ns {
            let fix = format!(
                "start + start_spread must be less than {duration}, the duration of the run"
            );
            return refuse("start_spread", spread, &fix);
        }
        let stop = if flow.of == "Flow" {
            flow.text("stop")
        } else {
            None
        };
        if let Some(stop) = stop.filter(|stop| ns(Some(stop)) <= latest_ns) {
            let spread = match ns(Some(spread)) {
                0 => String::new(),
                _ => format!(" + {spread}"),
            };
            let fix = format!("must be more than {start}{spread}, the start of the flow");
            return refuse("stop", stop, &fix);
        }
        // With room for one segment Linux offers no window that holds.
        let mss = flow.number("mss").unwrap_or(self.mss);
        if mss > self.mss {
            let most = self.mss;
            return Err(format!(
                "{name}: mss = {mss}: choose at most the scenario's mss, {most}"
            ));
        }
        let rooms = [
            ("receive_window", "two segments", 2 * mss),
            ("receive_buffer", "eight segments", 8 * mss),
            ("send_buffer", "a segment", mss),
        ];
        for (field, room, least) in rooms {
            let Some(size) = flow.text(field) else {
                continue;
            };
            if units::size_bytes(size)? < least.into() {
                return refuse(
                    field,
                    size,
                    &format!("give room for {room}, at least {least}B"),
                );
            }
        }
        if let Some(size) = flow.text("size") {
            let canonical = Keys::kind(&flow.of, "size").canonical(&size.into(), mss);
            if let Err(fix) = canonical {
                return refuse("size", size, &fix);
            }
        }
        Ok(())
    }

    fn check_links(&self) -> Result<(), String> {
        for (index, link) in self.links.iter().enumerate() {
            links::check(&self.link_name(index), link, self.packet_bytes())?;
        }
        // A trace or a timeline is read when it is needed.
        let rate = |link: &Table| match (link.text("rate"), link.text("timeline")) {
            (Some(rate), None) => units::rate_bps(rate).ok().map(|rate| rate as u64),
            _ => None,
        };
        let rates: Vec<_> = self.links.iter().map(rate).collect();
        let delays: Vec<_> = self
            .links
            .iter()
            .map(|link| ns(link.text("delay")))
            .collect();
        self.rooms(&rates, &delays).map(drop)
    }

    fn check_sampling(&self, duration_ns: i128) -> Result<(), String> {
        let interval = self.top.text("sample_interval").unwrap_or_default();
        let interval_ns = ns(Some(interval));
        if interval_ns % 1000 != 0 {
            return Err(format!(
                "sample_interval = \"{interval}\": choose whole microseconds, at least 1us, or \"0s\" \
                 for none"
            ));
        }
        let flows: u64 = self.flows.iter().map(count).sum();
        let rows = match interval_ns {
            0 => 0,
            _ => duration_ns / interval_ns * i128::from(flows + 1),
        };
        if rows > MAX_SAMPLES {
            return Err(format!(
                "sample_interval = \"{interval}\": gives {rows} samples, more than {MAX_SAMPLES}; \
                 sample less often, or \"0s\" for never"
            ));
        }
        Ok(())
    }

    /// Each takes a pause, a handshake and a round trip at least.
    fn check_transfers(&self, duration_ns: i128) -> Result<(), String> {
        let finite = self
            .sessions
            .iter()
            .filter(|each| each.text("size").is_some());
        let each = finite.map(|session| {
            let rtt = ns(self.rtt_of(session));
            let each_ns = ns(session.text("gap")) + 2 * (rtt + ns(session.text("rtt_exponential")));
            i128::from(count(session)) * (duration_ns / each_ns)
        });
        let transfers: i128 = each.sum();
        if transfers > MAX_SAMPLES {
            return Err(format!(
                "session: {transfers} transfers are more than {MAX_SAMPLES}; write fewer sessions \
                 (count), longer gaps or a shorter duration"
            ));
        }
        Ok(())
    }

    /// The numbers of the links that the data of a flow passes, then those of its ACKs.
    fn way(&self, flow: &Table, both_ways: bool) -> Vec<u64> {
        if both_ways {
            return vec![1, 1]; // the bottleneck, and its copy on the way back
        }
        let of_flow = |key| match flow.of == "Program" {
            true => Vec::new(),
            false => flow.numbers(key),
        };
        let mut way = of_flow("route");
        if way.is_empty() {
            way = (1..=self.links.len() as u64).collect();
        }
        way.extend(of_flow("back"));
        way
    }

    /// Size of each link's queue; a BDP is of the longest RTT of the flows that pass it. None where a
    /// rate is None: of a trace that is not read yet.
    fn rooms(
        &self,
        rates_bps: &[Option<u64>],
        delays_ns: &[i128],
    ) -> Result<Vec<Option<Value>>, String> {
        let mut every = self.flows.iter().chain(&self.sessions);
        let both_ways = every.any(|each| each.text("direction") == Some("reverse"))
            || !(self.programs.is_empty() || self.has_links());
        let ways = [&self.flows, &self.sessions, &self.programs].map(|tables| {
            let each = tables.iter().map(|flow| {
                let way = self.way(flow, both_ways);
                let own_ns = ns(self.rtt_of(flow));
                let links_ns = way.iter().map(|link| delays_ns[*link as usize - 1]);
                let rtt_ns = own_ns + links_ns.sum::<i128>();
                (way, rtt_ns)
            });
            each.collect::<Vec<_>>()
        });
        let mut rooms = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            let number = index as u64 + 1;
            let longest = ways.iter().find_map(|tables| {
                let passing = tables.iter().filter(|(way, _)| way.contains(&number));
                passing.map(|(_, rtt_ns)| *rtt_ns).max()
            });
            let name = self.link_name(index);
            let Some(rtt_ns) = longest else {
                return Err(format!(
                    "{}: no flow passes it; write its number into the route of a flow",
                    name.trim_end_matches(": ")
                ));
            };
            let Some(rate_bps) = rates_bps[index] else {
                rooms.push(None);
                continue;
            };
            let text = link.text("buffer").unwrap_or_default();
            let kind = Keys::kind("Bottleneck", "buffer");
            let room = kind.resolve_room(text, self.packet_bytes(), rate_bps, rtt_ns as u64);
            let (kind, room) =
                room.map_err(|error| format!("{name}buffer = \"{text}\": {error}"))?;
            rooms.push(Some(json!({kind: room})));
        }
        Ok(rooms)
    }

    /// Refuses what a page without Python cannot run.
    ///
    /// # Errors
    /// The first stack.
    pub fn refuse_stacks(&self) -> Result<(), String> {
        for (flow, number) in self.flows.iter().zip(1..) {
            if let Some(stack) = flow.text("stack") {
                return Err(format!(
                    "flow {number}: stack = \"{stack}\": QUIC stacks and UDP run only with \
                     `ackclock explore` or `ackclock run`"
                ));
            }
        }
        Ok(())
    }

    /// What the file has of it, with one name for each key.
    pub fn written(&self) -> Map<String, Value> {
        self.top.written()
    }

    /// What `load` gives for each algorithm, by its spec.
    ///
    /// # Errors
    /// Table, key, value and fix, if one does not load.
    pub fn algorithms<T>(
        &self,
        mut load: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<BTreeMap<String, T>, String> {
        let mut found = BTreeMap::new();
        for (kind, tables) in [
            ("flow", &self.flows),
            ("session", &self.sessions),
            ("change", &self.changes),
            ("program", &self.programs),
        ] {
            for (table, number) in tables.iter().zip(1..) {
                let Some(spec) = table.text("algorithm") else {
                    continue;
                };
                if !found.contains_key(spec) {
                    let loaded = load(spec).map_err(|error| {
                        let fix = why_not(spec, &error);
                        format!("{kind} {number}: algorithm = {}: {fix}", toml(&spec.into()))
                    })?;
                    found.insert(spec.into(), loaded);
                }
            }
        }
        Ok(found)
    }

    /// The scenario that the simulator runs, with the code of its algorithms.
    ///
    /// # Errors
    /// Table, key, value and fix.
    pub fn prepare(&self, files: &Files, code: &Snapshot) -> Result<Prepared, String> {
        self.algorithms(|spec| match spec.starts_with(KERNEL) {
            true => Ok(()), // whoever simulates refuses it
            false => code
                .configure(spec)
                .map(drop)
                .map_err(|error| error.to_string()),
        })?;
        let prepared = Prepared::new(self.resolve(files)?, code);
        prepared.map_err(|error| self.in_words(&error.field, &error.value, &error.fix))
    }

    /// Reads the files of its links, and leaves what they say in `files`.
    ///
    /// # Errors
    /// Table, key, file, line and fix.
    pub fn read_files(&self, files: &Files) -> Result<(), String> {
        self.canonical_links(files).map(drop)
    }

    /// The canonical form: integers in ns and bytes, no defaults.
    ///
    /// # Errors
    /// Table, key, file, line and fix, if the file of a link cannot be used.
    pub fn resolve(&self, files: &Files) -> Result<ackclock_sim::Scenario, String> {
        let canonical = self.canonical(files)?;
        serde_json::from_value(canonical).map_err(|error| error.to_string())
    }

    fn canonical_links(&self, files: &Files) -> Result<Vec<Map<String, Value>>, String> {
        let each = self.links.iter().enumerate().map(|(index, link)| {
            let mut fields = link.canonical(self.mss)?;
            links::read(link, &mut fields, files)
                .map_err(|error| self.link_name(index) + &error)?;
            Ok(fields)
        });
        each.collect()
    }

    fn canonical(&self, files: &Files) -> Result<Value, String> {
        let mut canonical = self.top.canonical(self.mss)?;
        canonical.shift_remove("rtt_ns");
        canonical.shift_remove("host");
        canonical.insert("header_bytes".into(), HEADER_BYTES.into());
        let reads = self.top.text("reads").unwrap_or_default().replace(' ', "_");
        canonical.insert("reads".into(), reads.into());
        if matches!(self.top.entry("tso"), Entry::Missing) {
            let is_new = NEW.contains(&self.top.text("profile").unwrap_or_default());
            canonical.insert("tso".into(), is_new.into());
        }
        let mut links = self.canonical_links(files)?;
        let rate_bps = |link| links::number(link, "rate_bps");
        let rates: Vec<_> = links.iter().map(rate_bps).collect();
        let delay = |link| links::number(link, "delay_ns").unwrap_or(0).into();
        let delays: Vec<_> = links.iter().map(delay).collect();
        let rooms = self.rooms(&rates, &delays)?;
        for (fields, room) in links.iter_mut().zip(rooms) {
            fields.insert("buffer".into(), room.unwrap_or(Value::Null));
            let idle_ns = links::idle_packet_ns(fields, self.packet_bytes());
            self.fill_queue(&mut fields["queue"], idle_ns);
        }
        let mut links = links.into_iter().map(Value::Object);
        let bottleneck = links.next().expect("there is one");
        canonical.insert("bottleneck".into(), bottleneck);
        canonical.insert("links".into(), links.collect::<Vec<_>>().into());
        for (name, tables) in [("flows", &self.flows), ("sessions", &self.sessions)] {
            let mut all = Vec::new();
            for table in tables {
                let each = self.connection(table)?;
                all.extend(std::iter::repeat_n(each, count(table) as usize));
            }
            canonical.insert(name.into(), all.into());
        }
        let rtt_ns = ns(self.top.text("rtt")) as u64;
        for program in canonical
            .get_mut("programs")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if program["rtt_ns"].is_null() {
                program["rtt_ns"] = rtt_ns.into();
            }
        }
        Ok(canonical.into())
    }

    /// What the queue's table leaves open: sizes are full packets.
    fn fill_queue(&self, queue: &mut Value, idle_packet_ns: u64) {
        let Value::Object(kinds) = queue else { return };
        for (kind, parameters) in kinds {
            let Value::Object(parameters) = parameters else {
                continue;
            };
            for (key, value) in parameters.iter_mut().filter(|(_, value)| value.is_null()) {
                let sized = FULL_PACKETS
                    .iter()
                    .find(|(of, name, _)| of == kind && name == key);
                let packets = sized.map_or(1, |(_, _, packets)| *packets);
                *value = match key.as_str() {
                    "idle_packet_ns" => idle_packet_ns,
                    _ => packets * self.packet_bytes().max(1500),
                }
                .into();
            }
        }
    }

    fn says_nothing_of_tso(&self, flow: &Table) -> bool {
        [flow, &self.top]
            .map(|table| matches!(table.entry("tso"), Entry::Missing))
            .iter()
            .all(|missing| *missing)
    }

    /// A flow or session as in the canonical form.
    fn connection(&self, table: &Table) -> Result<Value, String> {
        let mss = table.number("mss").unwrap_or(self.mss);
        let mut fields = table.canonical(mss)?;
        fields.shift_remove("count");
        if table.text("profile").is_some() && self.says_nothing_of_tso(table) {
            let is_new = NEW.contains(&self.profile_of(table));
            fields.insert("tso".into(), is_new.into());
        }
        let rtt_ns = ns(self.top.text("rtt")) as u64;
        fields.entry("rtt_ns").or_insert_with(|| rtt_ns.into());
        if table.of == "Flow" {
            return Ok(fields.into());
        }
        let mut take = |key: &str| fields.shift_remove(key).unwrap_or(Value::Null);
        let (gap_ns, route_ssthresh) = (take("gap_ns"), take("route_ssthresh"));
        let laws = ["pareto", "lognormal"].map(|law| (law, take(&format!("{law}_thousandths"))));
        let sizes = laws.into_iter().find(|(_, parameter)| !parameter.is_null());
        let sizes = sizes.map_or(json!("equal"), |(law, parameter)| json!({law: parameter}));
        fields.insert("stop_ns".into(), Value::Null);
        Ok(json!({
            "gap_ns": gap_ns,
            "route_ssthresh": route_ssthresh,
            "flow": fields,
            "sizes": sizes,
        }))
    }
}

/// What to write instead of a spec that does not load.
fn why_not(spec: &str, error: &str) -> String {
    if let Some((name, setting)) = apart(spec) {
        return format!("write \"{name}:{setting}\"");
    }
    match spec.contains('\n') {
        true => error.replace(spec, toml(&spec.into()).trim_matches('"')),
        false => error.into(),
    }
}

/// The name and the setting of "cubic beta=0.8".
fn apart(spec: &str) -> Option<(&str, &str)> {
    let is_name = |letter: char| letter.is_alphanumeric() || "_@.-".contains(letter);
    let end = spec
        .find(|letter| !is_name(letter))
        .filter(|end| *end > 0)?;
    let (name, rest) = spec.split_at(end);
    let setting = rest.trim_start_matches([' ', ',', ';']);
    let (key, value) = setting.split_once('=')?;
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_setting = !key.is_empty()
        && key.chars().all(is_word)
        && !value.is_empty()
        && !value.contains(char::is_whitespace);
    (setting.len() < rest.len() && is_setting).then_some((name, setting))
}
