//! One call of a hook: what the algorithm was given, and what came of it.

use ackclock_host::{
    AckSample, CaEvent, CaState, CongestionControl, RateSample, TcpSock, ICSK_CA_PRIV_WORDS,
};

/// `enum hook` of host_memory.c.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Ssthresh,
    CongAvoid,
    SetState,
    CwndEvent,
    InAckEvent,
    PktsAcked,
    CongControl,
    UndoCwnd,
    Init,
}

/// By their numbers in the recorders (record.h).
pub const HOOKS: [Hook; 9] = [
    Hook::Ssthresh,
    Hook::CongAvoid,
    Hook::SetState,
    Hook::CwndEvent,
    Hook::InAckEvent,
    Hook::PktsAcked,
    Hook::CongControl,
    Hook::UndoCwnd,
    Hook::Init,
];

/// `struct call` of host_memory.c. The socket is as it was before the call.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Call {
    pub hook: Hook,
    pub arguments: [u32; 2],
    pub result: u32,
    pub sample: AckSample,
    pub rate: RateSample,
    pub tp: TcpSock,
}

/// All that a hook may change, and what it returned (0 where nothing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub result: u32,
    pub snd_cwnd: u32,
    pub snd_cwnd_cnt: u32,
    pub snd_cwnd_stamp: u32,
    pub snd_ssthresh: u32,
    pub sk_pacing_rate: u64,
    pub sk_pacing_status: u32,
    pub app_limited: u32,
    pub ecn_flags: u8,
    /// `icsk_ack.pending`, and the ACK that the hook has sent: whether, its flags and its number.
    pub ack: [u32; 4],
    pub random: u64,
    pub private: [u64; ICSK_CA_PRIV_WORDS],
}

impl Outcome {
    pub fn from_socket(tp: &TcpSock, result: u32) -> Self {
        let sk = &tp.inet_conn.sk;
        Self {
            result,
            snd_cwnd: tp.snd_cwnd,
            snd_cwnd_cnt: tp.snd_cwnd_cnt,
            snd_cwnd_stamp: tp.snd_cwnd_stamp,
            snd_ssthresh: tp.snd_ssthresh,
            sk_pacing_rate: sk.sk_pacing_rate,
            sk_pacing_status: sk.sk_pacing_status,
            app_limited: tp.app_limited,
            ecn_flags: tp.ecn_flags,
            ack: [
                tp.inet_conn.icsk_ack.pending.into(),
                sk.sk_host.acks.into(),
                sk.sk_host.ack_ecn_flags.into(),
                sk.sk_host.ack_rcv_nxt,
            ],
            random: sk.sk_host.random,
            private: tp.inet_conn.icsk_ca_priv,
        }
    }

    /// Adds it to a hash (FNV-1a over 64-bit words).
    pub fn hash(&self, seed: u64) -> u64 {
        let words = [
            u64::from(self.result),
            self.snd_cwnd.into(),
            self.snd_cwnd_cnt.into(),
            self.snd_cwnd_stamp.into(),
            self.snd_ssthresh.into(),
            self.sk_pacing_rate,
            self.sk_pacing_status.into(),
            self.app_limited.into(),
            self.ecn_flags.into(),
            self.random,
        ];
        let ack = self.ack.map(u64::from);
        let words = words.iter().chain(&self.private);
        // Of an algorithm that has nothing to do with ACKs they are 0.
        let words = words.chain(ack.iter().filter(|_| ack != [0; 4]));
        words.fold(seed, |hash, word| {
            (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(29)
        })
    }
}

const STATES: [CaState; 5] = [
    CaState::Open,
    CaState::Disorder,
    CaState::Cwr,
    CaState::Recovery,
    CaState::Loss,
];
const EVENTS: [CaEvent; 6] = [
    CaEvent::TxStart,
    CaEvent::CwndRestart,
    CaEvent::CompleteCwr,
    CaEvent::Loss,
    CaEvent::EcnNoCe,
    CaEvent::EcnIsCe,
];

/// Makes the call in this process, on the flow's socket as it stands.
pub fn make(cc: &mut CongestionControl, call: &Call) -> Outcome {
    let [first, second] = call.arguments;
    let mut result = 0;
    match call.hook {
        Hook::Ssthresh => result = cc.ssthresh(),
        Hook::CongAvoid => cc.cong_avoid(first, second),
        Hook::SetState => cc.set_state(STATES[first as usize]),
        Hook::CwndEvent => cc.cwnd_event(EVENTS[first as usize]),
        Hook::InAckEvent => cc.in_ack_event(first),
        Hook::PktsAcked => cc.pkts_acked(&call.sample),
        Hook::CongControl => cc.cong_control(first, second as i32, &call.rate),
        Hook::UndoCwnd => result = cc.undo_cwnd(),
        Hook::Init => cc.init(),
    }
    Outcome::from_socket(cc.tp(), result)
}
