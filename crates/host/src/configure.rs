//! Parameter values: `NAME_OR_PATH[@preset][:name=value,…]` and its canonical form.

use std::path::Path;
use std::sync::Arc;

use crate::algorithm::did_you_mean;
use crate::{Algorithm, AlgorithmError, Param, Preset};

/// An algorithm with a value for each of its parameters.
#[derive(Clone, Debug)]
pub struct Configured {
    algorithm: Algorithm,
    /// `struct cc_params` of the algorithm's file: one `u32` for each parameter.
    values: Arc<[u32]>,
    spec: Arc<str>,
}

impl Configured {
    /// `compile` is given the path of a C file.
    pub(crate) fn parse(
        spec: &str,
        compile: impl FnOnce(&Path) -> Result<Algorithm, AlgorithmError>,
    ) -> Result<Self, AlgorithmError> {
        let bad = |problem: &str| AlgorithmError::BadSpec {
            spec: spec.into(),
            problem: problem.into(),
        };
        let spec = spec.trim();
        // A path may itself contain a colon, but settings always contain a '='. What is a file as
        // it stands has neither settings nor preset.
        let is_file = |path: &str| path.ends_with(".c") && Path::new(path).is_file();
        let (head, settings) = match spec.rsplit_once(':') {
            _ if is_file(spec) => (spec, None),
            Some((head, settings)) if settings.contains('=') => {
                let before = head.rsplit_once(':').map(|(_, before)| before);
                if let (false, Some(before)) = (is_file(head), before) {
                    if before.contains('=') && !before.contains('/') {
                        let both = format!("{before},{settings}");
                        return Err(bad(&format!("commas are between parameters: `:{both}`")));
                    }
                }
                (head, Some(settings))
            }
            Some((_, settings)) if !settings.contains('/') => {
                return Err(bad(&format!("`{settings}` is not parameter=value")));
            }
            _ => (spec, None),
        };
        let head = head.trim_end();
        let after_directory = head.rfind('/').map_or(0, |slash| slash + 1);
        let (name, preset) = match head[after_directory..].rfind('@') {
            _ if is_file(head) => (head, None),
            Some(at) => {
                let at = after_directory + at;
                (&head[..at], Some(&head[at + 1..]))
            }
            None => (head, None),
        };
        if name.is_empty() {
            return Err(bad("the algorithm's name is missing"));
        }
        let algorithm = if name.contains('/') || name.ends_with(".c") {
            compile(Path::new(name))?
        } else {
            Algorithm::find(name).or_else(|unknown| {
                // A file without the ending of C: say that, rather than that it is unknown.
                let path = Path::new(name);
                if path.exists() {
                    Algorithm::compile(path)
                } else {
                    Err(unknown)
                }
            })?
        };

        let mut base: Vec<u32> = algorithm
            .params()
            .iter()
            .map(|param| param.default)
            .collect();
        if let Some(preset) = preset {
            for (index, value) in parse_settings(&algorithm, find_preset(&algorithm, preset)?)? {
                base[index] = value;
            }
        }
        let mut values = base.clone();
        let mut set = vec![false; values.len()];
        let mut settings = settings
            .into_iter()
            .flat_map(|settings| settings.split(','))
            .peekable();
        while let Some(setting) = settings.next() {
            let (key, value) = setting
                .split_once('=')
                .ok_or_else(|| bad(&format!("`{setting}` is not parameter=value")))?;
            let (key, value) = (key.trim(), value.trim());
            let index = find_param(&algorithm, key)?;
            if std::mem::replace(&mut set[index], true) {
                return Err(bad(&format!("{key} is set twice")));
            }
            let param = &algorithm.params()[index];
            if let Some(decimals) = settings.next_if(|next| is_whole(value) && is_whole(next)) {
                let expected = format!("a number: write {value}.{decimals}, with a point");
                return Err(param.bad_number(&format!("{value},{decimals}"), expected, &algorithm));
            }
            values[index] = param.parse(value, &algorithm)?;
        }

        let mut canonical = name.to_string();
        if let Some(preset) = preset {
            canonical += &format!("@{preset}");
        }
        let mut separator = ':';
        for (param, (value, base)) in algorithm.params().iter().zip(values.iter().zip(&base)) {
            if value != base {
                canonical += &format!("{separator}{}={}", param.name, param.display(*value));
                separator = ',';
            }
        }
        Ok(Self {
            algorithm,
            values: values.into(),
            spec: canonical.into(),
        })
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &Algorithm {
        &self.algorithm
    }

    /// Name and stored value of every parameter, in the order of declaration.
    pub fn values(&self) -> Vec<(&str, u32)> {
        let names = self
            .algorithm
            .params()
            .iter()
            .map(|param| param.name.as_str());
        names.zip(self.values.iter().copied()).collect()
    }

    /// The shortest text that configures the same: settings in the order of
    /// declaration, without those that change nothing.
    pub fn spec(&self) -> &str {
        &self.spec
    }

    pub(crate) fn block(&self) -> &Arc<[u32]> {
        &self.values
    }
}

/// Is it a part of a number with a decimal comma?
fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Param {
    fn bad_number(&self, value: &str, expected: String, algorithm: &Algorithm) -> AlgorithmError {
        AlgorithmError::BadNumber {
            algorithm: algorithm.name().into(),
            parameter: self.name.clone(),
            value: value.into(),
            expected,
        }
    }

    /// Reads what a user writes: `0.7`, or `2` for a whole number.
    fn parse(&self, text: &str, algorithm: &Algorithm) -> Result<u32, AlgorithmError> {
        let (min, max) = (self.display(self.min), self.display(self.max));
        let not = |kind| {
            let expected = format!("{kind}; choose a value from {min} to {max}");
            self.bad_number(text, expected, algorithm)
        };
        let number: f64 = text.parse().map_err(|_| not("a number"))?;
        if !number.is_finite() {
            return Err(not("a number"));
        }
        if self.scale == 1 && number.fract() != 0.0 {
            return Err(not("a whole number"));
        }
        let stored = (number * f64::from(self.scale)).round();
        if stored < f64::from(self.min) || stored > f64::from(self.max) {
            return Err(AlgorithmError::OutOfRange {
                algorithm: algorithm.name().into(),
                parameter: self.name.clone(),
                value: text.into(),
                min,
                max,
            });
        }
        Ok(stored as u32)
    }

    /// A stored value as a user writes it: the shortest decimal that means it.
    pub fn display(&self, stored: u32) -> String {
        let (stored, scale) = (f64::from(stored), f64::from(self.scale));
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
pub(crate) fn parse_settings(
    algorithm: &Algorithm,
    preset: &Preset,
) -> Result<Vec<(usize, u32)>, AlgorithmError> {
    let parse = |setting: &str| {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let index = find_param(algorithm, name)?;
        let param = &algorithm.params()[index];
        let in_range = value
            .parse()
            .ok()
            .filter(|value| (param.min..=param.max).contains(value));
        let stored = in_range.ok_or_else(|| AlgorithmError::OutOfRange {
            algorithm: algorithm.name().into(),
            parameter: name.into(),
            value: value.into(),
            min: param.min.to_string(),
            max: param.max.to_string(),
        })?;
        Ok((index, stored))
    };
    preset.settings.split_whitespace().map(parse).collect()
}

fn find_param(algorithm: &Algorithm, name: &str) -> Result<usize, AlgorithmError> {
    let known: Vec<_> = algorithm
        .params()
        .iter()
        .map(|param| param.name.as_str())
        .collect();
    known
        .iter()
        .position(|known| *known == name)
        .ok_or_else(|| AlgorithmError::UnknownParameter {
            algorithm: algorithm.name().into(),
            name: name.into(),
            hint: did_you_mean(name, &known),
            known: list("parameters", &known),
        })
}

fn find_preset<'a>(algorithm: &'a Algorithm, name: &str) -> Result<&'a Preset, AlgorithmError> {
    let known: Vec<_> = algorithm
        .presets()
        .iter()
        .map(|preset| preset.name.as_str())
        .collect();
    algorithm
        .presets()
        .iter()
        .find(|preset| preset.name == name)
        .ok_or_else(|| AlgorithmError::UnknownPreset {
            algorithm: algorithm.name().into(),
            name: name.into(),
            hint: did_you_mean(name, &known),
            known: list("presets", &known),
        })
}

fn list(what: &str, known: &[&str]) -> String {
    if known.is_empty() {
        format!("it has no {what}")
    } else {
        format!("its {what}: {}", known.join(", "))
    }
}
