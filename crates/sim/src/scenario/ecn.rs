//! The key `ecn` of a flow.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// Whether two hosts use ECN, and how the receiver tells of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum EcnMode {
    /// They do not use it.
    #[default]
    Off,
    /// With the flag ECE (RFC 3168).
    Classic,
    /// With a count (RFC 9768).
    Accurate,
}

impl From<bool> for EcnMode {
    fn from(on: bool) -> Self {
        if on {
            Self::Classic
        } else {
            Self::Off
        }
    }
}

impl TryFrom<Value> for EcnMode {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::Bool(on) => Ok(on.into()),
            _ if value == "accurate" => Ok(Self::Accurate),
            _ => Err(format!("ecn = {value}: choose false, true or \"accurate\"")),
        }
    }
}

impl From<EcnMode> for Value {
    fn from(mode: EcnMode) -> Self {
        match mode {
            EcnMode::Off => false.into(),
            EcnMode::Classic => true.into(),
            EcnMode::Accurate => "accurate".into(),
        }
    }
}

impl JsonSchema for EcnMode {
    fn schema_name() -> Cow<'static, str> {
        "EcnMode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": [false, true, "accurate"]})
    }
}

impl EcnMode {
    /// Whether they do not use it.
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }

    /// Its value in a scenario's text.
    pub fn name(self) -> String {
        Value::from(self).to_string()
    }

    /// What the hosts still ask for when a SYN is lost, the `number`th from 1. A SYN that is sent
    /// again asks for no classic ECN (`tcp_ecn_clear_syn`), and once more for accurate ECN (RFC 9768,
    /// 3.1.4.1).
    pub(crate) fn after_lost_syn(self, number: u32) -> Self {
        let most = if self == Self::Accurate { 2 } else { 1 };
        if number == most {
            Self::Off
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EcnMode::{Accurate, Classic, Off};

    #[test]
    fn how_many_syns_ask() {
        for (mode, after) in [
            (Off, [Off; 3]),
            (Classic, [Off; 3]),
            (Accurate, [Accurate, Off, Off]),
        ] {
            let mut left = mode;
            for (number, after) in (1..).zip(after) {
                left = left.after_lost_syn(number);
                assert_eq!(left, after, "{mode:?} {number}");
            }
        }
    }
}
