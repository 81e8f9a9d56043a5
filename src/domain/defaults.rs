//! Structs that state the default of each field beside it.

macro_rules! with_defaults {
    ($(#[$outer:meta])* $type:ident { $($(#[$doc:meta])* $field:ident: $kind:ty = $value:expr,)+ }) => {
        $(#[$outer])*
        pub struct $type { $($(#[$doc])* pub $field: $kind,)+ }

        impl Default for $type {
            fn default() -> Self {
                Self { $($field: $value,)+ }
            }
        }
    };
}
pub(super) use with_defaults;
