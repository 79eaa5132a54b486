//! What quinn and noq, which was once quinn, want in the same words: each of its own types.

/// `Plain`, keys that change nothing, the clock of a server and the configuration of either side; `Ids`
/// as a source of IDs; the ECN field in the words of the stack and in ours.
macro_rules! shared {
    ($stack:ident) => {
        struct Plain;

        impl $stack::TimeSource for Plain {
            fn now(&self) -> std::time::SystemTime {
                crate::host::day()
            }
        }

        fn keys() -> $stack::crypto::Keys {
            $stack::crypto::Keys {
                header: $stack::crypto::KeyPair {
                    local: Box::new(Plain),
                    remote: Box::new(Plain),
                },
                packet: packet_keys(),
            }
        }

        fn packet_keys() -> $stack::crypto::KeyPair<Box<dyn $stack::crypto::PacketKey>> {
            $stack::crypto::KeyPair {
                local: Box::new(Plain),
                remote: Box::new(Plain),
            }
        }

        impl $stack::crypto::HeaderKey for Plain {
            fn decrypt(&self, _: usize, _: &mut [u8]) {}

            fn encrypt(&self, _: usize, _: &mut [u8]) {}

            fn sample_size(&self) -> usize {
                crate::host::TAG_BYTES
            }
        }

        impl $stack::crypto::HmacKey for Plain {
            fn sign(&self, data: &[u8], to: &mut [u8]) {
                crate::host::sign(data, to);
            }

            fn signature_len(&self) -> usize {
                32
            }

            fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), $stack::crypto::CryptoError> {
                Ok(())
            }
        }

        fn ours(ecn: Option<$stack::EcnCodepoint>) -> ackclock_net::queue::Ecn {
            match ecn {
                None => ackclock_net::queue::Ecn::NotEct,
                Some($stack::EcnCodepoint::Ect0) => ackclock_net::queue::Ecn::Ect0,
                Some($stack::EcnCodepoint::Ect1) => ackclock_net::queue::Ecn::Ect1,
                Some($stack::EcnCodepoint::Ce) => ackclock_net::queue::Ecn::Ce,
            }
        }

        fn theirs(ecn: ackclock_net::queue::Ecn) -> Option<$stack::EcnCodepoint> {
            match ecn {
                ackclock_net::queue::Ecn::NotEct => None,
                ackclock_net::queue::Ecn::Ect0 => Some($stack::EcnCodepoint::Ect0),
                ackclock_net::queue::Ecn::Ect1 => Some($stack::EcnCodepoint::Ect1),
                ackclock_net::queue::Ecn::Ce => Some($stack::EcnCodepoint::Ce),
            }
        }

        impl $stack::ConnectionIdGenerator for crate::host::Ids {
            fn generate_cid(&mut self) -> $stack::ConnectionId {
                $stack::ConnectionId::new(&self.draw())
            }

            fn cid_len(&self) -> usize {
                crate::host::ID_BYTES
            }

            fn cid_lifetime(&self) -> Option<std::time::Duration> {
                None
            }
        }
    };
}

pub(crate) use shared;
