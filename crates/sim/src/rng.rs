//! Random streams: one per name, all from the scenario's seed, the same values
//! on every machine and in every version (xoshiro256++ is value-stable).

use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream called `name` of the run with this seed. Streams of different
    /// names are independent, so that adding one leaves the others unchanged.
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

    /// A number drawn uniformly from `0..=max`; draws nothing when `max` is 0.
    #[inline]
    pub fn up_to(&mut self, max: u64) -> u64 {
        if max == 0 {
            return 0;
        }
        // Lemire's multiply-shift; its bias is below 2⁻³⁰ for the ranges used here.
        ((u128::from(self.bits()) * (u128::from(max) + 1)) >> 64) as u64
    }
}
