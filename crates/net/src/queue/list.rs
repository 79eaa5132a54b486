//! What the list of disciplines in [`super`] becomes.

/// Makes [`QueueKind`](super::QueueKind) and [`Queue`](super::Queue).
macro_rules! disciplines {
    ($(
        #[doc = $meaning:literal]
        $(#[$default:ident])?
        $name:literal = $module:ident::$queue:ident $(($parameters:ident: $type:ident))?;
    )*) => {
        $(pub use $module::{$queue $(, $type)?};)*

        /// The discipline of a queue and its parameters, as in a scenario.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[derive(Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub enum QueueKind {
            $(
                #[doc = $meaning]
                $(#[$default])?
                #[serde(rename = $name)]
                $queue $(($type))?,
            )*
        }

        /// A queue of any discipline.
        #[derive(Clone, Debug)]
        pub enum Queue<P> {
            $(#[doc = $meaning] $queue($queue<P>),)*
        }

        impl<P> Queue<P> {
            /// An empty queue. `random` is the stream of this queue
            /// ([`Draw::Queue`](crate::rng::Draw)).
            pub fn new(kind: &QueueKind, buffer: Buffer, random: Stream) -> Self {
                match kind {
                    $(QueueKind::$queue $(($parameters))? => {
                        Self::$queue($queue::new($($parameters,)? buffer, random))
                    })*
                }
            }
        }

        impl<P> Discipline<P> for Queue<P> {
            #[inline]
            fn enqueue(
                &mut self,
                now_ns: u64,
                packet: Packet<P>,
                wire: Load,
                ledger: &mut impl Ledger<P>,
            ) {
                match self {
                    $(Self::$queue(queue) => queue.enqueue(now_ns, packet, wire, ledger),)*
                }
            }

            #[inline(always)]
            fn dequeue(&mut self, now_ns: u64, ledger: &mut impl Ledger<P>) -> Option<Packet<P>> {
                match self {
                    $(Self::$queue(queue) => queue.dequeue(now_ns, ledger),)*
                }
            }

            #[inline]
            fn load(&self) -> Load {
                match self {
                    $(Self::$queue(queue) => queue.load(),)*
                }
            }

            fn room(&self, wire: Load) -> Buffer {
                match self {
                    $(Self::$queue(queue) => queue.room(wire),)*
                }
            }

            fn next_update_ns(&self) -> u64 {
                match self {
                    $(Self::$queue(queue) => queue.next_update_ns(),)*
                }
            }

            fn update(&mut self, now_ns: u64) {
                match self {
                    $(Self::$queue(queue) => queue.update(now_ns),)*
                }
            }
        }
    };
}

pub(super) use disciplines;
