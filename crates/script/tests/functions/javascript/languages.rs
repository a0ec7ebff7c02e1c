//! Two languages side by side. Where both have a function of the same name, that of Lua is called.

use std::rc::Rc;
use std::sync::Arc;

use muster_api::game::{GameFunctions as _, Invocation};
use muster_api::hooks::{HookSubject, Hooks as _};
use muster_script::{
    GoFunctions, GoMatches, GoModule, JsFunctions, JsMatches, LanguageMatches, Languages, Limits, LuaFunctions,
    LuaMatches, ScriptMetrics,
};

use crate::world::{block_on, bundle, call, program};

const LUA: &str = "local nk = require('nakama')
    nk.register_rpc(function() return 'lua' end, 'both')
    nk.register_rpc(function() return 'lua' end, 'of_lua')
    nk.register_req_before(function() error({ 'lua', 9 }) end, 'GetAccount')";

const JAVASCRIPT: &str = "let seen = 'nothing';
    function InitModule(ctx, logger, nk, initializer) {
        initializer.registerRpc('both', () => 'javascript');
        initializer.registerRpc('of_javascript', () => seen);
        initializer.registerBeforeGetAccount(() => { throw { message: 'javascript', code: 9 }; });
        initializer.registerBeforeDeleteAccount(() => { throw { message: 'javascript', code: 9 }; });
        initializer.registerShutdown(() => { seen = 'stopped'; });
    }";

#[test]
fn what_both_have_is_lua_s() {
    let (files, limits) = ([("game.lua", LUA), ("index.js", JAVASCRIPT)], Limits::default());
    let (program, host) = program(&files, &limits);
    let bundle = bundle(&files, &host, &limits);
    let metrics = Arc::new(ScriptMetrics::default());
    let go = Arc::new(GoModule::default());
    let matches = Rc::new(LanguageMatches::new(vec![
        Rc::new(GoMatches::new(go.clone(), host.clone(), limits, metrics.clone(), |_, _| ())),
        Rc::new(LuaMatches::new(program.clone(), host.clone(), limits, metrics.clone(), |_, _| ())),
        Rc::new(JsMatches::new(bundle.clone(), host.clone(), limits, metrics.clone(), |_, _| ())),
    ]));
    let go = GoFunctions::new(go, host.clone(), limits, metrics.clone());
    let lua = LuaFunctions::new(program, host.clone(), limits, metrics.clone());
    let javascript = JsFunctions::new(bundle, host, limits, metrics);
    let both = Languages::new(vec![Box::new(go), Box::new(lua), Box::new(javascript)], matches);
    block_on(async {
        for (id, expect) in [("both", "lua"), ("of_lua", "lua"), ("of_javascript", "nothing")] {
            assert!(both.has(id));
            assert_eq!(call(&both, id, "").await, Ok(expect.to_owned()), "{id}");
        }
        assert!(!both.has("of_nobody") && call(&both, "of_nobody", "").await.is_err());
        for (name, expect) in [("GetAccount", "lua"), ("DeleteAccount", "javascript")] {
            let subject = HookSubject::operations().find(|subject| subject.name() == name).unwrap();
            assert!(both.has_before(subject) && !both.has_after(subject));
            let refused = both.before(subject, Invocation::default(), None).await.unwrap_err();
            assert_eq!(refused.message, expect, "{name}");
        }
        both.farewell(0).await.unwrap();
        assert_eq!(call(&both, "of_javascript", "").await, Ok("stopped".to_owned()));
    });
}
