//! What happens to packets on their way to a queue.

/// Drops every Nth packet: losses at a known rate that no queue causes.
#[derive(Clone, Copy, Debug)]
pub struct EveryNth {
    every: u64,
    /// Packets until the next drop, that one included.
    left: u64,
}

impl EveryNth {
    /// Drops packet N, 2N, …; drops none with `None`.
    pub fn new(every_packets: Option<u64>) -> Self {
        let every = every_packets.unwrap_or(u64::MAX);
        Self { every, left: every }
    }

    /// Whether the next packet is dropped.
    #[inline]
    pub fn drops(&mut self) -> bool {
        self.left -= 1;
        let drops = self.left == 0;
        if drops {
            self.left = self.every;
        }
        drops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_n_2n_and_so_on() {
        for (every, expected) in [
            (Some(2), vec![2, 4, 6]),
            (Some(3), vec![3, 6]),
            (None, vec![]),
        ] {
            let mut loss = EveryNth::new(every);
            let dropped: Vec<_> = (1..8).filter(|_| loss.drops()).collect();
            assert_eq!(dropped, expected);
        }
    }
}
