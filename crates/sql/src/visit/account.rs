//! Children of statements about accounts: the objects that privileges are for.

use super::{Children, NameRole, Node, Object};
use crate::ast::{GrantLevel, GrantObject, Granted};

pub(super) fn granted<'a>(node: &'a Granted<'a>, to: &mut Children<'_, 'a>) {
    let Granted::Privileges(_, target) = node else { return };
    let GrantLevel::Object(name) = &target.level else { return };
    let object = match target.object {
        None | Some(GrantObject::Table) => Object::Table,
        Some(_) => Object::Routine,
    };
    to.push(Node::Name(name, NameRole::Altered(object)));
}
