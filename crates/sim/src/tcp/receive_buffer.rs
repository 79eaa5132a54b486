//! The receive buffer whose room is the window, and the window that a connection begins with
//! (`tcp_select_initial_window`).

use super::advertised_window;
use super::write_queue::PACKET_OVERHEAD_BYTES;

/// The second of `tcp_rmem`: the buffer at first.
const FIRST_BYTES: u64 = 131_072;
/// `net.core.rmem_max`, which bounds the unit of the window field from below.
const RMEM_MAX_BYTES: u64 = 212_992;
const MOST_SHIFT: u32 = 14;
/// `TCP_RMEM_TO_WIN_SCALE`
pub(super) const RATIO_BITS: u32 = 8;
/// `TCP_DEFAULT_SCALING_RATIO`, until the first segment has come.
pub(super) const FIRST_RATIO: u64 = 1 << (RATIO_BITS - 1);
/// `TCP_MSS_DEFAULT`: segments that are no larger leave the ratio as it is.
const MSS_DEFAULT: u64 = 536;

/// `scaling_ratio`: the share of data in a buffer of full packets, in 256ths.
pub(super) const fn data_256ths(mss: u64) -> u64 {
    match mss > MSS_DEFAULT {
        true => (mss << RATIO_BITS) / (mss + PACKET_OVERHEAD_BYTES),
        false => FIRST_RATIO,
    }
}

/// A receive buffer whose room is the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveBuffer {
    /// Linux tunes it, up to so many bytes (`tcp_rmem`).
    Tuned(u64),
    /// So many bytes (`SO_RCVBUF`).
    Fixed(u64),
}

impl ReceiveBuffer {
    /// The unit of the window field is 2^shift (`tcp_select_initial_window`).
    pub(crate) fn shift(self) -> u32 {
        match self {
            Self::Tuned(most) => (most.max(RMEM_MAX_BYTES).ilog2() - 15).min(MOST_SHIFT),
            Self::Fixed(bytes) => advertised_window::shift_of(bytes / 2),
        }
    }

    pub(super) fn first_bytes(self) -> u64 {
        match self {
            Self::Tuned(most) => most.min(FIRST_BYTES),
            Self::Fixed(bytes) => bytes,
        }
    }

    /// The window that the SYN-ACK offers, bytes: half of the first buffer, in whole segments.
    pub(super) fn first_window(self, mss: u64) -> u64 {
        let window = self.first_bytes() / 2 / mss * mss;
        match self {
            Self::Tuned(_) => window.min(advertised_window::UNSCALED_BYTES),
            Self::Fixed(_) => window,
        }
    }

    /// What its field, which has no unit, shows of that.
    pub(crate) fn shown_bytes(self, mss: u64) -> u64 {
        self.first_window(mss)
            .min(advertised_window::UNSCALED_BYTES)
    }

    /// The largest window, bytes, once the buffer has grown (`tcp_win_from_space`).
    pub fn most_window(self, mss: u64) -> u64 {
        let (Self::Tuned(bytes) | Self::Fixed(bytes)) = self;
        (bytes * data_256ths(mss)) >> RATIO_BITS
    }

    /// Up to how many bytes it grows; 0: it does not.
    pub(super) fn grows_to(self) -> u64 {
        match self {
            Self::Tuned(most) => most,
            Self::Fixed(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of 256 bytes 153 are data, 231 with large segments, and half with small ones.
    #[test]
    fn the_largest_window() {
        let most = |mss| ReceiveBuffer::Tuned(6 << 20).most_window(mss);
        assert_eq!([1448, 8948, 536].map(most), [3_760_128, 5_677_056, 3 << 20]);
    }

    #[test]
    fn units_of_the_window_field() {
        let tuned = |most| ReceiveBuffer::Tuned(most).shift();
        assert_eq!([1, 6 << 20, 32 << 20].map(tuned), [2, 7, 10]);
        assert_eq!(tuned(1 << 30), MOST_SHIFT);
        let fixed = |window: u64| ReceiveBuffer::Fixed(2 * window).shift();
        assert_eq!([48_000, 65_536, 300_000].map(fixed), [0, 1, 3]);
    }
}
