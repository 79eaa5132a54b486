//! The window that a receiver offers (`tcp_select_window`), as far as it decides on ACKs.
//!
//! Linux offers a right edge with the SYN-ACK. Then the application asks for a smaller window
//! (`TCP_WINDOW_CLAMP`). The right edge never moves back, so the offered window falls with the data,
//! in steps of the unit of the window field, until it is down to the one that the application wants.
//! Until then an ACK of a step or more changes the window field, and a reader that will read at once
//! sends the ACK, and not TCP (`__tcp_select_window() >= rcv_wnd` in `__tcp_ack_snd_check`).

/// What `__tcp_select_window` rounds the largest window to: the unit of its field is 2¹⁴ bytes.
const MOST_SHIFT: u32 = 14;
/// A window with this many bits has a unit of one byte.
const UNSCALED_BITS: u32 = 15;
/// The first segment lets the window grow by two segments (`tcp_grow_window`), before the
/// application has read it and asked for less.
pub(super) const GROWTH_SEGMENTS: u64 = 2;
/// What an `sk_buff` of one segment takes beside its data.
const OVERHEAD_BYTES: u64 = 960;
/// Of a receive buffer of 256 MiB half is offered, in whole segments, and the application asks for
/// 120 MB. The buffer is that of the virtual Linux and of our testbed.
const OFFERED_BYTES: u64 = 1 << 27;
const WANTED_BYTES: u64 = 120_000_000;

/// Largest window field without scaling, which is all that the handshake shows.
pub(super) const UNSCALED_BYTES: u64 = 65_535;

/// Packets of the window that the handshake shows. An application that writes no more than these at
/// first sends no short packet of what is left of the window (`tcp_mss_split_point`).
pub(super) fn handshake_packets(segment_bytes: u64, segments: u64) -> u64 {
    segments.min(UNSCALED_BYTES / segment_bytes)
}

/// Packets of the window of a receiver without a limit.
pub(super) const fn most_packets(segment_bytes: u64) -> u64 {
    OFFERED_BYTES / segment_bytes
}

/// Bytes that the first ACK offers, of a receiver that offers `segments` in the handshake (`u64::MAX`:
/// no limit).
pub(super) fn first_bytes(segment_bytes: u64, segments: u64) -> u64 {
    let (offered, shift, growth) = match segments {
        u64::MAX => (OFFERED_BYTES, MOST_SHIFT, growth_segments(segment_bytes)),
        _ => {
            let bytes = segments * segment_bytes;
            (bytes, shift_of(bytes), GROWTH_SEGMENTS)
        }
    };
    let offered = offered - offered % segment_bytes + growth * segment_bytes;
    offered.div_ceil(1 << shift) << shift
}

/// By how many segments the first one lets a window without a limit grow. The share of the buffer that it may
/// take is that of the data in the segment's memory, in 1/256 (`scaling_ratio`, `tcp_measure_rcv_mss`). With
/// small segments this is no more than the half that is offered.
fn growth_segments(segment_bytes: u64) -> u64 {
    let scaling_ratio = 256 * segment_bytes / (segment_bytes + OVERHEAD_BYTES);
    if scaling_ratio > 128 {
        GROWTH_SEGMENTS
    } else {
        0
    }
}

/// The unit of a window of so many bytes is 2^shift.
pub(super) fn shift_of(bytes: u64) -> u32 {
    let shift = bytes.max(1).ilog2().saturating_sub(UNSCALED_BITS);
    shift.min(MOST_SHIFT)
}

/// The window that a receiver advertises.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdvertisedWindow {
    segment_bytes: u32,
    /// By so many units it is above what the application wants.
    above: u16,
    /// A unit has 2^shift bytes.
    shift: u8,
    /// The first segment lets it grow.
    grows: bool,
}

impl AdvertisedWindow {
    /// Of an application that wants as much as the buffer has room for: no window limits.
    pub(super) fn unlimited(segment_bytes: u32) -> Self {
        let growth = growth_segments(segment_bytes.into());
        Self::new(
            segment_bytes,
            OFFERED_BYTES,
            WANTED_BYTES,
            MOST_SHIFT,
            growth,
        )
    }

    /// Of one that wants so many bytes.
    pub(super) fn at_most(segment_bytes: u32, bytes: u64) -> Self {
        Self::new(
            segment_bytes,
            bytes,
            bytes,
            shift_of(bytes),
            GROWTH_SEGMENTS,
        )
    }

    fn new(segment_bytes: u32, offered: u64, wanted: u64, shift: u32, growth: u64) -> Self {
        let mss = u64::from(segment_bytes);
        let offered = offered - offered % mss + growth * mss;
        let units = |bytes: u64| bytes.div_ceil(1 << shift);
        Self {
            segment_bytes,
            above: u16::try_from(units(offered) - units(wanted)).unwrap_or(u16::MAX),
            shift: shift as u8,
            grows: growth > 0,
        }
    }

    /// Whether the first segment lets it grow.
    pub(super) fn grows(&self) -> bool {
        self.grows
    }

    /// A segment out of order lets it grow (`tcp_grow_window`), before the application has asked for less.
    pub(super) fn grow(&mut self) {
        if self.grows {
            let bytes = GROWTH_SEGMENTS * u64::from(self.segment_bytes);
            self.above = self.above.saturating_add((bytes >> self.shift) as u16);
        }
    }

    /// Bytes of a segment.
    pub(super) fn segment_bytes(&self) -> u32 {
        self.segment_bytes
    }

    /// Whether it is above what the application wants.
    pub(super) fn is_above(&self) -> bool {
        self.above > 0
    }

    /// Whether an ACK for so many more segments lets it fall, if it is above.
    pub(super) fn falls_with(&self, segments: u64) -> bool {
        (segments * u64::from(self.segment_bytes)) >> self.shift > 0
    }

    /// An ACK for so many more segments leaves. Returns whether its window field changes.
    pub(super) fn acknowledges(&mut self, segments: u64) -> bool {
        let bytes = segments * u64::from(self.segment_bytes);
        let steps = bytes >> self.shift;
        let changes = steps > 0 && self.is_above();
        self.above = u64::from(self.above).saturating_sub(steps) as u16;
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 134 216 568 bytes are offered, and 2 segments more; 120 000 000 are wanted: 8193 and 7325 units
    /// of 16 KiB. 12 segments are one unit, and 23 are two.
    #[test]
    fn the_window_falls_in_steps() {
        let mut window = AdvertisedWindow::unlimited(1448);
        assert!(!window.acknowledges(11));
        assert_eq!(window.above, 868);
        assert!(window.acknowledges(12) && window.acknowledges(23));
        assert_eq!(window.above, 865);
        assert!((0..865).all(|_| window.is_above() && window.acknowledges(12)));
        assert!(!window.is_above() && !window.acknowledges(100));
    }

    /// 976 of 976 + 960 bytes are 129/256, more than the half that is offered; 975 are 128/256.
    #[test]
    fn small_segments_let_no_window_grow() {
        let grow = |mss| AdvertisedWindow::unlimited(mss).grows();
        assert_eq!([536, 975, 976, 1448].map(grow), [false, false, true, true]);
        assert!(AdvertisedWindow::at_most(536, 64 * 536).grows());
        let unscaled = OFFERED_BYTES - OFFERED_BYTES % 536;
        assert!(first_bytes(536, u64::MAX) - unscaled < 1 << MOST_SHIFT);
    }

    /// Of 1448 bytes 45 whole packets fit, of 8948 bytes 7.
    #[test]
    fn the_handshake_shows_no_more_than_64_kib() {
        let packets = |mss, window| handshake_packets(mss, window);
        assert_eq!([packets(1448, u64::MAX), packets(1448, 12)], [45, 12]);
        assert_eq!([packets(8948, u64::MAX), packets(8948, 2)], [7, 2]);
    }

    /// A window of 640 segments has a unit of 16 bytes: 181 of them above. Each ACK of a segment takes
    /// 90 off. One of 20 segments has a unit of a byte.
    #[test]
    fn a_small_window_falls_at_once() {
        let mut window = AdvertisedWindow::at_most(1448, 640 * 1448);
        assert_eq!(window.above, 181);
        assert!((0..3).all(|_| window.acknowledges(1)));
        assert!(!window.is_above());
        let mut window = AdvertisedWindow::at_most(1448, 20 * 1448);
        assert!(window.acknowledges(2) && !window.acknowledges(2));
    }
}
