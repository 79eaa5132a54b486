//! How the sender finds lost segments: by time ([`Rack`]), by distance ([`Fack`]), by the number of SACKed
//! segments ([`DupThresh`]), or without SACK by duplicate ACKs ([`NewReno`]). At the tail of a flow a probe helps ([`Tlp`]).

mod dup_thresh;
mod fack;
mod new_reno;
mod rack;
mod reordering;
mod tlp;

pub(super) use dup_thresh::DupThresh;
pub(super) use fack::Fack;
pub(super) use new_reno::NewReno;
pub(super) use rack::Rack;
pub(super) use tlp::{Answer, Tlp};

use super::constants::REORDERING;
use super::host::Host;
use super::scoreboard::{Scoreboard, SentOrder};
use reordering::Reordering;

/// A kernel's way to find losses.
#[derive(Clone, Copy, Debug)]
pub(super) enum LossDetection {
    /// RACK (RFC 8985): a segment is lost if it was sent sufficiently before a delivered segment.
    Rack(Rack),
    /// FACK: a segment is lost if it is three segments or more below the highest SACK.
    Fack(Fack),
    /// Without RACK: a segment is lost if enough segments above it are SACKed.
    DupThresh(DupThresh),
    /// NewReno: the connection has no SACK.
    NewReno(NewReno),
}

impl LossDetection {
    /// What a connection without SACK has (`tcp_is_reno`).
    #[inline]
    pub(super) fn new_reno(&mut self) -> Option<&mut NewReno> {
        match self {
            Self::NewReno(new_reno) => Some(new_reno),
            _ => None,
        }
    }

    /// What a connection with SACK has without RACK.
    #[inline]
    pub(super) fn dup_thresh(&self) -> Option<DupThresh> {
        match self {
            Self::DupThresh(thresh) => Some(*thresh),
            _ => None,
        }
    }

    /// Whether the connection has SACK.
    #[inline]
    pub(super) fn has_sack(&self) -> bool {
        !matches!(self, Self::NewReno(_))
    }

    /// Notes delivered transmissions: the most recently sent one, and when the last that the ACK
    /// delivered was sent.
    #[inline]
    pub(super) fn on_delivered(&mut self, now_ns: u64, newest: SentOrder, last_sent_ns: u64) {
        match self {
            Self::Rack(rack) => rack.on_delivered(now_ns, newest, last_sent_ns),
            Self::Fack(_) | Self::DupThresh(_) | Self::NewReno(_) => (),
        }
    }

    /// What [`on_delivered`](Self::on_delivered) and [`adapt`](Self::adapt) do with an ACK that only
    /// advances, and has delivered `newest` last of all.
    #[inline]
    pub(super) fn on_plain_ack(&mut self, now_ns: u64, newest: SentOrder) {
        if let Self::Rack(rack) = self {
            rack.on_delivered(now_ns, newest, newest.0);
            rack.adapt(now_ns, newest.0);
        }
    }

    /// An ACK has delivered what was sent at `sent_ns`, last of all.
    #[inline]
    pub(super) fn adapt(&mut self, now_ns: u64, sent_ns: u64) {
        if let Self::Rack(rack) = self {
            rack.adapt(now_ns, sent_ns);
        }
    }

    /// Marks the segments that an ACK shows to be lost. Returns when to look again without an ACK, µs.
    pub(super) fn detect(
        &mut self,
        board: &mut Scoreboard,
        host: &mut Host,
        min_rtt_us: u32,
    ) -> Option<u64> {
        match self {
            Self::Rack(rack) => rack.detect(board, host, min_rtt_us),
            Self::Fack(fack) => {
                fack.detect(board, host);
                None
            }
            Self::DupThresh(_) | Self::NewReno(_) => None,
        }
    }

    /// Marks the segments that time shows to be lost: the reordering timer has fired.
    pub(super) fn detect_by_timer(&self, board: &mut Scoreboard, host: &mut Host, min_rtt_us: u32) {
        if let Self::Rack(rack) = self {
            rack.judge(board, host, min_rtt_us);
        }
    }

    /// After a timeout: marks all segments as lost that are not SACKed and old enough.
    pub(super) fn detect_after_timeout(&self, board: &mut Scoreboard, host: &mut Host) {
        let now_us = host.now_us();
        match self {
            Self::Rack(rack) => {
                board.mark_all_lost(host.counts(), |sent_ns| rack.spares(now_us, sent_ns));
            }
            Self::Fack(_) | Self::DupThresh(_) => {
                board.mark_all_lost(host.counts(), |_| false);
            }
            Self::NewReno(_) => {
                host.counts().assume_sacked(0);
                board.mark_all_lost(host.counts(), |_| false);
            }
        }
    }

    /// Notes that the path reorders packets, and by how many.
    pub(super) fn note_reordering(&mut self, segments: u64) {
        match self {
            Self::Rack(rack) => rack.note_reordering(segments),
            Self::DupThresh(thresh) => thresh.reordering.note(segments),
            Self::NewReno(new_reno) => new_reno.reordering.note(segments),
            Self::Fack(_) => (),
        }
    }

    /// By how many segments the path is assumed to reorder (`tp->reordering`).
    pub(super) fn reordering(&self) -> u32 {
        match self {
            Self::Rack(rack) => rack.reordering(),
            Self::DupThresh(thresh) => thresh.reordering.segments(),
            Self::NewReno(new_reno) => new_reno.reordering.segments(),
            Self::Fack(_) => REORDERING,
        }
    }

    /// Whether the path reorders by more segments than usual.
    pub(super) fn reorders_much(&self) -> bool {
        self.reordering() > REORDERING
    }

    /// Notes a timeout in spite of many duplicates.
    pub(super) fn doubt_reordering(&mut self) {
        match self {
            Self::Rack(rack) => rack.doubt_reordering(),
            Self::DupThresh(thresh) => thresh.reordering = Reordering::new(),
            Self::Fack(_) | Self::NewReno(_) => (),
        }
    }

    /// Notes a D-SACK of a retransmission that no probe was.
    pub(super) fn note_duplicate(&mut self) {
        if let Self::Rack(rack) = self {
            rack.note_duplicate();
        }
    }

    /// Notes the end of a recovery that was needed, or that D-SACKs have shown to be needless.
    pub(super) fn note_recovery(&mut self, needed: bool) {
        if let Self::Rack(rack) = self {
            rack.note_recovery(needed);
        }
    }

    /// Judges all segments again, because marks were removed.
    pub(super) fn judge_anew(&mut self) {
        if let Self::Rack(rack) = self {
            rack.judge_anew();
        }
    }
}
