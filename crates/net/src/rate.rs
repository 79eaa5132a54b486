//! When the service of a packet ends.

/// Upper bound of the size of an ACK.
const SMALL_BYTES: u32 = 100;

/// A wire of constant rate that carries one packet after another.
#[derive(Clone, Debug)]
pub struct ConstantRate {
    rate_bps: u64,
    /// When the last bit of the last packet leaves: the whole nanoseconds …
    free_at_ns: u64,
    /// … and the remainder, in units of 1/rate nanoseconds. So rounding loses no time.
    free_at_rest: u64,
    /// Size, service time and remainder of the last small packet, and of the last large packet.
    service: [(u32, u64, u64); 2],
}

impl ConstantRate {
    /// An idle wire.
    pub fn new(rate_bps: u64) -> Self {
        Self {
            rate_bps,
            free_at_ns: 0,
            free_at_rest: 0,
            service: [(0, 0, 0); 2],
        }
    }

    /// Serves a packet that is ready now, after all packets before it. Returns when its last bit
    /// leaves.
    #[inline]
    pub fn serve(&mut self, now_ns: u64, bytes: u32) -> u64 {
        if self.free_at_ns < now_ns {
            (self.free_at_ns, self.free_at_rest) = (now_ns, 0);
        }
        let service = &mut self.service[usize::from(bytes > SMALL_BYTES)];
        if service.0 != bytes {
            let bits_ns = u128::from(bytes) * 8 * 1_000_000_000;
            let rate = u128::from(self.rate_bps);
            *service = (bytes, (bits_ns / rate) as u64, (bits_ns % rate) as u64);
        }
        self.free_at_ns += service.1;
        self.free_at_rest += service.2;
        if self.free_at_rest >= self.rate_bps {
            self.free_at_rest -= self.rate_bps;
            self.free_at_ns += 1;
        }
        self.free_at_ns
    }
}
