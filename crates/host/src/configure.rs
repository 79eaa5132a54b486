//! Parameter values: `NAME_OR_PATH[@preset][:name=value,…]` and its canonical form.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::param::{find, find_param, stored};
use crate::{Algorithm, AlgorithmError, KernelProgram};

/// An algorithm with a value for each of its parameters.
#[derive(Clone, Debug)]
pub struct Configured {
    algorithm: Algorithm,
    /// `struct cc_params` of the algorithm's file: one `u32` for each parameter.
    values: Arc<[u32]>,
    spec: Arc<str>,
    /// Of a file in the kernel's form: the algorithm with these values, by HZ.
    copies: Arc<Mutex<Vec<(u32, Algorithm)>>>,
}

impl Algorithm {
    /// An algorithm with its parameters set, from `NAME_OR_PATH[@preset][:k=v,…]`.
    /// What contains a `/` or ends in `.c` is a path.
    ///
    /// # Errors
    /// As [`find`](Self::find) and [`compile`](Self::compile); an unknown preset or
    /// parameter; a value that is no number or out of range.
    pub fn configure(spec: &str) -> Result<Configured, AlgorithmError> {
        Configured::parse(spec, Self::compile)
    }
}

impl Configured {
    /// `compile` is given the path of a C file.
    pub(crate) fn parse(
        spec: &str,
        compile: impl FnOnce(&Path) -> Result<Algorithm, AlgorithmError>,
    ) -> Result<Self, AlgorithmError> {
        let Spec {
            name,
            preset,
            settings,
        } = Spec::parse(spec)?;
        let bad = |problem: &str| AlgorithmError::bad_spec(spec, problem);
        let mut algorithm = if is_path(name) {
            compile(Path::new(name))?
        } else {
            // Of a flow without congestion control nothing of it runs.
            let code = if name == "none" { "reno" } else { name };
            Algorithm::find(code).or_else(|unknown| {
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
            let known = algorithm.presets().iter().map(|preset| &*preset.name);
            let index = find("preset", known, preset, algorithm.name())?;
            let preset = &algorithm.presets()[index];
            for (index, value) in stored(preset, algorithm.params(), algorithm.name())? {
                base[index] = value;
            }
            if let Some(kernel) = algorithm.kernel_form() {
                algorithm = kernel.registered(&preset.name)?;
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
            let index = find_param(algorithm.params(), key, algorithm.name())?;
            if std::mem::replace(&mut set[index], true) {
                return Err(bad(&format!("{key} is set twice")));
            }
            let param = &algorithm.params()[index];
            if let Some(decimals) = settings.next_if(|next| is_whole(value) && is_whole(next)) {
                let expected = format!("a number: write {value}.{decimals}, with a point");
                let value = format!("{value},{decimals}");
                return Err(param.bad_number(&value, &expected, algorithm.name()));
            }
            values[index] = param.parse(value, algorithm.name())?;
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
            copies: Arc::default(),
        })
    }

    /// The stored values of all parameters, with others for those of these names.
    ///
    /// # Errors
    /// An unknown name; a value out of its range.
    pub fn set(&self, names: &[String], values: &[f64]) -> Result<Vec<u32>, AlgorithmError> {
        let (params, algorithm) = (self.algorithm.params(), self.algorithm.name());
        let mut stored = self.values.to_vec();
        for (name, value) in names.iter().zip(values) {
            let index = find_param(params, name, algorithm)?;
            stored[index] = params[index].parse(&value.to_string(), algorithm)?;
        }
        Ok(stored)
    }

    /// The same with these stored values of its parameters, in the order of declaration.
    ///
    /// # Panics
    /// These are more or fewer.
    pub fn with(&self, values: &[u32]) -> Self {
        assert_eq!(values.len(), self.values.len());
        Self {
            values: values.into(),
            ..self.clone()
        }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &Algorithm {
        &self.algorithm
    }

    /// The algorithm for hosts with that HZ. A file in the kernel's form is compiled for it, and gets
    /// the parameters before its module_init; of any other file it is always the same.
    ///
    /// # Errors
    /// The file does not compile with that HZ, or refuses its parameters.
    pub fn load(&self, hz: u32) -> Result<Algorithm, AlgorithmError> {
        let Some(kernel) = self.algorithm.kernel_form() else {
            return Ok(self.algorithm.clone());
        };
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, algorithm)) = copies.iter().find(|copy| copy.0 == hz) {
            return Ok(algorithm.clone());
        }
        let algorithm = kernel.copy_for(hz, &self.values)?;
        copies.push((hz, algorithm.clone()));
        Ok(algorithm)
    }

    /// What another host with that HZ makes of a file in the kernel's form. None: it is in our dialect.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn kernel_program(&self, hz: u32) -> Result<Option<KernelProgram>, AlgorithmError> {
        let kernel = self.algorithm.kernel_form();
        let program = kernel.map(|kernel| kernel.program(hz, &self.values));
        program.transpose()
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

/// The parts of a text that configures an algorithm.
pub(crate) struct Spec<'a> {
    pub(crate) name: &'a str,
    pub(crate) preset: Option<&'a str>,
    pub(crate) settings: Option<&'a str>,
}

impl<'a> Spec<'a> {
    pub(crate) fn parse(spec: &'a str) -> Result<Self, AlgorithmError> {
        let bad = |problem: &str| AlgorithmError::bad_spec(spec, problem);
        let spec = spec.trim();
        // A path may itself contain a colon, but settings always contain a '='. What is a file as
        // it stands has neither settings nor preset.
        // WebAssembly sees no files, but the colon of C:\my_cc.c.
        let ends = |path: &str| cfg!(target_arch = "wasm32") && !path.contains(".c:");
        let is_file =
            |path: &str| path.ends_with(".c") && (Path::new(path).is_file() || ends(path));
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
        Ok(Self {
            name,
            preset,
            settings,
        })
    }
}

/// Is it the path of a file, rather than the name of an algorithm?
pub(crate) fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".c")
}

/// Is it a part of a number with a decimal comma?
fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
