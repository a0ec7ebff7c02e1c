//! Moves a match to a newer generation of its code: reads its state in the old machine, and gives it to `match_migrate`
//! in the new one.

use std::rc::Rc;
use std::sync::Arc;

use mlua::Value as LuaValue;
use muster_live::matches::{Call, MatchId};

use super::{Handler, LoadedMatch, MatchVm, OpenedMatch, finish, memory, values, values_of};
use crate::luau::seat::Seat;
use crate::luau::vm::plain;
use crate::machine::budget::LOADS_TOO_LONG;
use crate::machine::migrate::Migrating;
use crate::value::Value;

/// A match whose new handler has run `match_migrate`; `None` when the handler has no such function.
type Adopted = Result<Option<OpenedMatch>, Arc<str>>;

impl Migrating for MatchVm {
    fn state(&self, id: MatchId) -> Result<Value, Arc<str>> {
        let loaded = self.matches.borrow().get(&id).cloned();
        let loaded = loaded.ok_or_else(|| Arc::from("the match is not in this machine"))?;
        let state = loaded.state.borrow().clone();
        values::read(&self.vm.lua, state).map_err(|error| format!("its state: {}", plain(&error)).into())
    }

    async fn adopt(&self, call: &Call, state: Value, from_generation: u64) -> Result<bool, Arc<str>> {
        let category = self.take_category();
        let adopted = self.adopt_under(category, call, state, from_generation).await;
        match adopted {
            Ok(Some(loaded)) => {
                self.matches.borrow_mut().insert(call.id, loaded);
                Ok(true)
            }
            other => {
                self.free(category);
                other.map(|_| false)
            }
        }
    }
}

impl MatchVm {
    async fn adopt_under(
        &self,
        category: u8,
        call: &Call,
        state: Value,
        from: u64,
    ) -> Result<Option<Rc<LoadedMatch>>, Arc<str>> {
        let seat = self.vm.seat().map_err(|error| Arc::from(plain(&error)))?;
        seat.category.set(category);
        let (lua, chunks, contexts) = (self.vm.lua.clone(), self.chunks.clone(), self.vm.contexts.clone());
        let (host, name, called) = (self.vm.host.clone(), call.handler.clone(), call.clone());
        let body = move |seat: &Seat| -> mlua::Result<Adopted> {
            let bytes_before = memory::bytes(&lua, category);
            let instance = memory::counted(&lua, category, || chunks.instance(&lua))?;
            let module = match values_of(&lua, seat.call((&instance.require, &*name))?) {
                Ok(values) => values.into_iter().next().unwrap_or(LuaValue::Nil),
                Err(why) => return Ok(Err(why)),
            };
            instance.modules_have_run();
            let module_bytes = memory::bytes(&lua, category).saturating_sub(bytes_before);
            let handler = Handler::of(module, &name)?;
            let Some(migrate) = handler.migrate.clone() else { return Ok(Ok(None)) };
            seat.budget.at(handler.file());
            let context = contexts.of_nobody(&lua, "match", &host.process.facts)?;
            context.raw_set("match_id", format!("{}.{}", called.id, host.node))?;
            context.raw_set("match_node", &*host.node)?;
            context.raw_set("match_label", &*called.label)?;
            context.raw_set("match_tick_rate", called.tick_rate)?;
            seat.context.replace(Some(context.clone()));
            let state = memory::counted(&lua, category, || values::write(&lua, &state))?;
            let results = seat.call((&migrate, &context, state, from as f64))?;
            Ok(Ok(Some(OpenedMatch { handler, context, module_bytes, results })))
        };
        let ran = finish(self.vm.run(seat, self.limits.load_time, body).await, LOADS_TOO_LONG)?;
        let Some(mut opened) = ran? else { return Ok(None) };
        let results = std::mem::take(&mut opened.results);
        let state = values_of(&self.vm.lua, results)?.into_iter().next().unwrap_or(LuaValue::Nil);
        if state.is_nil() {
            return Err("match_migrate returned no state".into());
        }
        Ok(Some(self.load(opened, state, call.tick_rate, category)?))
    }
}
