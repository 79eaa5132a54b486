//! A file in the kernel's form for Linux itself, which compiles it: its texts, whether or not this
//! process can run it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::algorithm::fingerprint;
use crate::compile::Job;
use crate::configure::Spec;
use crate::source;
use crate::{AlgorithmError, Source};

/// What a spec names of a file in the kernel's form.
#[derive(Clone, Debug)]
pub struct KernelModule {
    /// The file, as the spec names it.
    pub file: String,
    /// The file, and each file below it that an `#include` in quotation marks names, whatever `#if`
    /// says.
    pub sources: Vec<Source>,
    /// The C files beside those headers, which may have functions that the file calls.
    pub beside: Vec<PathBuf>,
    /// Which of its `tcp_congestion_ops`; None: the one that it registers first.
    pub chosen: Option<String>,
    /// Names and values of parameters, as they are written.
    pub settings: Vec<(String, String)>,
    /// A hash of all texts.
    pub fingerprint: u64,
}

impl KernelModule {
    /// What to call it: as `chosen`, or as the first ops of its text.
    pub fn name(&self) -> String {
        let own = String::from_utf8_lossy(&self.sources[0].text);
        let written = own.split(".name").skip(1).find_map(|rest| {
            let value = rest.trim_start().strip_prefix('=')?.trim_start();
            Some(value.strip_prefix('"')?.split('"').next()?.to_string())
        });
        self.chosen.clone().or(written).unwrap_or_default()
    }
}

/// The texts of a file.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    sources: Arc<[Source]>,
    beside: Arc<[PathBuf]>,
}

impl Texts {
    /// None: the file is not in the kernel's form.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, AlgorithmError> {
        let job = Job::for_file(path, false);
        let own = job.read()?;
        if !job.is_kernel_form(&own)? {
            return Ok(None);
        }
        let directory = own.path.parent().unwrap_or(Path::new("/")).to_owned();
        let mut sources = vec![own];
        let mut beside = Vec::new();
        let mut next = 0;
        while let Some(source) = sources.get(next) {
            let text = String::from_utf8_lossy(&source.text).into_owned();
            let of = source.path.parent().unwrap_or(&directory).to_owned();
            for name in source::quoted(&text) {
                let mut places = [of.join(&name), directory.join(&name)].into_iter();
                let Some(file) = places.find(|file| file.is_file()) else {
                    continue;
                };
                let code = file.with_extension("c");
                let is_other = code.is_file() && code != sources[0].path;
                let is_header = file.extension() == Some("h".as_ref());
                for file in [Some(file), (is_header && is_other).then_some(code.clone())] {
                    let Some(file) = file.filter(|file| sources.iter().all(|of| of.path != *file))
                    else {
                        continue;
                    };
                    sources.push(source::read(&file).map_err(|error| job.unreadable(&error))?);
                }
                if is_header && is_other && !beside.contains(&code) {
                    beside.push(code);
                }
            }
            next += 1;
        }
        Ok(Some(Self {
            sources: sources.into(),
            beside: beside.into(),
        }))
    }

    /// What `parts` of `spec` say of it.
    pub(crate) fn module(
        self,
        spec: &str,
        parts: &Spec<'_>,
    ) -> Result<KernelModule, AlgorithmError> {
        let settings = parts.settings.into_iter().flat_map(|all| all.split(','));
        let settings = settings.map(|setting| {
            let (name, value) = setting.split_once('=').ok_or_else(|| {
                let problem = format!("`{setting}` is not parameter=value");
                AlgorithmError::bad_spec(spec, &problem)
            })?;
            Ok((name.trim().into(), value.trim().into()))
        });
        let texts = self.sources.iter();
        let texts: Vec<_> = texts
            .map(|source| String::from_utf8_lossy(&source.text))
            .collect();
        Ok(KernelModule {
            file: parts.name.into(),
            chosen: parts.preset.map(String::from),
            settings: settings.collect::<Result<_, _>>()?,
            fingerprint: fingerprint(&texts),
            sources: self.sources.to_vec(),
            beside: self.beside.to_vec(),
        })
    }
}
