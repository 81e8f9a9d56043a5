//! Structs that add up field by field.

macro_rules! sums {
    ($($type:ident { $($field:ident),+ })+) => {$(
        impl std::ops::AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        }

        impl std::iter::Sum for $type {
            fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
                parts.fold(Self::default(), |mut whole, part| {
                    whole += part;
                    whole
                })
            }
        }
    )+};
}
pub(crate) use sums;
