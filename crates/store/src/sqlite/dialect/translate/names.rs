//! Names of the columns of a result that has none of its own, as PostgreSQL gives them.

use super::super::tree::{Body, Expression, Item, Query};

/// The name of a column.
pub(super) fn of(expression: &Expression) -> String {
    found(expression).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// The name, and whether it is stronger than the name of a type around it.
fn found(expression: &Expression) -> Option<(String, bool)> {
    let named = |name: &str, is_strong| Some((name.to_owned(), is_strong));
    match expression {
        Expression::Column(_, name) => named(name, true),
        Expression::Call(call) => match call.name.as_str() {
            "current_date" | "current_timestamp" => named(&call.name, true),
            name => named(name, true),
        },
        Expression::Extract(..) => named("extract", true),
        Expression::Cast(inner, declared) => match found(inner) {
            Some((name, true)) => Some((name, true)),
            _ if declared.kind == super::Type::Text && declared.length.is_some() => named("varchar", false),
            _ => named(declared.kind.short_name(), false),
        },
        Expression::Case { otherwise, .. } => match otherwise.as_deref().and_then(found) {
            Some((name, true)) => Some((name, true)),
            _ => named("case", false),
        },
        Expression::Exists(_) => named("exists", true),
        Expression::Row(_) => named("row", true),
        Expression::Subquery(query) => of_query(query).map(|name| (name, true)),
        _ => None,
    }
}

/// The name of a query's first column.
fn of_query(query: &Query) -> Option<String> {
    let mut body = &query.body;
    loop {
        body = match body {
            Body::Select(select) => {
                return match select.items.first()? {
                    Item::One(_, Some(alias)) => Some(alias.clone()),
                    Item::One(expression, None) => Some(of(expression)),
                    Item::All(_) => None,
                };
            }
            Body::Values(_) => return Some("column1".to_owned()),
            Body::Query(query) => &query.body,
            Body::Set { left, .. } => left,
        };
    }
}
