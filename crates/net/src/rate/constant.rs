//! A rate that does not change.

/// A wire of constant rate that carries one packet after another, or a token bucket. Its tokens grow
/// at the rate of the wire, up to `burst_bytes`, and a packet leaves as soon as there are tokens for
/// all its bytes. A wire is a bucket that keeps no tokens while it is idle. A bucket counts time as
/// Linux's `tbf`.
#[derive(Clone, Debug)]
pub struct ConstantRate {
    rate_bps: u64,
    burst_bytes: u64,
    /// How long an idle wire takes to fill the bucket.
    fills_in_ns: i64,
    /// When the last bit of the last packet leaves a wire; when a bucket is empty. The whole
    /// nanoseconds; negative, because a bucket is full at the start …
    free_at_ns: i64,
    /// … and the remainder, in units of 1/rate nanoseconds. So rounding loses no time.
    free_at_rest: u64,
    /// Of the last small packet, and of the last large one: data and ACKs take turns.
    services: [Service; 2],
}

/// Packets of fewer bytes are ACKs, others data.
const LARGE_BYTES: u32 = 256;

/// How long the wire takes for a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Service {
    bytes: u32,
    ns: u64,
    /// The remainder, in units of 1/rate nanoseconds.
    rest: u64,
}

impl ConstantRate {
    /// An idle wire, or a full bucket.
    pub fn new(rate_bps: u64, burst_bytes: u64) -> Self {
        let fills_in_ns = TokenTime::new(rate_bps).ns(burst_bytes);
        Self {
            rate_bps,
            burst_bytes,
            fills_in_ns,
            free_at_ns: -fills_in_ns,
            free_at_rest: 0,
            services: Default::default(),
        }
    }

    /// Gives it another rate from `at_ns` on. What is left of a packet in service takes the new rate, and
    /// a bucket keeps its tokens.
    #[cold]
    pub fn change(&mut self, at_ns: u64, rate_bps: u64) {
        self.forget(at_ns);
        // What is left to serve, in 10⁻⁹ bits; less than nothing are tokens.
        let (old, new) = (i128::from(self.rate_bps), i128::from(rate_bps));
        let owed_ns = i128::from(self.free_at_ns) - i128::from(at_ns);
        let owed = owed_ns * old + i128::from(self.free_at_rest);
        self.free_at_ns = at_ns as i64 + at_most(owed.div_euclid(new));
        self.free_at_rest = owed.rem_euclid(new) as u64;
        self.fills_in_ns = at_most(i128::from(self.fills_in_ns) * old / new);
        self.rate_bps = rate_bps;
        self.services = Default::default();
    }

    /// Fills the bucket at `at_ns`, and gives it another rate (`tbf_change`).
    #[cold]
    pub fn refill(&mut self, at_ns: u64, rate_bps: u64) {
        *self = Self::new(rate_bps, self.burst_bytes);
        self.free_at_ns += at_ns as i64;
    }

    /// Stops it from one time to another: nothing leaves, and a bucket gets no tokens.
    #[cold]
    pub fn pause(&mut self, from_ns: u64, to_ns: u64) {
        self.forget(from_ns);
        self.free_at_ns += (to_ns - from_ns) as i64;
    }

    /// Keeps no more tokens than there is room for: a wire keeps none while it is idle.
    fn forget(&mut self, now_ns: u64) {
        let full_ns = now_ns as i64 - self.fills_in_ns;
        if self.free_at_ns < full_ns {
            (self.free_at_ns, self.free_at_rest) = (full_ns, 0);
        }
    }

    /// When the last bit of the last packet leaves a wire that serves one.
    pub fn free_at_ns(&self) -> u64 {
        self.free_at_ns as u64
    }

    /// Serves a packet that is ready now, after all packets before it. Returns when its last bit
    /// leaves.
    #[inline]
    pub fn serve(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let [leaves_ns] = self.serve_all(now_ns, bytes);
        leaves_ns
    }

    /// Serves packets of one size that are ready now, one behind the other, after all packets before
    /// them. Returns when the last bit of each leaves.
    #[inline(always)]
    pub fn serve_all<const N: usize>(&mut self, now_ns: u64, bytes: u32) -> [u64; N] {
        // A wire that is idle has kept nothing.
        if self.free_at_ns < now_ns as i64 {
            if self.fills_in_ns > 0 {
                return self.serve_from_bucket(now_ns, bytes);
            }
            (self.free_at_ns, self.free_at_rest) = (now_ns as i64, 0);
        }
        self.take(bytes).map(|free_at_ns| free_at_ns as u64)
    }

    /// As [`serve_all`](Self::serve_all), of a bucket with tokens, or of a wire, which keeps none.
    #[inline(never)]
    pub fn serve_from_bucket<const N: usize>(&mut self, now_ns: u64, bytes: u32) -> [u64; N] {
        self.forget(now_ns);
        self.take(bytes)
            .map(|free_at_ns: i64| free_at_ns.max(now_ns as i64) as u64)
    }

    /// Takes the time of packets of one size. Returns its end for each.
    #[inline(always)]
    fn take<const N: usize>(&mut self, bytes: u32) -> [i64; N] {
        let service = &mut self.services[usize::from(bytes >= LARGE_BYTES)];
        if service.bytes != bytes {
            *service = match self.burst_bytes {
                0 => Service::new(bytes, self.rate_bps),
                _ => Service::of_tokens(bytes, self.rate_bps),
            };
        }
        let (mut free_at_ns, mut free_at_rest) = (self.free_at_ns, self.free_at_rest);
        let ends_ns = [(); N].map(|()| {
            free_at_ns += service.ns as i64;
            free_at_rest += service.rest;
            if free_at_rest >= self.rate_bps {
                free_at_rest -= self.rate_bps;
                free_at_ns += 1;
            }
            free_at_ns
        });
        (self.free_at_ns, self.free_at_rest) = (free_at_ns, free_at_rest);
        ends_ns
    }
}

/// Nanoseconds that fit: 73 years each way, beyond every run.
fn at_most(ns: i128) -> i64 {
    const MOST_NS: i128 = 1 << 61;
    ns.clamp(-MOST_NS, MOST_NS) as i64
}

/// How long bytes of tokens take (`psched_ratecfg_precompute`): the time of a byte has 32 significant bits,
/// and the rate is whole bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenTime {
    byte: u64,
    shift: u32,
}

impl TokenTime {
    pub(super) fn new(rate_bps: u64) -> Self {
        const NS_PER_S: u64 = 1_000_000_000;
        let bytes_per_s = (rate_bps / 8).max(1);
        let most = NS_PER_S.leading_zeros();
        let enough = |&shift: &u32| (NS_PER_S << shift) / bytes_per_s >= 1 << 31;
        let shift = (0..most).find(enough).unwrap_or(most);
        let byte = (NS_PER_S << shift) / bytes_per_s;
        Self { byte, shift }
    }

    /// Of so many bytes, ns; parts are cut off (`psched_l2t_ns`).
    pub(super) fn ns(self, bytes: u64) -> i64 {
        at_most(((u128::from(bytes) * u128::from(self.byte)) >> self.shift) as i128)
    }
}

impl Service {
    #[inline(never)]
    fn of_tokens(bytes: u32, rate_bps: u64) -> Self {
        Self {
            bytes,
            ns: TokenTime::new(rate_bps).ns(bytes.into()) as u64,
            rest: 0,
        }
    }

    #[inline(never)]
    fn new(bytes: u32, rate_bps: u64) -> Self {
        let bits_ns = u128::from(bytes) * 8 * 1_000_000_000;
        let rate = u128::from(rate_bps);
        Self {
            bytes,
            ns: (bits_ns / rate) as u64,
            rest: (bits_ns % rate) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// 12 Mb/s: a packet of 1500 bytes takes 1 ms.
    #[test]
    fn a_wire_takes_its_time_after_each_pause() {
        let mut wire = ConstantRate::new(12_000_000, 0);
        let left = [0, 0, 10 * MS, 10 * MS].map(|at_ns| wire.serve(at_ns, 1500));
        assert_eq!(left, [MS, 2 * MS, 11 * MS, 12 * MS]);
    }

    /// 600 Mb/s are 13 1/3 ns a byte: 1500 bytes take 19 999.99… ns, of which tbf counts 19 999. At 1 Tb/s
    /// 12 ns become 11.
    #[test]
    fn a_bucket_counts_as_tbf() {
        let times =
            [600_000_000, 10_000_000, 8, 1_000_000_000_000].map(|bps| TokenTime::new(bps).ns(1500));
        assert_eq!(times, [19_999, 1_200_000, 1_500_000_000_000, 11]);
        let mut bucket = ConstantRate::new(600_000_000, 1500);
        let left = [0; 4].map(|at_ns| bucket.serve(at_ns, 1500));
        assert_eq!(left, [0, 19_999, 39_998, 59_997]);
    }

    /// 8 Mb/s. After an idle time the first packet leaves a bucket of 1650 bytes at once. 150 bytes of
    /// tokens are left, so the second waits for the time of 1350 bytes, and later ones for 1500.
    #[test]
    fn a_bucket_has_kept_its_tokens() {
        let us = |us: u64| us * 1_000;
        let mut bucket = ConstantRate::new(8_000_000, 1650);
        let left = [us(10_000); 3].map(|at_ns| bucket.serve(at_ns, 1500));
        assert_eq!(left, [10_000, 11_350, 12_850].map(us));
        // 750 us after the bucket was empty it has tokens for 750 bytes.
        assert_eq!(bucket.serve(us(13_600), 1500), us(14_350));
        // As with `tbf`, it is full at the start.
        let mut bucket = ConstantRate::new(8_000_000, 1650);
        let left = [0; 2].map(|at_ns| bucket.serve(at_ns, 1500));
        assert_eq!(left, [0, 1_350].map(us));
    }
}
