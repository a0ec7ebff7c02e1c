//! Handlers that count their players in the join, as most do, let in as many as they have seats.

use super::{Hall, run};
use muster_script::value::Value;

/// Players who come at once.
const CROWD: u32 = 40;

/// Has a crowd come to a match with four seats. Checks that four players are let in, and that one player of the next
/// crowd gets a seat that has become free.
pub async fn four_are_let_in(hall: Hall) {
    hall.create(1, Value::Nil).await.unwrap();
    let answers = hall.crowd(1, CROWD).await;
    let (entered, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((entered.len(), refused.len()), (4, CROWD as usize - 4));
    assert!(refused.iter().all(|answer| *answer == Err("full".to_owned())), "{refused:?}");
    assert_eq!(hall.signal(1, "").await.unwrap(), "4");
    hall.lose(1, 2).await;
    // Three players of the crowd are in the match already, and are let in again.
    let answers = hall.crowd(1, CROWD).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 4);
    assert_eq!(hall.signal(1, "").await.unwrap(), "4");
    let (came, went): (Vec<_>, Vec<_>) = hall.came_and_went.take().into_iter().partition(|what| what.starts_with('+'));
    assert_eq!(came, ["+user-1", "+user-2", "+user-3", "+user-4", "+user-2"]);
    assert!(went.iter().all(|what| what.starts_with('!')), "{went:?}");
}

/// A handler in Lua with four seats.
pub const SEATS: &str = "
    function M.match_init() return { count = 0 }, 10, '' end
    function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
        if state.count >= 4 then return state, false, 'full' end
        return state, true
    end
    function M.match_join(context, dispatcher, tick, state, presences)
        state.count = state.count + #presences
        return state
    end
    function M.match_leave(context, dispatcher, tick, state, presences)
        state.count = state.count - #presences
        return state
    end
    function M.match_signal(context, dispatcher, tick, state, data) return state, tostring(state.count) end";

#[test]
fn four_seats_in_lua_take_four_players() {
    run(four_are_let_in(Hall::with(SEATS)));
    // The join callback of this handler waits for the database.
    let waits = "nk.storage_read({ { collection = 'a', key = 'b', user_id = '00000000-0000-0000-0000-000000000000' } })
        state.count = state.count + #presences";
    run(four_are_let_in(Hall::with(&SEATS.replace("state.count = state.count + #presences", waits))));
}
