//! A handshake in TLS's place: messages with their length in front, of the sizes of TLS's.

/// Bytes of TLS's flights: ClientHello, ServerHello, the server's certificate and what stands around
/// it, the client's Finished.
const FLIGHTS: [usize; 4] = [300, 90, 1_200, 36];
/// Of the length of a message, and of the text in it.
const LENGTHS: usize = 8;

/// One side of it.
pub(crate) struct Handshake {
    is_client: bool,
    /// Our transport parameters, as they are sent.
    params: Vec<u8>,
    /// How many messages we have written, or passed.
    step: usize,
    received: Vec<u8>,
    /// The texts of the messages that have come.
    heard: Vec<Vec<u8>>,
}

impl Handshake {
    pub(crate) fn new(is_client: bool, params: Vec<u8>) -> Self {
        Self {
            is_client,
            params,
            step: 0,
            received: Vec::new(),
            heard: Vec::new(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        match self.is_client {
            true => self.step == 3,
            false => self.heard.len() == 2,
        }
    }

    /// The other side's transport parameters, when they have come.
    pub(crate) fn peers_params(&self) -> Option<&[u8]> {
        self.heard
            .get(usize::from(self.is_client))
            .map(Vec::as_slice)
    }

    /// Takes what has come.
    pub(crate) fn read(&mut self, text: &[u8]) {
        self.received.extend_from_slice(text);
        while let Some((message, used)) = message(&self.received) {
            self.heard.push(message.to_vec());
            self.received.drain(..used);
        }
    }

    /// Writes our next message, if there is one. Returns whether the next keys are known.
    pub(crate) fn write(&mut self, to: &mut Vec<u8>) -> bool {
        let [hello, answer, certificate, finished] = FLIGHTS;
        let (bytes, text, has_keys) = match (self.is_client, self.step, self.heard.len()) {
            (true, 0, _) => (hello, &self.params[..], false),
            (true, 1, 1..) => (0, &[][..], true),
            (true, 2, 2..) => (finished, &[][..], true),
            (false, 0, 1..) => (answer, &[][..], true),
            (false, 1, _) => (certificate, &self.params[..], true),
            _ => return false,
        };
        self.step += 1;
        if bytes > 0 {
            let all = bytes.max(LENGTHS + text.len());
            let end = to.len() + all;
            to.extend_from_slice(&(all as u32).to_be_bytes());
            to.extend_from_slice(&(text.len() as u32).to_be_bytes());
            to.extend_from_slice(text);
            to.resize(end, 0);
        }
        has_keys
    }
}

/// The text of the first message, and all of its bytes; `None`: not all of it has come.
fn message(received: &[u8]) -> Option<(&[u8], usize)> {
    let number = |at: usize| {
        let bytes = received.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
    };
    let (all, text) = (number(0)?, number(4)?);
    let message = received.get(..all)?;
    Some((message.get(LENGTHS..LENGTHS + text)?, all))
}
