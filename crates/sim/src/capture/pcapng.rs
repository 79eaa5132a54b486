//! Blocks of pcapng (draft-ietf-opsawg-pcapng).

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// The head of a file: what wrote it, and its interfaces, each with its name and what it is (empty: it
/// does not say), whose packets have `snaplen` bytes at most.
pub fn head(link_type: u16, interfaces: &[(&str, &str)], snaplen: u32) -> Vec<u8> {
    let mut head = Vec::new();
    enclose(&mut head, SECTION_HEADER, |section| {
        section.extend(0x1a2b_3c4d_u32.to_le_bytes());
        section.extend([1, 0, 0, 0]); // version 1.0
        section.extend((-1_i64).to_le_bytes()); // of unknown length
        option(section, 4, b"ackclock"); // shb_userappl
        option(section, 0, &[]);
    });
    for (name, description) in interfaces {
        enclose(&mut head, INTERFACE_DESCRIPTION, |interface| {
            interface.extend(link_type.to_le_bytes());
            interface.extend([0, 0]);
            interface.extend(snaplen.to_le_bytes());
            option(interface, 2, name.as_bytes()); // if_name
            if !description.is_empty() {
                option(interface, 3, description.as_bytes()); // if_description
            }
            option(interface, 9, &[9]); // if_tsresol: nanoseconds
            option(interface, 0, &[]);
        });
    }
    head
}

/// Adds a packet of `whole` bytes, of which the file keeps `snaplen`: `bytes`, and zeros behind them.
pub fn packet(
    file: &mut Vec<u8>,
    (interface, at_ns, outbound): (u32, u64, bool),
    bytes: &[u8],
    whole: u32,
    snaplen: u32,
) {
    let kept = whole.min(snaplen);
    enclose(file, ENHANCED_PACKET, |block| {
        for value in [interface, (at_ns >> 32) as u32, at_ns as u32, kept, whole] {
            block.extend(value.to_le_bytes());
        }
        let end = block.len() + kept.next_multiple_of(4) as usize;
        block.extend(&bytes[..bytes.len().min(kept as usize)]);
        block.resize(end, 0);
        option(block, 2, &(1 + u32::from(outbound)).to_le_bytes()); // epb_flags
        option(block, 0, &[]);
    });
}

fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend(code.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend(value);
    block.resize(block.len().next_multiple_of(4), 0);
}

/// Adds a block with its type and, at both ends, its length.
fn enclose(file: &mut Vec<u8>, kind: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = file.len();
    file.extend(kind.to_le_bytes());
    file.extend([0; 4]);
    fill(file);
    let length = ((file.len() - start + 4) as u32).to_le_bytes();
    file[start + 4..start + 8].copy_from_slice(&length);
    file.extend(length);
}
