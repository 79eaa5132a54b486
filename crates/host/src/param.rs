//! What an algorithm's file declares for its user: parameters and presets.

use crate::AlgorithmError;

/// A number that a user may set. It is kept as a `u32` that stands for
/// `stored / scale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the file and in settings.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// Stored value unless set.
    pub default: u32,
    /// Least stored value.
    pub min: u32,
    /// Greatest stored value.
    pub max: u32,
    /// Stored value of the user's 1; 1 for whole numbers.
    pub scale: u32,
    /// Are stored values those of an `i32`? Of a module's parameter they may be.
    pub is_signed: bool,
}

/// A named set of parameter values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name after the `@`.
    pub name: String,
    /// Stored values, as `beta=819 hystart=0`; the other parameters keep their defaults.
    pub settings: String,
    /// What it stands for.
    pub doc: String,
}

impl Param {
    pub(crate) fn bad_number(
        &self,
        value: &str,
        expected: &str,
        algorithm: &str,
    ) -> AlgorithmError {
        let name = &self.name;
        AlgorithmError(format!("{algorithm}: {name} = `{value}` is not {expected}"))
    }

    /// Reads what a user writes: `0.7`, or `2` for a whole number.
    pub(crate) fn parse(&self, text: &str, algorithm: &str) -> Result<u32, AlgorithmError> {
        let (min, max) = (self.display(self.min), self.display(self.max));
        let not = |kind| {
            let expected = format!("{kind}; choose a value from {min} to {max}");
            self.bad_number(text, &expected, algorithm)
        };
        let number: f64 = text.parse().map_err(|_| not("a number"))?;
        if !number.is_finite() {
            return Err(not("a number"));
        }
        if self.scale == 1 && number.fract() != 0.0 {
            return Err(not("a whole number"));
        }
        let stored = (number * f64::from(self.scale)).round();
        if stored < self.number(self.min) || stored > self.number(self.max) {
            let setting = format!("{algorithm}: {} = {text}", self.name);
            return Err(AlgorithmError::out_of_range(&setting, &min, &max));
        }
        Ok(stored as i64 as u32)
    }

    /// The number that is stored.
    pub fn whole(&self, stored: u32) -> i64 {
        if self.is_signed {
            i64::from(stored as i32)
        } else {
            i64::from(stored)
        }
    }

    /// The same.
    fn number(&self, stored: u32) -> f64 {
        self.whole(stored) as f64
    }

    /// A stored value as a user writes it: the shortest decimal that means it.
    pub fn display(&self, stored: u32) -> String {
        let (stored, scale) = (self.number(stored), f64::from(self.scale));
        (0..=9)
            .map(|digits| format!("{:.digits$}", stored / scale))
            .find(|text| {
                text.parse::<f64>()
                    .is_ok_and(|value| (value * scale).round() == stored)
            })
            .unwrap_or_else(|| (stored / scale).to_string())
    }
}

/// A preset's settings as (index of the parameter, stored value).
pub(crate) fn stored(
    preset: &Preset,
    params: &[Param],
    algorithm: &str,
) -> Result<Vec<(usize, u32)>, AlgorithmError> {
    let parse = |setting: &str| {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let index = find_param(params, name, algorithm)?;
        let param = &params[index];
        let in_range = value
            .parse()
            .ok()
            .filter(|value| (param.min..=param.max).contains(value));
        let stored = in_range.ok_or_else(|| {
            let (min, max) = (param.min.to_string(), param.max.to_string());
            AlgorithmError::out_of_range(&format!("{algorithm}: {name} = {value}"), &min, &max)
        })?;
        Ok((index, stored))
    };
    preset.settings.split_whitespace().map(parse).collect()
}

/// The index of a parameter.
pub(crate) fn find_param(
    params: &[Param],
    name: &str,
    algorithm: &str,
) -> Result<usize, AlgorithmError> {
    find(
        "parameter",
        params.iter().map(|param| &*param.name),
        name,
        algorithm,
    )
}

/// The index of the `what` with this name.
pub(crate) fn find<'a>(
    what: &str,
    known: impl Iterator<Item = &'a str>,
    name: &str,
    algorithm: &str,
) -> Result<usize, AlgorithmError> {
    let known: Vec<_> = known.collect();
    let found = known.iter().position(|known| *known == name);
    found.ok_or_else(|| AlgorithmError::unknown(algorithm, what, name, &known))
}
