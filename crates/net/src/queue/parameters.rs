//! The parameters of queue disciplines: one declaration gives their type, defaults, ranges and text.

/// Declares the parameters of a discipline: `name: u64 = DEFAULT in LEAST..=MOST` or
/// `name: bool = DEFAULT`, each with a doc comment. The JSON Schema has the ranges: whoever reads a
/// scenario checks them.
macro_rules! parameters {
    (
        $(#[doc = $doc:literal])*
        $type:ident {
            $($(#[doc = $meaning:literal])* $name:ident: $kind:ident = $default:literal $(in $least:literal ..= $most:literal)?,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $type {
            $(
                $(#[doc = $meaning])*
                #[doc = concat!("\n\nDefault: `", stringify!($default), "`.")]
                $(#[doc = concat!("Range: `", stringify!($least), "` to `", stringify!($most), "`.")])?
                #[schemars(description = concat!($($meaning),*).trim_ascii())]
                $(#[schemars(range(min = $least as u64, max = $most as u64))])?
                pub $name: $kind,
            )*
        }

        impl Default for $type {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }
    };
}

pub(super) use parameters;
