//! Random streams: one per name, all from the scenario's seed. The values are the same on every
//! machine and in every version: xoshiro256++ is value-stable, and `libm` computes the same
//! logarithms everywhere, which the C library does not.

use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

/// Who draws from a stream: its kind and its number in the tables, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A flow.
    Flow(u32),
    /// A session.
    Session(u32),
    /// A link and its queue.
    Link(u32),
}

/// What the numbers of a stream decide. With [`Owner`] this is every stream of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// When a flow connects.
    Start,
    /// The propagation delay of each connection.
    Rtt,
    /// How long the sender's host takes for each ACK.
    Jitter,
    /// When the clock of the sender's host ticks.
    Tick,
    /// What the congestion-control algorithm draws.
    Cc,
    /// The pauses of a session.
    Gap,
    /// The sizes of a session's transfers.
    Size,
    /// What a link's queue discipline draws.
    Queue,
    /// Which packets a link loses.
    Loss,
    /// Which packets a link copies.
    Duplicate,
    /// Which packets a link lets others overtake.
    Reorder,
    /// When a link is bad.
    Outage,
    /// The delay behind a link.
    Delay,
}

impl Owner {
    /// The name of one of its streams.
    fn stream(self, draw: Draw) -> String {
        let draw = match draw {
            Draw::Start => "start",
            Draw::Rtt => "rtt",
            Draw::Jitter => "jitter",
            Draw::Tick => "tick",
            Draw::Cc => "cc",
            Draw::Gap => "gap",
            Draw::Size => "size",
            Draw::Queue => "queue",
            Draw::Loss => "loss",
            Draw::Duplicate => "duplicate",
            Draw::Reorder => "reorder",
            Draw::Outage => "outage",
            Draw::Delay => "delay",
        };
        match self {
            Self::Flow(number) => format!("flow.{number}.{draw}"),
            Self::Session(number) => format!("session.{number}.{draw}"),
            Self::Link(number) => format!("link.{number}.{draw}"),
        }
    }
}

impl Stream {
    /// The stream of a run with this seed from which `owner` draws.
    pub fn for_owner(seed: u64, owner: Owner, draw: Draw) -> Self {
        Self::named(seed, &owner.stream(draw))
    }

    /// The stream `name` of the run with this seed. Streams of different names are independent, so
    /// a new stream leaves the others unchanged.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a spreads the name; the generator's own seeding mixes the rest.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(Xoshiro256PlusPlus::seed_from_u64(
            hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number uniformly from `0..=max`. If `max` is 0, returns 0 and draws nothing.
    #[inline]
    pub fn up_to(&mut self, max: u64) -> u64 {
        if max == 0 {
            return 0;
        }
        // Lemire's multiply-shift; its bias is below 2⁻³⁰ for the ranges used here.
        let bits = self.bits();
        let product = u128::from(bits) * u128::from(max);
        let (_, carry) = (product as u64).overflowing_add(bits);
        (product >> 64) as u64 + u64::from(carry)
    }

    /// Draws a number uniformly from (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Draws from the exponential distribution with this mean, rounded. If the mean is 0, returns 0
    /// and draws nothing.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        if mean == 0 {
            return 0;
        }
        (-libm::log(self.unit()) * mean as f64).round() as u64
    }

    /// Draws from the Pareto distribution with this mean and a shape above 1:
    /// P(X > x) = (minimum/x)^shape, minimum = mean (shape − 1)/shape.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        mean * (shape - 1.0) / shape * libm::pow(self.unit(), -1.0 / shape)
    }

    /// Draws from the normal distribution with mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        // Box and Muller. The second number is not used, so that each call draws the same amount.
        let radius = (-2.0 * libm::log(self.unit())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Draws from the lognormal distribution with this mean. `sigma` is the standard deviation of
    /// the logarithm.
    pub fn lognormal(&mut self, mean: f64, sigma: f64) -> f64 {
        mean * libm::exp(sigma * self.normal() - sigma * sigma / 2.0)
    }
}
