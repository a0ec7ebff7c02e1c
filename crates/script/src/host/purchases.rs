//! Purchases and subscriptions of stores.

use super::{HostFunction, not_yet};

pub(super) static FUNCTIONS: &[HostFunction] = &[
    not_yet("purchase_get_by_transaction_id"),
    not_yet("purchase_validate_apple"),
    not_yet("purchase_validate_facebook_instant"),
    not_yet("purchase_validate_google"),
    not_yet("purchase_validate_huawei"),
    not_yet("purchase_validate_samsung"),
    not_yet("purchases_list"),
    not_yet("subscription_get_by_product_id"),
    not_yet("subscription_validate_apple"),
    not_yet("subscription_validate_google"),
    not_yet("subscriptions_list"),
];
