//! What links and routes must be beside the ranges of their fields.

use super::error::{check, within};
use super::{Direction, Scenario, ScenarioError};
use ackclock_net::buffer::Buffer;
use ackclock_net::impair::Loss;
use ackclock_net::link::{Bottleneck, Place};
use ackclock_net::queue::QueueKind;
use ackclock_net::rate::Trace;

/// The least rate of a link that is not dead.
pub(super) const LEAST_BPS: u64 = 1_000;

impl Scenario {
    pub(super) fn validate_link(&self, of: &str, link: &Bottleneck) -> Result<(), ScenarioError> {
        let name = |field: &str| format!("{of}.{field}");
        let packet = u64::from(self.packet_bytes());
        let room = format!("give room for a packet, at least {packet}");
        if let Buffer::Bytes(bytes) = link.buffer {
            check(bytes >= packet, &name("buffer.bytes"), bytes, &room)?;
        }
        let burst = link.burst_bytes;
        check(
            burst == 0 || burst >= packet,
            &name("burst_bytes"),
            burst,
            &room,
        )?;
        if let Some(policer) = link.policer {
            check(
                policer.burst_bytes >= packet,
                &name("policer.burst_bytes"),
                policer.burst_bytes,
                &room,
            )?;
        }
        let in_order = |field: &str, times_ns: Vec<u64>| {
            let wrong = (1..times_ns.len()).find(|&each| times_ns[each - 1] >= times_ns[each]);
            let each = wrong.unwrap_or(0);
            check(
                wrong.is_none(),
                &name(&format!("{field}[{each}].time_ns")),
                times_ns.get(each).copied().unwrap_or_default(),
                "each change comes after the one before it",
            )
        };
        in_order(
            "rate_at",
            link.rate_at.iter().map(|step| step.time_ns).collect(),
        )?;
        in_order(
            "delay_at",
            link.delay_at.iter().map(|step| step.time_ns).collect(),
        )?;
        in_order(
            "loss_at",
            link.loss_at.iter().map(|step| step.time_ns).collect(),
        )?;
        let numbers = &link.drop_packets;
        let wrong = (1..numbers.len()).find(|&each| numbers[each - 1] >= numbers[each]);
        check(
            wrong.is_none(),
            &name("drop_packets"),
            wrong.map_or(0, |each| numbers[each]),
            "write the numbers in order, each once",
        )?;
        check(
            numbers.is_empty() || link.drop_every_packets.is_none(),
            &name("drop_packets"),
            format!("{numbers:?}"),
            "keep drop_every_packets or drop_packets",
        )?;
        if let Some(Loss::Outages(of)) = link.loss {
            within(&name("loss.lasts_ns"), of.lasts_ns, 1_000, of.every_ns - 1)?;
        }
        for (each, step) in link.rate_at.iter().enumerate() {
            check(
                !(1..LEAST_BPS).contains(&step.rate_bps),
                &name(&format!("rate_at[{each}].rate_bps")),
                step.rate_bps,
                &format!("choose a value from {LEAST_BPS}, or 0: nothing leaves"),
            )?;
        }
        let dead = link.rate_at.first().is_some_and(|step| step.time_ns == 0)
            && (link.rate_at.iter())
                .take_while(|step| step.time_ns < self.duration_ns)
                .all(|step| step.rate_bps == 0);
        check(
            !dead,
            &name("rate_at"),
            "0bit from 0s on",
            "the link carries nothing in the whole run: give it a rate at a later time",
        )?;
        if let Some(times_ms) = &link.trace_ms {
            self.validate_trace(&name, link, times_ms)?;
        }
        if link.at == Place::Sender {
            self.validate_own(&name, link)?;
        }
        match link.queue {
            QueueKind::Red(red) => within(
                &name("queue.max_bytes"),
                red.max_bytes,
                red.min_bytes,
                4_000_000_000,
            ),
            _ => Ok(()),
        }
    }

    /// The interface of hosts is a queue and a wire, and the first link of their data.
    fn validate_own(
        &self,
        name: &impl Fn(&str) -> String,
        link: &Bottleneck,
    ) -> Result<(), ScenarioError> {
        let at = |is_wrong: bool, fix: &str| check(!is_wrong, &name("at"), "sender", fix);
        let usual = Bottleneck {
            rate_at: link.rate_at.clone(),
            trace_ms: link.trace_ms.clone(),
            delay_ns: link.delay_ns,
            delay_at: link.delay_at.clone(),
            delay_jitter: link.delay_jitter,
            queue: link.queue,
            at: link.at,
            ..Bottleneck::drop_tail(link.rate_bps, link.buffer)
        };
        at(
            *link != usual,
            "an interface has a rate, a buffer, a queue and a delay; write bursts, losses and other \
             impairments in another [[link]]",
        )?;
        let judges = !matches!(
            link.queue,
            QueueKind::DropTail | QueueKind::Codel(_) | QueueKind::FqCodel(_)
        );
        at(
            judges,
            "TCP hears of packets that these queues drop as they come, and fq paces; choose drop_tail, \
             codel or fq_codel, with pacing = true for fq",
        )?;
        for flow in self.all_flows() {
            let all: Vec<u32> = (1..).take(1 + self.links.len()).collect();
            let route = if flow.route.is_empty() {
                &all
            } else {
                &flow.route
            };
            let mut passed = route.iter().skip(1).chain(&flow.back);
            let is_own = |&number: &u32| {
                self.link(number)
                    .is_some_and(|link| link.at == Place::Sender)
            };
            at(
                flow.direction == Direction::Reverse || passed.any(is_own),
                "it is the first link of a route, and on no way back; write the routes so",
            )?;
            let is_here = self.first_link(flow).at == Place::Sender;
            at(
                is_here && !self.profile_of(flow).is_new(),
                "small queues are those of today's Linux; choose profile linux-6",
            )?;
            at(
                is_here && flow.stack.is_some(),
                "its flows are of TCP; let other stacks take another link first",
            )?;
        }
        Ok(())
    }

    /// The rate of a link with a trace is the trace's mean, and only its own.
    fn validate_trace(
        &self,
        name: &impl Fn(&str) -> String,
        link: &Bottleneck,
        times_ms: &[u64],
    ) -> Result<(), ScenarioError> {
        let wrong = (1..times_ms.len()).find(|&each| times_ms[each - 1] > times_ms[each]);
        let each = wrong.unwrap_or(0);
        check(
            wrong.is_none(),
            &name(&format!("trace_ms[{each}]")),
            times_ms.get(each).copied().unwrap_or_default(),
            "the times of a trace do not go back",
        )?;
        let last_ms = times_ms.last().copied().unwrap_or_default();
        check(
            last_ms > 0,
            &name("trace_ms"),
            format!("{times_ms:?}"),
            "the last time of a trace is its length: more than 0 ms",
        )?;
        let mean_bps = Trace::mean_bps(times_ms);
        check(
            link.rate_bps == mean_bps,
            &name("rate_bps"),
            link.rate_bps,
            &format!("a link with a trace has its mean rate, {mean_bps}"),
        )?;
        for (field, given) in [
            ("rate_at", !link.rate_at.is_empty()),
            ("burst_bytes", link.burst_bytes > 0),
        ] {
            let fix = "leave it out: the trace says when packets leave";
            check(!given, &name(field), "given beside trace_ms", fix)?;
        }
        Ok(())
    }

    /// A route visits links that exist, and none of them twice.
    pub(super) fn validate_route(&self, field: &str, route: &[u32]) -> Result<(), ScenarioError> {
        let links = 1 + self.links.len() as u64;
        for (index, &link) in route.iter().enumerate() {
            within(&format!("{field}[{index}]"), link.into(), 1, links)?;
            check(
                !route[..index].contains(&link),
                field,
                format!("{route:?}"),
                &format!("link {link} is there twice; a route has no loop"),
            )?;
        }
        Ok(())
    }
}
