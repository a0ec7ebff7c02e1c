//! Two players, a live plane, a database, and a game function that calls any host function.

use std::rc::Rc;

use muster_domain::ports::store::Store;
use muster_script::{Limits, LuaFunctions};
use serde_json::{Value, json};

use crate::plane::Connected;
use crate::world::{call, load_with, player, store};

/// Stands for an argument that is left out. Null would cut off the arguments after it.
pub const NONE: &str = "<none>";

const MODULE: &str = "local nk = require('nakama')
    nk.register_rpc(function(_, payload)
        local asked = nk.json_decode(payload)
        local run = nk[asked.call]
        local list = asked.arguments
        local function given(index)
            if list[index] == asked.none then return nil end
            return list[index]
        end
        local ok, a, b, c, d = pcall(run, given(1), given(2), given(3), given(4), given(5), given(6))
        return nk.json_encode({ ok = ok, first = a, second = b, third = c, fourth = d })
    end, 'run')";

/// The players, the plane, the database and the function.
pub struct Scene {
    pub functions: LuaFunctions,
    pub connected: Connected,
    pub store: Rc<dyn Store>,
    pub ann: String,
    pub bob: String,
}

pub async fn scene() -> Scene {
    let (store, connected): (Rc<dyn Store>, _) = (store(), Connected::default());
    let (ann, bob) = (player(&store, 1, "ann").await.to_string(), player(&store, 2, "bob").await.to_string());
    let functions = load_with(store.clone(), connected.live.clone(), &[("game.lua", MODULE)], Limits::default()).await;
    Scene { functions: functions.unwrap(), connected, store, ann, bob }
}

impl Scene {
    /// Calls a host function. Answers its first two results.
    pub async fn run(&self, name: &str, arguments: Value) -> (Value, Value) {
        let [first, second, ..] = self.all(name, arguments).await;
        (first, second)
    }

    /// Calls a host function. Answers its results.
    pub async fn all(&self, name: &str, arguments: Value) -> [Value; 4] {
        let answer = self.call(name, arguments.clone()).await;
        assert_eq!(answer["ok"], true, "{name} {arguments}: {answer}");
        ["first", "second", "third", "fourth"].map(|name| answer[name].clone())
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        let payload = json!({ "call": name, "arguments": arguments, "none": NONE }).to_string();
        serde_json::from_str(&call(&self.functions, "run", &payload).await.unwrap()).unwrap()
    }

    /// Calls a host function that fails. Answers its error.
    pub async fn refused(&self, name: &str, arguments: Value) -> String {
        let answer = self.call(name, arguments.clone()).await;
        assert_eq!(answer["ok"], false, "{name} {arguments}: {answer}");
        answer["first"].as_str().unwrap().to_owned()
    }
}
