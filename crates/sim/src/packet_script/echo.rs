//! The timestamps that the other end echoes.

use super::Range;

/// The timestamp that an ACK echoes (RFC 7323): that of the first segment that it newly
/// acknowledges; an ACK that acknowledges none repeats the last echo.
#[derive(Debug, Default)]
pub struct Echo {
    una: u64,
    echo: u64,
    /// Of each segment: the timestamp of the first and of the last transmission.
    stamps: Vec<(u64, u64)>,
}

impl Echo {
    /// `stamp`: of the handshake.
    pub fn new(stamp: u64) -> Self {
        Self {
            echo: stamp,
            ..Self::default()
        }
    }

    /// Notes a burst with this timestamp.
    pub fn sent(&mut self, (first, end): Range, stamp: u64) {
        for segment in first as usize..end as usize {
            if segment < self.stamps.len() {
                self.stamps[segment].1 = stamp;
            } else {
                self.stamps.resize(segment + 1, (stamp, stamp));
            }
        }
    }

    /// The timestamp for an ACK. A script may acknowledge what was never sent: then its answers
    /// differ anyway.
    pub fn timestamp(&mut self, ack: u64, original: bool) -> u64 {
        if ack > self.una {
            if let Some((first, last)) = self.stamps.get(self.una as usize) {
                self.echo = if original { *first } else { *last };
            }
            self.una = ack;
        }
        self.echo
    }
}
