//! Per-ACK records of real transfers over loopback.

mod common;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::process::Command;
use std::thread;
use std::time::Duration;

use ackclock_linux::bpf::{AckRecord, Filter, Registered, Telemetry};

const SHORT: Duration = Duration::from_millis(20);

fn loopback_up() {
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status();
    assert!(up.unwrap().success());
}

/// A connection that uses an algorithm: (sender, receiver, cookie of the sender).
fn connect(algorithm: &str) -> (TcpStream, TcpStream, u64) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (receiver, _) = listener.accept().unwrap();
    // SAFETY: pointer and length are the name's.
    unsafe {
        let set = libc::setsockopt(
            sender.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            algorithm.as_ptr().cast(),
            algorithm.len() as u32,
        );
        assert_eq!(set, 0);
    }
    let cookie = cookie(&sender);
    (sender, receiver, cookie)
}

fn cookie(socket: &TcpStream) -> u64 {
    let mut cookie = 0_u64;
    let mut length = 8;
    // SAFETY: pointer and length are the cookie's.
    unsafe {
        let got = libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        );
        assert_eq!(got, 0);
    }
    cookie
}

/// Sends rounds of 64 KiB, each answered: at least one ACK a round.
fn transfer(sender: &mut TcpStream, receiver: &mut TcpStream, rounds: usize) {
    const ROUND: usize = 1 << 16;
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..rounds {
                receiver.read_exact(&mut [0; ROUND]).unwrap();
                receiver.write_all(&[0]).unwrap();
            }
        });
        for _ in 0..rounds {
            sender.write_all(&[0; ROUND]).unwrap();
            sender.read_exact(&mut [0]).unwrap();
        }
    });
}

fn drain(telemetry: &mut Telemetry) -> Vec<AckRecord> {
    telemetry.poll(SHORT).unwrap().collect()
}

#[test]
fn the_watched_sockets_are_recorded() {
    if common::skipped_without("recording", &[common::NET_ADMIN]) {
        return;
    }
    common::in_own_namespace(|| {
        loopback_up();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mine.c");
        std::fs::write(&file, MINE).unwrap();
        let mine = Registered::load(file.to_str().unwrap()).unwrap();
        let mut telemetry = Telemetry::start(Filter::Watched).unwrap();
        let (mut sender, mut receiver, cookie) = connect(mine.name());
        let (mut other, mut sink, _) = connect("reno");
        telemetry.watch(cookie).unwrap();
        transfer(&mut other, &mut sink, 100);
        transfer(&mut sender, &mut receiver, 200);
        let records = drain(&mut telemetry);

        assert!(records.len() >= 200, "{} records", records.len());
        assert!(records.iter().all(|record| record.cookie == cookie));
        assert!(records
            .windows(2)
            .all(|pair| pair[0].time_ns <= pair[1].time_ns));
        let ports = (
            sender.local_addr().unwrap().port(),
            receiver.local_addr().unwrap().port(),
        );
        assert!(records
            .iter()
            .all(|record| (record.local_port, record.remote_port) == ports));
        let (first, last) = (records[0], records[records.len() - 1]);
        assert_eq!(first.cwnd_packets, 17);
        assert_eq!(first.ssthresh_packets, 12345);
        assert_eq!(first.state, 0);
        assert!(records.iter().all(|record| record.in_flight_packets > 0));
        assert!((1..1_000_000).contains(&last.srtt_us), "{last:?}");
        assert_eq!(telemetry.lost().unwrap(), 0);

        let fields = mine.private_fields();
        let values = |record: &AckRecord| {
            let values = fields
                .iter()
                .map(|field| (field.name.clone(), field.value(&record.ca_priv)));
            values.collect::<Vec<_>>()
        };
        let expected = |acks: i128| {
            [
                ("inner.flag".to_string(), 1),
                ("inner.below".to_string(), -5),
                ("inner.all".to_string(), u64::MAX.into()),
                ("list[0]".to_string(), 7),
                ("list[1]".to_string(), 8),
                ("acks".to_string(), acks),
            ]
        };
        assert_eq!(values(&first), expected(0));
        let acks = values(&last)[5].1;
        assert_eq!(values(&last), expected(acks));
        assert!((1..records.len() as i128).contains(&acks), "{acks}");
    });
}

/// Reno with a first window of 17, and private state of every kind.
const MINE: &str = r#"
#include "tcp_cc.h"
struct mine {
	struct {
		u8 flag;
		s32 below;
		u64 all;
	} inner;
	u16 list[2];
	u32 acks;
};
CC_PRIVATE(struct mine);
CC_HOOK(void, mine_init, struct sock *sk)
{
	struct mine *mine = inet_csk_ca(sk);

	mine->inner.flag = 1;
	mine->inner.below = -5;
	mine->inner.all = ~0ULL;
	mine->list[0] = 7;
	mine->list[1] = 8;
	tcp_sk(sk)->snd_cwnd = 17;
	tcp_sk(sk)->snd_ssthresh = 12345;
}
CC_HOOK(u32, mine_ssthresh, struct sock *sk) { return tcp_reno_ssthresh(sk); }
CC_HOOK(void, mine_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	inet_csk_ca(sk)->acks++;
	tcp_reno_cong_avoid(sk, ack, acked);
}
CC_ALGORITHM(mine, "Reno that counts", .init = mine_init, .ssthresh = mine_ssthresh,
	     .cong_avoid = mine_cong_avoid);
"#;

#[test]
fn a_port_is_a_filter() {
    if common::skipped_without("recording", &[common::NET_ADMIN]) {
        return;
    }
    common::in_own_namespace(|| {
        loopback_up();
        let (mut sender, mut receiver, cookie) = connect("reno");
        let (mut other, mut sink, _) = connect("reno");
        let port = receiver.local_addr().unwrap().port();
        let mut telemetry = Telemetry::start(Filter::Port(port)).unwrap();
        transfer(&mut other, &mut sink, 100);
        transfer(&mut sender, &mut receiver, 100);
        let records = drain(&mut telemetry);
        assert!(records.iter().any(|record| record.cookie == cookie));
        let ports = |record: &AckRecord| [record.local_port, record.remote_port];
        assert!(records.iter().all(|record| ports(record).contains(&port)));
    });
}

/// What a ring that is too small keeps and counts as lost is what one of full size keeps.
#[test]
fn the_count_of_lost_records_is_exact() {
    if common::skipped_without("recording", &[common::NET_ADMIN]) {
        return;
    }
    common::in_own_namespace(|| {
        loopback_up();
        let mut small = Telemetry::start_with_ring(Filter::Watched, 4096).unwrap();
        let mut large = Telemetry::start(Filter::Watched).unwrap();
        let (mut sender, mut receiver, cookie) = connect("reno");
        small.watch(cookie).unwrap();
        large.watch(cookie).unwrap();
        let (mut kept, mut all) = (0, 0);
        for rounds in [100, 1, 30] {
            transfer(&mut sender, &mut receiver, rounds);
            kept += drain(&mut small).len() as u64;
            all += drain(&mut large).len() as u64;
        }
        drop(sender);
        drop(receiver);
        // ACKs may have been under way: until nothing has come for a while, longer than any timer.
        let mut lost = small.lost().unwrap();
        loop {
            thread::sleep(10 * SHORT);
            let (more, most) = (drain(&mut small).len(), drain(&mut large).len());
            (kept, all) = (kept + more as u64, all + most as u64);
            let before = std::mem::replace(&mut lost, small.lost().unwrap());
            if (more, most, before) == (0, 0, lost) {
                break;
            }
        }
        assert_eq!(large.lost().unwrap(), 0);
        assert!(lost > 0);
        assert_eq!(kept + lost, all);
    });
}

/// The same addresses and ports in two namespaces: the socket is watched, not what it is called.
#[test]
fn of_two_namespaces_the_watched_socket_is_recorded() {
    if common::skipped_without("recording", &[common::NET_ADMIN]) {
        return;
    }
    let one = || {
        loopback_up();
        let listener = TcpListener::bind("127.0.0.1:7").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, sender)
    };
    common::in_own_namespace(|| {
        let (mut receiver, mut sender) = one();
        let (mut other, mut its_sender) = thread::scope(|scope| {
            let enter = || {
                // SAFETY: unshare changes nothing but the namespace of the calling thread.
                assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
                one()
            };
            scope.spawn(enter).join().unwrap()
        });
        let cookie = cookie(&sender);
        assert_ne!(cookie, self::cookie(&its_sender));
        let mut telemetry = Telemetry::start(Filter::Watched).unwrap();
        telemetry.watch(cookie).unwrap();
        transfer(&mut its_sender, &mut other, 100);
        assert!(drain(&mut telemetry).is_empty());
        transfer(&mut sender, &mut receiver, 10);
        let records = drain(&mut telemetry);
        assert!(records.len() >= 10);
        assert!(records.iter().all(|record| record.cookie == cookie));
    });
}

/// Where the clock of this process is not the kernel's, records have that of this process.
#[test]
fn times_are_those_of_this_process() {
    const NAME: &str = "times_are_those_of_this_process";
    let ahead = ["--time", "--monotonic=1000000", "--boottime=1000000"];
    if common::skipped_without("recording", &[common::NET_ADMIN]) {
        return;
    }
    common::alone_with(&ahead, NAME, || {
        loopback_up();
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        assert!(uptime > 1e6, "no time namespace: {uptime} s");
        let (mut sender, mut receiver, cookie) = connect("reno");
        let mut telemetry = Telemetry::start(Filter::Watched).unwrap();
        telemetry.watch(cookie).unwrap();
        let before_ns = now_ns();
        transfer(&mut sender, &mut receiver, 10);
        let after_ns = now_ns();
        let records = drain(&mut telemetry);
        assert!(records.len() >= 10);
        for record in records {
            assert!((before_ns..=after_ns + 1_000_000_000).contains(&record.time_ns));
        }
    });
}

fn now_ns() -> u64 {
    // SAFETY: zero is a value of this plain struct, which the call then fills.
    let now = unsafe {
        let mut now: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
        now
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn what_does_not_fit_is_counted() {
    if common::skipped_without("recording", &[common::NET_ADMIN]) {
        return;
    }
    common::in_own_namespace(|| {
        loopback_up();
        let mut telemetry = Telemetry::start_with_ring(Filter::Watched, 4096).unwrap();
        let (mut sender, mut receiver, cookie) = connect("reno");
        telemetry.watch(cookie).unwrap();
        transfer(&mut sender, &mut receiver, 100);
        let kept = drain(&mut telemetry).len() as u64;
        let lost = telemetry.lost().unwrap();
        assert!((1..=4096 / 152).contains(&kept), "{kept} of 4096 bytes");
        assert!(lost > 0);
        transfer(&mut sender, &mut receiver, 1);
        assert!(!drain(&mut telemetry).is_empty(), "it goes on");
    });
}
