//! Network namespaces without a name.
//!
//! A namespace lives as long as one of its descriptors, devices or sockets. It therefore cannot
//! outlive the process, however the process ends (docs/adr/0009).

use super::TestbedError;
use crate::sys;
use ackclock_sim::scenario::able::switched_off;
use ackclock_sim::scenario::Flow;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

const DEVICE: &str = "tun0";
/// Where all hosts of the testbed are, in a /24.
const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);
/// Linux's own second value of `tcp_rmem`: a receive buffer at first, bytes.
const FIRST_ROOM: u64 = 131_072;
/// Values of the sysctl `tcp_ecn`: connections ask for ECN, or use it only if the other end asks.
const ECN: &str = "1";
const ECN_IF_ASKED: &str = "2";

/// A namespace with one TUN device.
#[derive(Debug)]
pub(super) struct TunNamespace {
    namespace: OwnedFd,
    /// The device: read here what the namespace sends.
    pub(super) tun: OwnedFd,
    /// The namespace's `tcp_ecn`.
    ecn: fs::File,
}

/// Settings of a namespace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    pub(super) address: Ipv4Addr,
    pub(super) mtu_bytes: u32,
    /// How many packets the device holds until they are read.
    pub(super) queue_packets: u32,
    /// Room for the data of each socket, in each direction.
    pub(super) socket_bytes: u64,
    /// Whether programs run in it: their sockets' buffers begin as Linux's own and grow.
    pub(super) programs: bool,
    /// Whether the device hands over whole bursts (see [`sys::open_tun`]).
    pub(super) offload: bool,
}

impl TunNamespace {
    /// Makes a namespace with its device, and sets its sysctls.
    pub(super) fn new(config: &Config) -> Result<Self, TestbedError> {
        sys::on_thread(|| {
            let root = "the testbed needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN)";
            sys::unshare(libc::CLONE_NEWNET)
                .map_err(TestbedError::cannot("make a network namespace", root))?;
            let namespace = fs::File::open("/proc/thread-self/ns/net")
                .map_err(TestbedError::host("open the network namespace"))?;
            set_sysctls(config)?;
            let path = "/proc/sys/net/ipv4/tcp_ecn";
            let ecn = fs::File::options().write(true).open(path);
            let ecn = ecn.map_err(TestbedError::host(&format!("open {path}")))?;
            let load = "load the module (modprobe tun)";
            let tun = sys::open_tun(DEVICE, config.offload)
                .map_err(TestbedError::cannot("open /dev/net/tun", load))?;
            let Config {
                address,
                mtu_bytes,
                queue_packets,
                ..
            } = *config;
            sys::configure_interface(DEVICE, address, mtu_bytes, queue_packets)
                .map_err(TestbedError::host("configure the TUN device"))?;
            if config.programs {
                sys::bring_up("lo").map_err(TestbedError::host("bring up the device lo"))?;
            }
            Ok(Self {
                namespace: namespace.into(),
                tun,
                ecn,
            })
        })
    }

    /// Runs a function on a thread inside the namespace.
    pub(super) fn enter<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, TestbedError> + Send,
    ) -> Result<T, TestbedError> {
        sys::on_thread(|| {
            self.move_in()
                .map_err(TestbedError::host("enter the network namespace"))?;
            work()
        })
    }

    /// Writes a sysctl of `net.ipv4`.
    pub(super) fn set(&self, name: &str, value: &str) -> Result<(), TestbedError> {
        self.enter(|| {
            fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
                .map_err(TestbedError::host(&format!("write {name}")))
        })
    }

    /// Sets what all of its connections have as this flow: switches, the room that receivers tune, and
    /// the metrics of its route.
    pub(super) fn set_as(&self, flow: &Flow) -> Result<(), TestbedError> {
        for switch in switched_off(flow) {
            self.set(switch, "0")?;
        }
        if let Some(most) = flow.receive_buffer_bytes {
            self.set("tcp_rmem", &format!("4096 {} {most}", most.min(FIRST_ROOM)))?;
        }
        let rto_min_ms = flow.rto_min_ns.map(|ns| ns.div_ceil(1_000_000) as u32);
        if flow.initcwnd.or(rto_min_ms).is_none() {
            return Ok(());
        }
        let set = || sys::set_metrics(NETWORK, DEVICE, flow.initcwnd, rto_min_ms);
        self.enter(|| set().map_err(TestbedError::host("set the route's metrics")))
    }

    /// Moves the calling thread into the namespace.
    pub(super) fn move_in(&self) -> io::Result<()> {
        sys::enter_network(self.namespace.as_fd())
    }

    /// The namespace as a file.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }

    /// Whether the connections that are opened from now on ask for ECN.
    pub(super) fn request_ecn(&self, ecn: bool) -> Result<(), TestbedError> {
        let value = if ecn { ECN } else { ECN_IF_ASKED };
        self.ecn
            .write_all_at(value.as_bytes(), 0)
            .map_err(TestbedError::host("write tcp_ecn"))
    }

    /// Packets with the mark "congestion experienced" that the namespace received.
    pub(super) fn ce_packets(&self) -> Result<u64, TestbedError> {
        self.enter(|| {
            let path = "/proc/thread-self/net/netstat";
            let counters = fs::read_to_string(path).map_err(TestbedError::host("count marks"))?;
            counter(&counters, "IpExt:", "InCEPkts").ok_or_else(|| {
                let missing = io::Error::other("it has no InCEPkts");
                TestbedError::host(&format!("read {path}"))(missing)
            })
        })
    }

    /// Packets that the device dropped, in both directions.
    pub(super) fn dropped_packets(&self) -> Result<u64, TestbedError> {
        self.enter(|| {
            let devices = fs::read_to_string("/proc/thread-self/net/dev")
                .map_err(TestbedError::host("read the TUN device's counters"))?;
            Ok(device_drops(&devices))
        })
    }
}

/// Receive and transmit errors and drops of our device in `/proc/net/dev`.
fn device_drops(devices: &str) -> u64 {
    let counters = devices
        .lines()
        .find_map(|line| line.trim().strip_prefix(DEVICE)?.strip_prefix(':'));
    let counters: Vec<u64> = counters
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|count| count.parse().ok())
        .collect();
    [2, 3, 10, 11]
        .iter()
        .filter_map(|&column| counters.get(column))
        .sum()
}

/// A counter in `/proc/net/netstat`: a line of names and a line of values for each group.
fn counter(counters: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = counters.lines().filter(|line| line.starts_with(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let column = names.split(' ').position(|each| each == name)?;
    values.split(' ').nth(column)?.parse().ok()
}

/// Writes the sysctls of the calling thread's namespace.
fn set_sysctls(config: &Config) -> Result<(), TestbedError> {
    // A socket's room at first, for what it receives and what it sends. Our own applications' is what
    // they write before the first ACK, as in the simulator.
    let [receives, sends] = match config.programs {
        false => [config.socket_bytes, 1 << 20],
        true => [FIRST_ROOM, 16_384],
    };
    let room = format!("4096 {receives} {}", config.socket_bytes);
    let send_room = format!("4096 {sends} {}", config.socket_bytes);
    let wanted = [
        // First, so that the device never sends IPv6 packets of its own accord.
        ("ipv6/conf/default/disable_ipv6", "1"),
        ("ipv6/conf/all/disable_ipv6", "1"),
        ("ipv4/tcp_congestion_control", "reno"),
        ("ipv4/tcp_ecn", ECN_IF_ASKED),
        ("ipv4/tcp_no_metrics_save", "1"),
        ("ipv4/tcp_rmem", &room),
        ("ipv4/tcp_wmem", &send_room),
    ];
    for (name, value) in wanted {
        let path = Path::new("/proc/sys/net").join(name);
        match fs::write(&path, value) {
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound && name.starts_with("ipv6") => {}
            outcome => outcome.map_err(TestbedError::host(&format!("write {}", path.display())))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_below_its_name() {
        let text = "TcpExt: InCEPkts Other\nTcpExt: 1 2\n\
            IpExt: InNoRoutes InCEPkts\nIpExt: 3 4\n";
        assert_eq!(counter(text, "IpExt:", "InCEPkts"), Some(4));
        assert_eq!(counter(text, "IpExt:", "InECT0Pkts"), None);
    }

    #[test]
    fn drops_and_errors_are_summed() {
        let text = "Inter-|   Receive  |  Transmit\n\
            \x20lo: 0 0 9 9 0 0 0 0 0 0 9 9 0 0 0 0\n\
            tun0: 100 7 1 2 0 0 0 0 200 9 3 4 0 0 0 0\n";
        assert_eq!(device_drops(text), 10);
    }
}
