//! What BPF costs: our CUBIC beside Linux's own, and telemetry beside none, on the same
//! transfers over veth, alternating. `make bench-kernel` runs it; it needs root.
//!
//! A pair is two transfers, one of each kind, whose order alternates, so that what else the
//! machine does falls on both. Printed is the median of the pairs' ratios and the interval
//! that holds it with 95 % (order statistics).

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use ackclock_linux::bpf::{require, Filter, Registered, Telemetry};
use libbpf_rs::query::ProgInfoIter;

const PAIRS: usize = 30;
const PORT: u16 = 5001;
const FAR: &str = "10.1.1.2:5001";
const POLL: Duration = Duration::from_millis(20);
const CHUNK: usize = 1 << 17;

/// How the link is set up, and how much goes over it at a time.
struct Setting {
    title: &'static str,
    offloads: &'static str,
    /// What the routes there and back say besides.
    routes: [&'static str; 2],
    bytes: usize,
}

const SETTINGS: [Setting; 2] = [
    Setting {
        title: "veth as it comes (TSO, GRO)",
        offloads: "on",
        routes: ["", ""],
        bytes: 512 << 20,
    },
    Setting {
        title: "veth without offloads, cwnd held at 64",
        offloads: "off",
        routes: [" cwnd lock 64", " quickack 1"],
        bytes: 96 << 20,
    },
];

/// What a transfer took.
#[derive(Clone, Copy)]
struct Cost {
    wall_s: f64,
    cpu_s: f64,
}

fn main() {
    if let Err(error) = require("measuring the kernel") {
        println!("skipped: {error}");
        return;
    }
    for setting in &SETTINGS {
        let (thread_id, far_thread) = channel();
        let (linked, link) = channel();
        let (listening, listens) = channel();
        let near = move || {
            own_namespace();
            let far: i32 = far_thread.recv().expect("the receiver began");
            ip(&format!(
                "link add eth0 type veth peer name eth0 netns {far}"
            ));
            link_up("10.1.1.1/24", setting.offloads, setting.routes[0]);
            linked.send(()).expect("the receiver lives");
            listens.recv().expect("the receiver listens");
            measure(setting);
            // The last connection, without a byte, ends the receiver.
            TcpStream::connect(FAR).expect("the receiver lives");
        };
        let far = move || {
            own_namespace();
            // SAFETY: a plain system call.
            thread_id
                .send(unsafe { libc::gettid() })
                .expect("the sender lives");
            link.recv().expect("the sender made the link");
            link_up("10.1.1.2/24", setting.offloads, setting.routes[1]);
            let listener = TcpListener::bind(FAR).expect("the address is ours");
            listening.send(()).expect("the sender lives");
            let mut buffer = vec![0; CHUNK];
            while read_all(&listener, &mut buffer) > 0 {}
        };
        thread::scope(|scope| {
            scope.spawn(near);
            scope.spawn(far);
        });
    }
}

fn measure(setting: &Setting) {
    println!(
        "{} ({} pairs of {} MB)",
        setting.title,
        PAIRS,
        setting.bytes >> 20
    );
    let ours = Registered::load("cubic").expect("every algorithm loads");
    let native = || transfer("cubic", setting.bytes);
    let bpf = || transfer(ours.name(), setting.bytes);
    bpf(); // warm
    print_ratios("CUBIC in BPF / Linux's own", &pairs(native, bpf));

    let (before, _stats) = (runs(&ours.program_ids()), count_runs());
    let cost = bpf();
    let after = runs(&ours.program_ids());
    let mut all_ns = 0;
    for ((name, count, ns), (_, count_before, ns_before)) in after.into_iter().zip(before) {
        let (count, ns) = (count - count_before, ns - ns_before);
        all_ns += ns;
        if count > 1000 {
            println!(
                "  {name:<22} {count:>8} calls, {:>5.0} ns each",
                ns as f64 / count as f64
            );
        }
    }

    let share = all_ns as f64 / 1e9 / cost.wall_s;
    println!(
        "  all programs: {:.3} % of the transfer's time",
        share * 100.0
    );

    let (mut records, mut lost, mut probe) = (0, 0, (0, 0));
    let mut recorded = || {
        let mut telemetry = Telemetry::start(Filter::Port(PORT)).expect("telemetry loads");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut records = 0;
                while !done.load(Relaxed) {
                    records += telemetry.poll(POLL).expect("no signal").count();
                }
                (records, telemetry.lost().expect("it counts"))
            });
            let cost = native();
            done.store(true, Relaxed);
            let counts = reader.join().expect("the reader ended");
            records += counts.0;
            lost += counts.1;
            probe = runs_of("probe");
            cost
        })
    };
    let ratios = pairs(native, &mut recorded);
    let stats = count_runs();
    recorded();
    drop(stats);
    print_ratios("CUBIC with telemetry / without", &ratios);
    let (count, ns) = probe;
    let each_ns = ns as f64 / count.max(1) as f64;
    println!("  probe                  {count:>8} calls, {each_ns:>5.0} ns each");
    println!(
        "  {} records a transfer, {lost} lost\n",
        records / (PAIRS + 1)
    );
}

/// (without, with) of each pair.
fn pairs(mut one: impl FnMut() -> Cost, mut other: impl FnMut() -> Cost) -> Vec<(Cost, Cost)> {
    let pair = |index| {
        if index % 2 == 0 {
            let first = one();
            (first, other())
        } else {
            let first = other();
            (one(), first)
        }
    };
    (0..PAIRS).map(pair).collect()
}

fn print_ratios(what: &str, pairs: &[(Cost, Cost)]) {
    let line = |name, ratio: fn(&(Cost, Cost)) -> f64| {
        let mut ratios: Vec<_> = pairs.iter().map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        // Ranks 10 and 21 of 30 hold the median with 95.7 %.
        let (low, high) = (ratios[PAIRS / 3 - 1], ratios[PAIRS - PAIRS / 3]);
        let median = (ratios[PAIRS / 2 - 1] + ratios[PAIRS / 2]) / 2.0;
        println!("  {what}: {name} {median:.3} [{low:.3}, {high:.3}]");
    };
    line("throughput", |(one, other)| one.wall_s / other.wall_s);
    line("CPU time", |(one, other)| other.cpu_s / one.cpu_s);
}

/// Sends so many bytes by that algorithm; ends when the other side has read them all.
fn transfer(algorithm: &str, bytes: usize) -> Cost {
    let mut stream = TcpStream::connect(FAR).expect("the receiver listens");
    // SAFETY: pointer and length are the name's.
    let set = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            algorithm.as_ptr().cast(),
            algorithm.len() as u32,
        )
    };
    assert_eq!(set, 0, "{algorithm}");
    let (start, cpu_s) = (Instant::now(), cpu_s());
    let chunk = vec![0; CHUNK];
    for _ in 0..bytes / CHUNK {
        stream.write_all(&chunk).expect("the receiver reads");
    }
    stream.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(stream.read(&mut [0]).expect("the receiver closes"), 0);
    Cost {
        wall_s: start.elapsed().as_secs_f64(),
        cpu_s: self::cpu_s() - cpu_s,
    }
}

/// Bytes of the next connection, when it has ended.
fn read_all(listener: &TcpListener, buffer: &mut [u8]) -> usize {
    let (mut stream, _) = listener.accept().expect("it listens");
    let mut bytes = 0;
    loop {
        match stream.read(buffer).expect("the sender lives") {
            0 => return bytes,
            more => bytes += more,
        }
    }
}

/// CPU time of this process, in which both ends live: user and kernel.
fn cpu_s() -> f64 {
    // SAFETY: rusage is a plain structure of numbers, which getrusage fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &raw mut usage), 0);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Has the kernel count the time of BPF programs as long as the result lives.
fn count_runs() -> OwnedFd {
    // SAFETY: a plain call; the descriptor it returns is owned by nobody else.
    unsafe {
        let fd = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
        assert!(fd >= 0, "BPF statistics");
        OwnedFd::from_raw_fd(fd)
    }
}

/// (name, runs, ns) of programs.
fn runs(ids: &[u32]) -> Vec<(String, u64, u64)> {
    let known = ProgInfoIter::default().filter(|program| ids.contains(&program.id));
    known
        .map(|program| {
            let name = program.name.to_string_lossy().into_owned();
            (name, program.run_cnt, program.run_time_ns)
        })
        .collect()
}

/// (runs, ns) of the programs of that name.
fn runs_of(name: &str) -> (u64, u64) {
    let named = ProgInfoIter::default().filter(|program| program.name == name);
    named.fold((0, 0), |(count, ns), program| {
        (count + program.run_cnt, ns + program.run_time_ns)
    })
}

fn own_namespace() {
    // SAFETY: unshare changes nothing but the namespace of the calling thread.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
}

fn link_up(address: &str, offloads: &str, route: &str) {
    ip(&format!("addr add {address} dev eth0"));
    for each in ["tso", "gso", "gro"] {
        run("ethtool", &["-K", "eth0", each, offloads]);
    }
    ip("link set eth0 up");
    ip(&format!("route replace 10.1.1.0/24 dev eth0{route}"));
}

fn ip(arguments: &str) {
    run("ip", &arguments.split(' ').collect::<Vec<_>>());
}

fn run(command: &str, arguments: &[&str]) {
    let output = Command::new(command).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{command}: {error}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command} {arguments:?}: {messages}"
    );
}
