//! Matches that go on while the code of new ones is another.

use muster_script::value::Value;

use super::{Hall, run};

fn says(text: &str) -> String {
    format!("function M.match_signal(context, dispatcher, tick, state, data) return state, '{text}' end")
}

#[test]
fn a_match_keeps_the_code_that_it_began_with() {
    let hall = Hall::with(&says("old"));
    // Before the runtime runs: loading needs one of its own.
    let later = [("new", 2), ("newer", 3)].map(|(text, generation)| (hall.program(&says(text)), generation));
    run(async {
        hall.create(1, Value::Nil).await.unwrap();
        for (number, (program, generation)) in (2..).zip(later) {
            hall.lua.renew(program, generation);
            hall.create(number, Value::Nil).await.unwrap();
        }
        hall.pass(1_000).await;
        for (number, text) in [(1, "old"), (2, "new"), (3, "newer")] {
            assert_eq!(hall.signal(number, "").await, Ok(text.to_owned()));
        }
    });
}

#[test]
fn machines_of_earlier_code_go_with_their_last_match() {
    let ends = "function M.match_signal() return nil end";
    let hall = Hall::with(ends);
    let program = hall.program(ends);
    run(async {
        for (number, generation) in (1..=3).zip(2..) {
            hall.create(number, Value::Nil).await.unwrap();
            hall.lua.renew(program.clone(), generation);
        }
        assert_eq!(hall.machines(), 3);
        for number in 1..=3 {
            let _ = hall.signal(number, "").await;
        }
        assert_eq!(hall.machines(), 0, "none would be of the code that there is");
    });
}
