//! Hosts as installed: what a scenario does not say of them is as in a Linux that nobody has tuned.

use crate::model::Table;

/// `CONFIG_HZ` of most distributions.
const HZ: u64 = 250;

/// `tcp_rmem[2]`, bytes (`tcp_init`); none of a profile whose tuning is not modelled.
pub fn rmem_bytes(profile: &str) -> Option<u64> {
    match profile {
        "linux-6" => Some(6 << 20),
        "linux-7" => Some(32 << 20),
        _ => None,
    }
}

/// Gives the keys that are not written their values, if hosts are as installed.
pub fn fill(top: &mut Table, flows: &mut [Table], sessions: &mut [Table]) -> Result<(), String> {
    if top.text("host").is_none() {
        return Ok(());
    }
    top.fill("hz", HZ.into());
    let usual = top.text("profile").unwrap_or_default();
    for (name, tables) in [("flow", flows), ("session", sessions)] {
        for (table, number) in tables.iter_mut().zip(1..) {
            let profile = table.text("profile").unwrap_or(usual);
            let bytes = rmem_bytes(profile).ok_or_else(|| {
                format!(
                    "{name} {number}: host = \"as installed\": is not modelled with {profile}; \
                     write profile = \"linux-6\", or leave host out"
                )
            })?;
            let has_stack = name == "flow" && table.is_given("stack");
            if !has_stack && !table.is_given("receive_window") {
                table.fill("receive_buffer", format!("{}MiB", bytes >> 20).into());
            }
        }
    }
    Ok(())
}
