//! Functions that sign players in and out, link, ban, draw and delete them.

use muster_live::CloseReason;
use serde_json::{Value, json};

use crate::scene::{NONE, scene};
use crate::world::{NOW_SEC, block_on};

const NOBODY: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

#[test]
fn players_are_signed_in_and_made() {
    block_on(async {
        let scene = scene().await;
        let [id, name, created, _] = scene.all("authenticate_device", json!(["device-of-ann"])).await;
        assert_eq!((&id, &name, &created), (&json!(scene.ann), &json!("ann"), &json!(false)));
        let [cid, name, created, _] = scene.all("authenticate_custom", json!(["custom-id", "carol", true])).await;
        assert_eq!((&name, &created), (&json!("carol"), &json!(true)));
        let [again, _, created, _] = scene.all("authenticate_custom", json!(["custom-id"])).await;
        assert_eq!((&again, &created), (&cid, &json!(false)));
        let by_mail = json!(["dora@example.com", "a password", "dora"]);
        let [dora, _, created, _] = scene.all("authenticate_email", by_mail).await;
        assert_eq!(created, json!(true));
        assert_eq!(scene.run("authenticate_email", json!(["", "a password", "dora"])).await.0, dora);
        for (name, arguments, told) in [
            ("authenticate_device", json!(["short"]), "10"),
            ("authenticate_custom", json!(["an-unknown-id", NONE, false]), "There is no such account."),
            ("authenticate_custom", json!(["another-id", "ann"]), "The username is already in use."),
            ("authenticate_email", json!(["dora@example.com", "a wrong password"]), "The credentials are not valid."),
        ] {
            let refused = scene.refused(name, arguments).await;
            assert!(refused.contains(told), "{name}: {refused}");
        }
    });
}

/// The claims of a token.
fn claims(token: &Value) -> Value {
    use base64::Engine as _;
    let payload = token.as_str().unwrap().split('.').nth(1).unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

#[test]
fn tokens_are_made_and_voided() {
    block_on(async {
        let scene = scene().await;
        let (token, expires_at) = scene.run("authenticate_token_generate", json!([scene.ann, ""])).await;
        let said = claims(&token);
        assert_eq!((&said["uid"], &said["usn"], &said["exp"]), (&json!(scene.ann), &json!("ann"), &expires_at));
        assert_eq!(expires_at, json!(NOW_SEC + 60));
        let asked = json!([scene.ann, "Ann", NOW_SEC + 7, { "mode": "ranked" }]);
        let (token, expires_at) = scene.run("authenticate_token_generate", asked).await;
        let said = claims(&token);
        assert_eq!((&said["usn"], &said["vrs"]["mode"]), (&json!("Ann"), &json!("ranked")));
        assert_eq!((&said["exp"], &expires_at), (&json!(NOW_SEC + 7), &json!(NOW_SEC + 7)));
        for (arguments, told) in [
            (json!([NOBODY, ""]), "There is no such account."),
            (json!([scene.ann]), "username must be given"),
            (json!([scene.ann, "ann", 0, { "n": 1 }]), "expects the values of vars to be strings"),
            (json!([scene.ann, "ann", 0, { "n": "x".repeat(5_000) }]), "must not take more than 4096 bytes"),
        ] {
            let refused = scene.refused("authenticate_token_generate", arguments).await;
            assert!(refused.contains(told), "{refused}");
        }
        assert!(scene.refused("session_logout", json!([scene.bob, token])).await.contains("belongs to another user"));
        assert!(scene.refused("session_logout", json!([scene.ann, "x"])).await.contains("session token is invalid"));
        scene.run("session_logout", json!([scene.ann, token])).await;
        scene.run("session_logout", json!([scene.ann])).await;
    });
}

#[test]
fn a_session_is_closed_whose_ever_it_is() {
    block_on(async {
        let scene = scene().await;
        let session = scene.connected.open(&scene.ann, "ann", 11);
        scene.connected.open(&scene.bob, "bob", 12);
        let id = "00000000-0000-0000-0000-00000000000b";
        assert!(scene.refused("session_disconnect", json!([id, 5])).await.contains("must be 0 to 4"));
        scene.run("session_disconnect", json!([NOBODY])).await;
        assert_eq!(scene.connected.closed(), []);
        scene.run("session_disconnect", json!([id, 3])).await;
        assert_eq!(scene.connected.closed(), [(session, CloseReason::GameCode)]);
    });
}

#[test]
fn identifiers_are_linked_and_unlinked_but_the_last() {
    block_on(async {
        let scene = scene().await;
        let ann = &scene.ann;
        scene.run("link_device", json!([ann, "another-device"])).await;
        scene.run("link_custom", json!([ann, "custom-id"])).await;
        scene.run("link_email", json!([ann, "ann@example.com", "a password"])).await;
        assert!(scene.refused("link_custom", json!([scene.bob, "custom-id"])).await.contains("already in use"));
        let (account, _) = scene.run("account_get_id", json!([ann])).await;
        assert_eq!((&account["custom_id"], &account["email"]), (&json!("custom-id"), &json!("ann@example.com")));
        assert!(scene.refused("unlink_custom", json!([ann, "another"])).await.contains("cannot be unlinked"));
        scene.run("unlink_custom", json!([ann])).await;
        scene.run("unlink_email", json!([ann, "Ann@example.com"])).await;
        scene.run("unlink_device", json!([ann, "another-device"])).await;
        assert!(scene.refused("unlink_device", json!([ann, "device-of-ann"])).await.contains("cannot be unlinked"));
        let (account, _) = scene.run("account_get_id", json!([ann])).await;
        assert_eq!(account["devices"], json!([{ "id": "device-of-ann" }]));
        assert_eq!((account.get("custom_id"), account.get("email")), (None, None));
    });
}

#[test]
fn users_are_banned_pardoned_exported_and_deleted() {
    block_on(async {
        let scene = scene().await;
        scene.run("users_ban_id", json!([[scene.ann, NOBODY]])).await;
        assert!(scene.refused("authenticate_device", json!(["device-of-ann"])).await.contains("banned"));
        assert!(scene.refused("authenticate_token_generate", json!([scene.ann, "ann"])).await.contains("banned"));
        assert_ne!(scene.run("account_get_id", json!([scene.ann])).await.0["disable_time"], Value::Null);
        scene.run("users_unban_id", json!([[scene.ann]])).await;
        scene.run("authenticate_device", json!(["device-of-ann"])).await;
        let (export, _) = scene.run("account_export_id", json!([scene.ann])).await;
        let export: Value = serde_json::from_str(export.as_str().unwrap()).unwrap();
        assert_eq!(export["users"][0]["username"], "ann", "{export}");
        scene.run("account_delete_id", json!([scene.ann, true])).await;
        scene.run("account_delete_id", json!([scene.ann])).await;
        assert!(scene.refused("account_export_id", json!([scene.ann])).await.contains("There is no such account."));
        let system = "00000000-0000-0000-0000-000000000000";
        for name in ["account_delete_id", "account_export_id"] {
            assert!(scene.refused(name, json!([system])).await.contains("The system user cannot be"), "{name}");
        }
        let many: Vec<&str> = vec![NOBODY; 1_001];
        assert!(scene.refused("users_ban_id", json!([many])).await.contains("At most 1000 users"));
    });
}

#[test]
fn users_are_drawn_each_once() {
    block_on(async {
        let scene = scene().await;
        let ids = |list: &Value| {
            let id = |user: &Value| user["user_id"].as_str().unwrap().to_owned();
            let mut ids: Vec<String> = list.as_array().map(|list| list.iter().map(id).collect()).unwrap_or_default();
            ids.sort();
            ids
        };
        let (all, _) = scene.run("users_get_random", json!([100])).await;
        assert_eq!(ids(&all), [scene.ann.clone(), scene.bob.clone()]);
        let (one, _) = scene.run("users_get_random", json!([1])).await;
        assert_eq!(ids(&one).len(), 1);
        let (none, _) = scene.run("users_get_random", json!([0])).await;
        assert_eq!(ids(&none), Vec::<String>::new());
        assert!(scene.refused("users_get_random", json!([1_001])).await.contains("between 0 and 1000"));
    });
}

#[test]
fn parties_are_listed() {
    block_on(async {
        let scene = scene().await;
        let (list, cursor) = scene.run("party_list", json!([10, NONE, false, "*"])).await;
        assert_eq!((list, cursor), (json!({}), Value::Null), "an empty table has no kind");
        assert!(scene.refused("party_list", json!([101])).await.contains("between 1 and 100"));
        assert!(scene.refused("party_list", json!([10, true, false, "", "x"])).await.contains("cursor"));
    });
}
