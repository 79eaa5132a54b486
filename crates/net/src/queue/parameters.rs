//! The parameters of queue disciplines: one declaration gives their type, defaults, ranges and text.

/// A parameter that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// The smallest value that it may have here.
    pub least: u64,
    /// The largest value that it may have here.
    pub most: u64,
}

/// Checks that `value` is from `least` to `most`.
///
/// # Errors
/// That it is not.
pub(super) fn within(
    name: &'static str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<(), OutOfRange> {
    let error = OutOfRange {
        name,
        value,
        least,
        most,
    };
    (least..=most).contains(&value).then_some(()).ok_or(error)
}

/// Declares the parameters of a discipline: `name: u64 = DEFAULT in LEAST..=MOST` or
/// `name: bool = DEFAULT`, each with a doc comment. `also CHECK` names a function that checks what
/// ranges cannot say.
macro_rules! parameters {
    (
        $(#[doc = $doc:literal])*
        $type:ident $(also $check:ident)? {
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

        impl $type {
            /// Checks every range.
            ///
            /// # Errors
            /// The first parameter that is out of its range.
            pub fn validate(&self) -> Result<(), $crate::queue::OutOfRange> {
                $($(
                    $crate::queue::parameters::within(stringify!($name), self.$name, $least, $most)?;
                )?)*
                $(self.$check()?;)?
                Ok(())
            }
        }
    };
}

pub(super) use parameters;
