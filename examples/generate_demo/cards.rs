//! The cards of the instance types in use.

use super::recording::Card;

/// V100 SXM2 with 16 GB.
pub const V100: Card = Card { total_mib: 16_160.0, idle_w: 24.0, held_w: 40.0, full_w: 280.0 };
/// A100 SXM4 with 40 GB.
pub const A100: Card = Card { total_mib: 40_960.0, idle_w: 50.0, held_w: 62.0, full_w: 380.0 };
/// H100 SXM5 with 80 GB.
pub const H100: Card = Card { total_mib: 81_559.0, idle_w: 68.0, held_w: 110.0, full_w: 660.0 };
/// A10G.
pub const A10G: Card = Card { total_mib: 23_028.0, idle_w: 57.0, held_w: 60.0, full_w: 280.0 };
/// L40S.
pub const L40S: Card = Card { total_mib: 46_068.0, idle_w: 78.0, held_w: 82.0, full_w: 330.0 };
/// L4.
pub const L4: Card = Card { total_mib: 23_034.0, idle_w: 27.0, held_w: 30.0, full_w: 70.0 };
/// RTX PRO 6000 Blackwell, the server edition.
pub const RTX_PRO_6000: Card =
    Card { total_mib: 97_887.0, idle_w: 80.0, held_w: 88.0, full_w: 560.0 };
