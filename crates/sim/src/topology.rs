//! The links of a scenario, and the routes of its flows over them.

use crate::scenario::{Direction, Scenario};
use ackclock_net::link::Bottleneck;
use std::collections::BTreeMap;

/// Links and routes. Both have indices; the tables number queues from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The links, link 1 first.
    pub links: Vec<Bottleneck>,
    /// The links that each route visits, in order.
    pub routes: Vec<Vec<usize>>,
    /// The paths of the flows, then of the sessions.
    pub paths: Vec<Path>,
}

/// The path of a flow through the network and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Route of its data.
    pub data: usize,
    /// Route of its ACKs; `None`: no queue delays them.
    pub acks: Option<usize>,
    /// Propagation delay of the links on both routes.
    pub delay_ns: u64,
    /// The smallest that it ever is.
    pub least_delay_ns: u64,
}

impl Path {
    /// Splits a flow's own delay: what its data takes behind the last link, and its ACKs on the way
    /// back.
    pub fn split_ns(self, own_ns: u64) -> [u64; 2] {
        // Delay on the way to the first queue would only shift the start.
        let forth_ns = if self.acks.is_some() { own_ns / 2 } else { 0 };
        [forth_ns, own_ns - forth_ns]
    }
}

impl Topology {
    /// The topology of a scenario whose routes are valid.
    pub fn new(scenario: &Scenario) -> Self {
        let flows: Vec<_> = scenario.all_flows().collect();
        let mut links = scenario.changed_links();
        let mut routes = Vec::new();
        // Programs send both ways.
        let both = !scenario.programs.is_empty() && !scenario.has_routes();
        let two_way = both || flows.iter().any(|f| f.direction == Direction::Reverse);
        if !scenario.has_routes() {
            routes.push(vec![0]);
            if two_way {
                links.push(links[0].clone());
                routes.push(vec![1]);
            }
        }
        let mut known: BTreeMap<_, _> = routes.iter().cloned().zip(0..).collect();
        let mut index_of = |route: Vec<usize>| {
            *known.entry(route).or_insert_with_key(|route| {
                routes.push(route.clone());
                routes.len() - 1
            })
        };
        let paths = flows.iter().map(|flow| {
            let indices = |route: &[u32]| route.iter().map(|&link| link as usize - 1).collect();
            let [data, acks]: [Vec<usize>; 2] = match flow.direction {
                Direction::Reverse => [vec![1], vec![0]],
                Direction::Forward if two_way => [vec![0], vec![1]],
                Direction::Forward if flow.route.is_empty() => {
                    [(0..links.len()).collect(), indices(&flow.back)]
                }
                Direction::Forward => [indices(&flow.route), indices(&flow.back)],
            };
            let passed = data.iter().chain(&acks).map(|&link| &links[link]);
            let least = |link: &Bottleneck| {
                let steps = link.delay_at.iter().map(|step| step.delay_ns);
                match link.delay_jitter {
                    None => steps.fold(link.delay_ns, u64::min),
                    Some(_) => 0,
                }
            };
            Path {
                delay_ns: passed.clone().map(|link| link.delay_ns).sum(),
                least_delay_ns: passed.map(least).sum(),
                data: index_of(data),
                acks: (!acks.is_empty()).then(|| index_of(acks)),
            }
        });
        let paths = paths.collect();
        Self {
            links,
            routes,
            paths,
        }
    }

    /// Whether every departure is known as soon as a packet arrives: no packet passes two links, and
    /// each link can predict.
    pub fn is_predictable(&self) -> bool {
        let alone = (0..)
            .zip(&self.routes)
            .all(|(link, route)| *route == [link]);
        alone && self.links.iter().all(Bottleneck::is_predictable)
    }

    /// Largest propagation delay of the links on the way of element `index` and back.
    pub fn longest_delay_ns(&self, index: usize) -> u64 {
        let path = self.paths[index];
        let acks = path.acks.iter().flat_map(|&route| &self.routes[route]);
        let links = self.routes[path.data].iter().chain(acks);
        links
            .map(|&link| {
                let link = &self.links[link];
                let steps = link.delay_at.iter().map(|step| step.delay_ns);
                steps.fold(link.delay_ns, u64::max)
            })
            .sum()
    }

    /// The slowest link that the data of element `index` passes, each at its fastest.
    pub fn slowest(&self, index: usize) -> usize {
        let route = self.routes[self.paths[index].data].iter().copied();
        let slowest = route.min_by_key(|&link| self.links[link].most_bps());
        slowest.expect("a route has a link")
    }

    /// Rate of that link.
    pub fn slowest_bps(&self, index: usize) -> u64 {
        self.links[self.slowest(index)].most_bps()
    }
}
