//! Delayed ACKs and quick ACKs: how long an ACK may wait, and the timer that ends its wait
//! (`tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack`).

use super::Receiver;

impl Receiver {
    /// `tcp_event_data_recv`: the engine of delayed and quick ACKs sees a segment in order.
    #[inline]
    pub(super) fn data_received(&mut self, pushed: bool) {
        self.scheduled = true;
        self.pushed |= pushed;
        if let Some(rtt) = &mut self.window_rtt {
            rtt.arrives(self.clock.now_ns(), self.rcv_nxt);
        }
        let now = self.clock.jiffies() as u32;
        if now != self.last_arrival || self.ato != self.min_ato {
            self.adapt_delay(now);
        }
        if self.echo.is_some() {
            self.check_ce();
        }
        self.tune(None);
    }

    /// Each ACK tells when it leaves: the sender's algorithm reads the timestamps.
    pub(crate) fn tell_departures(&mut self) {
        (self.tells_departures, self.long_way) = (true, true);
    }

    /// An ACK that left at `left_ns` has reached the sender: data will echo it.
    #[cold]
    pub(crate) fn ack_reaches(&mut self, left_ns: u64, now_ns: u64) {
        if let Some(rtt) = &mut self.rtt {
            rtt.reaches(left_ns, now_ns);
            self.same_echo_until_ns = rtt.same_echo_until_ns();
        }
    }

    /// When the FIN of this end is sent again, jiffies: by a probe for a loss (`tcp_schedule_loss_probe`, of one
    /// packet), and by the timeout, which is that of the handshake's RTT.
    pub(crate) fn fin_timeouts(&self) -> (u64, u64) {
        let (rto, rto_min) = (
            self.rto.into(),
            self.clock.jiffies_of_us(self.rto_min_us.into()),
        );
        // The probe comes first only where the timeout is three RTTs, and waits for two and its least.
        (2 * rto / 3 + rto_min, rto)
    }

    /// `tcp_enter_quickack_mode`
    pub(super) fn enter_quick_ack_mode(&mut self, acks: u32) {
        self.quick_acks = self.quick_acks.max(acks);
        self.ato = self.min_ato;
    }

    #[inline(always)]
    fn adapt_delay(&mut self, now: u32) {
        let most = match &self.tuned {
            Some(tuned) => tuned.quick_acks(self.max_quick_acks),
            None => self.max_quick_acks,
        };
        if self.ato == 0 {
            // The window still grows (`tcp_grow_window`): one more than usual. One that is tuned says so.
            self.quick_acks = most | u32::from(self.tuned.is_none() && self.advertised.grows());
            self.ato = self.min_ato;
        } else {
            let pause = now.wrapping_sub(self.last_arrival);
            if pause <= self.min_ato / 2 {
                self.ato = (self.ato >> 1) + self.min_ato / 2;
            } else if pause < self.ato {
                self.ato = ((self.ato >> 1) + pause).min(self.most_ato);
            } else if pause > self.rto {
                // The sender may be in slow start again.
                self.quick_acks = self.quick_acks.max(most);
            }
        }
        self.last_arrival = now;
    }

    /// The first test of `__tcp_ack_snd_check`: enough has arrived, unless a reader of a clamped
    /// window will read it now, and send the ACK.
    #[inline]
    pub(super) fn has_enough(&self) -> bool {
        self.rcv_nxt - self.last_ack_sent >= self.enough
            && !(self.will_read() && self.leaves_to_reader())
    }

    /// An ACK of more than a segment would offer less than the last one did, unless data is read.
    #[inline]
    fn leaves_to_reader(&self) -> bool {
        self.clamped || (self.tuned.as_ref()).is_some_and(|tuned| !tuned.keeps_up())
    }

    /// The other tests.
    #[inline]
    pub(super) fn acknowledges_each(&self) -> bool {
        self.quick_acks > 0 || self.segments_per_ack == 1 || self.acks_now
    }

    /// `tcp_send_delayed_ack`. Each first segment after an ACK arms the timer anew, and so does one that
    /// would have it fire earlier. Returns whether the ACK leaves at once: a slow reader leaves the ACKs of
    /// more segments to the timer, too, and one that fires soon is not waited for.
    #[inline(always)]
    pub(super) fn delay_ack(&mut self) -> bool {
        let mut delay = self.ato;
        if delay > self.unbounded_ato {
            let (pushed, usual) = self.max_delay;
            delay = delay.min(if self.pushed { pushed } else { usual });
        }
        if self.delayed {
            let (armed, armed_delay) = self.armed;
            let waited = (self.clock.jiffies() as u32).wrapping_sub(armed);
            let soon = waited + (delay >> 2) >= armed_delay && self.reads_slowly();
            if soon || waited + delay >= armed_delay {
                return soon;
            }
        }
        self.delayed = true;
        self.arm(delay);
        false
    }

    /// Arms the timer of delayed ACKs for so many jiffies.
    #[inline]
    pub(super) fn arm(&mut self, delay: u32) {
        let armed = (self.clock.jiffies() as u32, delay);
        if self.armed != armed {
            self.armed = armed;
            self.delayed_ack_at_ns = self.clock.fires_ns(delay.into());
        }
    }
}
