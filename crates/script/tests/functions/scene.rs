//! Two players, a live plane and a database, and a function that calls whichever function of the host is asked for.

use std::rc::Rc;

use muster_domain::ports::store::Store;
use muster_script::{Limits, LuaFunctions};
use serde_json::{Value, json};

use crate::plane::Connected;
use crate::world::{call, load_with, player, store};

/// Stands for an argument that is left out: what is behind null would be lost.
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

/// See the module.
pub struct Scene {
    pub functions: LuaFunctions,
    pub connected: Connected,
    pub ann: String,
    pub bob: String,
}

pub async fn scene() -> Scene {
    let (store, connected): (Rc<dyn Store>, _) = (store(), Connected::default());
    let (ann, bob) = (player(&store, 1, "ann").await.to_string(), player(&store, 2, "bob").await.to_string());
    let functions = load_with(store.clone(), connected.live.clone(), &[("game.lua", MODULE)], Limits::default()).await;
    Scene { functions: functions.unwrap(), connected, ann, bob }
}

impl Scene {
    /// Calls a function of the host; answers its first two results.
    pub async fn run(&self, name: &str, arguments: Value) -> (Value, Value) {
        let [first, second, ..] = self.all(name, arguments).await;
        (first, second)
    }

    /// Calls a function of the host; answers its results.
    pub async fn all(&self, name: &str, arguments: Value) -> [Value; 4] {
        let answer = self.call(name, arguments.clone()).await;
        assert_eq!(answer["ok"], true, "{name} {arguments}: {answer}");
        ["first", "second", "third", "fourth"].map(|name| answer[name].clone())
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        let payload = json!({ "call": name, "arguments": arguments, "none": NONE }).to_string();
        serde_json::from_str(&call(&self.functions, "run", &payload).await.unwrap()).unwrap()
    }

    /// Calls a function of the host that refuses; answers what it says.
    pub async fn refused(&self, name: &str, arguments: Value) -> String {
        let answer = self.call(name, arguments.clone()).await;
        assert_eq!(answer["ok"], false, "{name} {arguments}: {answer}");
        answer["first"].as_str().unwrap().to_owned()
    }
}
