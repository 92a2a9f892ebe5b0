//! Children of statements about stored programs. A body is not gone into: it is another text, which the server reads later.

use super::{Children, NameRole, Node, Object};
use crate::ast::{
    AlterEvent, AlterRoutine, CharacteristicKind, CreateEvent, CreateRoutine, CreateTrigger, DeclaredType, DropProgram,
    ObjectName, ProgramKind, Schedule,
};

pub(super) fn created<'a>(name: &'a ObjectName<'a>, object: Object, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(name, NameRole::Created(object)));
}

pub(super) fn create_routine<'a>(node: &'a CreateRoutine<'a>, to: &mut Children<'_, 'a>) {
    created(&node.name, Object::Routine, to);
    for parameter in node.parameters {
        declared_type(&parameter.data_type, to);
    }
    if let Some(returns) = &node.returns {
        declared_type(returns, to);
    }
    for characteristic in node.characteristics {
        if let CharacteristicKind::Using(libraries) = characteristic.kind {
            to.each(libraries, |library| Node::Name(&library.name, NameRole::Referred(Object::Other)));
        }
    }
}

/// Fields of a row are not nodes: rows nest, and this must not.
fn declared_type<'a>(node: &'a DeclaredType<'a>, to: &mut Children<'_, 'a>) {
    match node {
        DeclaredType::Type(plain) => to.push(Node::DataType(plain)),
        DeclaredType::RowOf(table) => to.push(Node::Name(table, NameRole::Referred(Object::Table))),
        DeclaredType::Of(_) | DeclaredType::Row(_) => {}
    }
}

pub(super) fn create_trigger<'a>(node: &'a CreateTrigger<'a>, to: &mut Children<'_, 'a>) {
    created(&node.name, Object::Trigger, to);
    to.push(Node::Name(&node.table, NameRole::Altered(Object::Table)));
}

pub(super) fn create_event<'a>(node: &'a CreateEvent<'a>, to: &mut Children<'_, 'a>) {
    created(&node.name, Object::Event, to);
    schedule(&node.schedule, to);
}

pub(super) fn alter_event<'a>(node: &'a AlterEvent<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(&node.name, NameRole::Altered(Object::Event)));
    if let Some(when) = &node.schedule {
        schedule(when, to);
    }
    if let Some(name) = &node.new_name {
        created(name, Object::Event, to);
    }
}

fn schedule<'a>(node: &'a Schedule<'a>, to: &mut Children<'_, 'a>) {
    match node {
        Schedule::At(at) => to.push(Node::Expr(at)),
        Schedule::Every { every, starts, ends } => {
            to.push(Node::Expr(&every.value));
            to.maybe_expr(starts);
            to.maybe_expr(ends);
        }
    }
}

pub(super) fn alter_routine<'a>(node: &'a AlterRoutine<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(&node.name, NameRole::Altered(object(node.kind))));
}

pub(super) fn drop_program<'a>(node: &'a DropProgram<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(&node.name, NameRole::Dropped(object(node.kind))));
}

fn object(kind: ProgramKind) -> Object {
    match kind {
        ProgramKind::Trigger => Object::Trigger,
        ProgramKind::Event => Object::Event,
        ProgramKind::Library => Object::Other,
        ProgramKind::Procedure | ProgramKind::Function | ProgramKind::Package | ProgramKind::PackageBody => {
            Object::Routine
        }
    }
}
