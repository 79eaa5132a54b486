//! System calls, each with its one `unsafe` line.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::mem::{size_of, zeroed, MaybeUninit};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;
use std::{io, thread};

pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// The error of a system call that returns less than 0.
pub(crate) fn check(returned: i32) -> io::Result<i32> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(returned)
}

fn check_size(returned: isize) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}

/// The descriptor that a system call has made.
pub(crate) fn owned(returned: i32) -> io::Result<OwnedFd> {
    // SAFETY: the system call made this descriptor, and nobody else has it.
    check(returned).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether a later attempt may succeed.
pub(crate) fn is_not_yet(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.kind() == io::ErrorKind::Interrupted
}

/// Moves the calling thread into new namespaces of these kinds.
pub(crate) fn unshare(kinds: i32) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(kinds) }).map(drop)
}

/// Does `work` on a thread of its own: a namespace belongs to a thread, so the caller keeps its own.
pub(crate) fn on_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let done = thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The number of the user of this process; 0: root.
pub(crate) fn user() -> u32 {
    // SAFETY: it always succeeds.
    unsafe { libc::geteuid() }
}

/// Moves the calling thread into the network namespace `namespace`.
pub(crate) fn enter_network(namespace: BorrowedFd) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// A request about the interface `name`.
fn interface_request(name: &str) -> libc::ifreq {
    // SAFETY: zero is a value of every member of this plain struct.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

fn ioctl(fd: RawFd, number: u64, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: `request` is the ifreq that these ioctls read and write.
    check(unsafe { libc::ioctl(fd, number as _, std::ptr::from_mut(request)) }).map(drop)
}

/// Opens a TUN device in the calling thread's namespace. The device ends with its descriptor.
/// `offload`: a packet has a `struct virtio_net_hdr` before it, and may be a whole burst.
pub(crate) fn open_tun(name: &str, offload: bool) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: the path is a C string.
    let tun = owned(unsafe { libc::open(c"/dev/net/tun".as_ptr(), flags) })?;
    let mut request = interface_request(name);
    let header = if offload { libc::IFF_VNET_HDR } else { 0 };
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | header) as i16;
    ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &mut request)?;
    if offload {
        let bursts = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO_ECN;
        // SAFETY: the argument is a number.
        check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETOFFLOAD as _, bursts) })?;
    }
    Ok(tun)
}

/// Sets the address (in a /24), MTU and queue of an interface, and brings the interface up.
pub(crate) fn configure_interface(
    name: &str,
    address: Ipv4Addr,
    mtu_bytes: u32,
    queue_packets: u32,
) -> io::Result<()> {
    let socket = socket(libc::SOCK_DGRAM)?;
    let fd = socket.as_raw_fd();
    let set = |number, fill: &dyn Fn(&mut libc::ifreq)| {
        let mut request = interface_request(name);
        fill(&mut request);
        ioctl(fd, number, &mut request)
    };
    let inet = |request: &mut libc::ifreq, address| {
        let address = socket_address(address, 0);
        // SAFETY: both are socket addresses of 16 bytes.
        request.ifr_ifru.ifru_addr =
            unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(address) };
    };
    set(libc::SIOCSIFADDR, &|request| inet(request, address))?;
    set(libc::SIOCSIFNETMASK, &|request| {
        inet(request, Ipv4Addr::new(255, 255, 255, 0))
    })?;
    set(libc::SIOCSIFMTU, &|request| {
        request.ifr_ifru.ifru_mtu = mtu_bytes as i32;
    })?;
    set(libc::SIOCSIFTXQLEN, &|request| {
        request.ifr_ifru.ifru_metric = queue_packets as i32;
    })?;
    bring_up(name)
}

/// Gives the route to a /24 through an interface these metrics, in the calling thread's namespace.
pub(crate) fn set_metrics(
    network: Ipv4Addr,
    device: &str,
    initcwnd: Option<u32>,
    rto_min_ms: Option<u32>,
) -> io::Result<()> {
    // linux/rtnetlink.h: attributes of a route, and of its metrics.
    const METRICS: u16 = libc::RTA_METRICS;
    const LOCK: u16 = 1;
    const INITCWND: u16 = 11;
    const RTO_MIN: u16 = 13;
    let name = std::ffi::CString::new(device)?;
    // SAFETY: the name is a C string.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    let locked = rto_min_ms.map(|_| 1_u32 << RTO_MIN);
    let metrics = [(LOCK, locked), (INITCWND, initcwnd), (RTO_MIN, rto_min_ms)];
    let metrics = metrics
        .into_iter()
        .filter_map(|(kind, value)| Some((kind, value?)));
    let metrics = metrics.flat_map(|(kind, value)| attribute(kind, &value.to_ne_bytes()));
    let (table, scope, unicast) = (libc::RT_TABLE_MAIN, libc::RT_SCOPE_LINK, libc::RTN_UNICAST);
    let route = [
        libc::AF_INET as u8,
        24,
        0,
        0,
        table,
        libc::RTPROT_BOOT,
        scope,
        unicast,
    ];
    let mut request = [&route[..], &[0; 4]].concat(); // flags
    request.extend(attribute(libc::RTA_DST, &network.octets()));
    request.extend(attribute(libc::RTA_OIF, &index.to_ne_bytes()));
    request.extend(attribute(METRICS, &metrics.collect::<Vec<_>>()));
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    let mut socket = netlink(libc::NETLINK_ROUTE)?;
    socket.write_all(&message(libc::RTM_NEWROUTE, flags, &request))?;
    let mut answer = [0; 1 << 12];
    let received = socket.read(&mut answer)?;
    refused(answer[..received].get(NLMSG_HEADER..).unwrap_or_default())
}

/// An attribute of a netlink message, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = [(length as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// The length of `struct nlmsghdr`.
pub(crate) const NLMSG_HEADER: usize = 16;

/// A socket to a part of the kernel, in the calling thread's namespace.
pub(crate) fn netlink(family: i32) -> io::Result<File> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is involved.
    owned(unsafe { libc::socket(libc::AF_NETLINK, kind, family) }).map(File::from)
}

/// A netlink message, with its header.
pub(crate) fn message(kind: u16, flags: i32, body: &[u8]) -> Vec<u8> {
    let mut bytes = ((NLMSG_HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((flags as u16).to_ne_bytes());
    bytes.extend([0; 8]); // sequence number, port
    bytes.extend(body);
    bytes
}

/// The error in the body of an `NLMSG_ERROR`; 0 is an acknowledgement.
pub(crate) fn refused(body: &[u8]) -> io::Result<()> {
    let code = body
        .first_chunk()
        .map_or(0, |code| i32::from_ne_bytes(*code));
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

/// Brings an interface up.
pub(crate) fn bring_up(name: &str) -> io::Result<()> {
    let mut request = interface_request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    ioctl(
        socket(libc::SOCK_DGRAM)?.as_raw_fd(),
        libc::SIOCSIFFLAGS,
        &mut request,
    )
}

fn socket(kind: i32) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is involved.
    owned(unsafe { libc::socket(libc::AF_INET, kind, 0) })
}

/// Makes a non-blocking TCP socket. It ends at once with its last descriptor, so no orphan socket
/// keeps the namespace alive.
pub(crate) fn tcp_socket() -> io::Result<OwnedFd> {
    let socket = socket(libc::SOCK_STREAM)?;
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    set_option(&socket, libc::SOL_SOCKET, libc::SO_LINGER, &linger)?;
    Ok(socket)
}

/// Sets a socket option. `value` has the type that the option's manual page names.
pub(crate) fn set_option<T>(
    socket: &OwnedFd,
    level: i32,
    option: i32,
    value: &T,
) -> io::Result<()> {
    let (value, len) = (std::ptr::from_ref(value).cast(), size_of::<T>());
    // SAFETY: `value` has `len` bytes.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, len as u32) })
        .map(drop)
}

/// Chooses a socket's congestion control.
pub(crate) fn set_congestion_control(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let (fd, text) = (socket.as_raw_fd(), name.as_ptr().cast());
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    // SAFETY: the name has that many bytes.
    check(unsafe { libc::setsockopt(fd, level, option, text, name.len() as u32) }).map(drop)
}

fn socket_address(address: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    // SAFETY: zero is a value of every member of this plain struct.
    let mut full: libc::sockaddr_in = unsafe { zeroed() };
    full.sin_family = libc::AF_INET as u16;
    full.sin_port = port.to_be();
    full.sin_addr.s_addr = u32::from(address).to_be();
    full
}

/// Listens for one connection.
pub(crate) fn listen(socket: &OwnedFd, address: Ipv4Addr, port: u16) -> io::Result<()> {
    let (address, len) = (
        socket_address(address, port),
        size_of::<libc::sockaddr_in>(),
    );
    let pointer = std::ptr::from_ref(&address).cast();
    // SAFETY: the address has that many bytes.
    check(unsafe { libc::bind(socket.as_raw_fd(), pointer, len as u32) })?;
    // SAFETY: no memory is involved.
    check(unsafe { libc::listen(socket.as_raw_fd(), 1) }).map(drop)
}

/// Sends the SYN.
pub(crate) fn connect(socket: &OwnedFd, address: Ipv4Addr, port: u16) -> io::Result<()> {
    let (address, len) = (
        socket_address(address, port),
        size_of::<libc::sockaddr_in>(),
    );
    let pointer = std::ptr::from_ref(&address).cast();
    // SAFETY: the address has that many bytes.
    match check(unsafe { libc::connect(socket.as_raw_fd(), pointer, len as u32) }) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    let (fd, flags) = (
        listener.as_raw_fd(),
        libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
    );
    // SAFETY: no address is asked for.
    owned(unsafe { libc::accept4(fd, std::ptr::null_mut(), std::ptr::null_mut(), flags) })
}

/// Writes without waiting. With `more` the last segment may wait for the data that follows.
pub(crate) fn send(socket: &OwnedFd, bytes: &[u8], more: bool) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
    // SAFETY: the slice is readable.
    check_size(unsafe {
        libc::send(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            flags,
        )
    })
}

/// Shuts down writing: the socket sends its FIN after the last byte.
pub(crate) fn shut_down_writing(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR) }).map(drop)
}

/// Discards received data, up to 1 GiB, without a copy. Returns the number of bytes.
pub(crate) fn discard(socket: &OwnedFd) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: with MSG_TRUNC the kernel writes nothing (tcp(7)).
    check_size(unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), 1 << 30, flags) })
}

/// Reads a socket option. Any bytes are a `T`.
fn get_option<T: Default>(socket: &OwnedFd, level: i32, option: i32) -> io::Result<T> {
    let (mut value, mut len) = (T::default(), size_of::<T>() as u32);
    let pointer = std::ptr::from_mut(&mut value).cast();
    // SAFETY: `value` has `len` bytes.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, pointer, &mut len) })?;
    Ok(value)
}

/// The pending error of a connection, if there is one.
pub(crate) fn socket_error(socket: &OwnedFd) -> Option<io::Error> {
    let error = get_option(socket, libc::SOL_SOCKET, libc::SO_ERROR).unwrap_or(0);
    (error != 0).then(|| io::Error::from_raw_os_error(error))
}

/// The cookie of a socket: a number that is unique until the next boot.
pub(crate) fn cookie(socket: &OwnedFd) -> io::Result<u64> {
    get_option(socket, libc::SOL_SOCKET, libc::SO_COOKIE)
}

/// `struct tcp_info` of linux/tcp.h, up to the last member used here. Units: packets, µs, bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    pub(crate) state: u8,
    pub(crate) ca_state: u8,
    pub(crate) retransmits: u8,
    probes_backoff_options_wscale_flags: [u8; 5],
    rto_ato_mss: [u32; 4],
    pub(crate) unacked: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retrans: u32,
    fackets_times_pmtu_rcv_ssthresh: [u32; 7],
    pub(crate) rtt_us: u32,
    rttvar: u32,
    pub(crate) snd_ssthresh: u32,
    pub(crate) snd_cwnd: u32,
    advmss_reordering_rcv: [u32; 4],
    pub(crate) total_retrans: u32,
    pacing_rates: [u64; 2],
    pub(crate) bytes_acked: u64,
    bytes_received: u64,
    segs: [u32; 2],
    pub(crate) notsent_bytes: u32,
    pub(crate) min_rtt_us: u32,
    data_segs_in: u32,
    pub(crate) data_segs_out: u32,
    delivery_rate_busy_time: [u64; 2],
    pub(crate) rwnd_limited_us: u64,
    pub(crate) sndbuf_limited_us: u64,
    pub(crate) delivered: u32,
    delivered_ce: u32,
}

/// Reads the state of a connection.
pub(crate) fn tcp_info(socket: &OwnedFd) -> io::Result<TcpInfo> {
    get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO)
}

/// Reads a packet.
pub(crate) fn read(fd: &OwnedFd, bytes: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the slice is writable.
    check_size(unsafe { libc::read(fd.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) })
}

/// Writes a packet.
pub(crate) fn write(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the slice is readable.
    check_size(unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) })
}

/// Waits until one of the files is readable, at most for the given time.
pub(crate) fn wait_readable(fds: [&OwnedFd; 2], longest_ns: u64) {
    let mut polled = fds.map(|fd| libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    let longest = timespec(longest_ns);
    // SAFETY: the array has that many elements. Whatever ends it, the caller looks again.
    unsafe { libc::ppoll(polled.as_mut_ptr(), 2, &longest, std::ptr::null()) };
}

/// The monotonic time, nanoseconds.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let mut now = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call fills `now`; this clock always exists.
    let now = unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, now.as_mut_ptr());
        now.assume_init()
    };
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

/// Sleeps until this monotonic time.
pub(crate) fn sleep_until(at_ns: u64) {
    let at = timespec(at_ns);
    let (clock, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
    // SAFETY: no remainder is asked for. Whatever ends it, the caller looks again.
    unsafe { libc::clock_nanosleep(clock, absolute, &at, std::ptr::null_mut()) };
}

pub(crate) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / NS_PER_S) as i64,
        tv_nsec: (ns % NS_PER_S) as i64,
    }
}

/// Gives the calling thread real-time priority (SCHED_FIFO).
pub(crate) fn become_realtime(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: `parameters` is what the call reads; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) }).map(drop)
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu_time() -> Duration {
    // SAFETY: zero is a value of this plain struct, which the call then fills.
    let usage = unsafe {
        let mut usage: libc::rusage = zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    };
    [usage.ru_utime, usage.ru_stime]
        .iter()
        .map(|time| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1_000))
        .sum()
}
