// What is played with the match handlers of the twins, step by step, and what players see of it. Data, as the calls are.
//
// A step is who does what: `joins`, `sends`, `leaves`, `hears` (the next message of the match), `sees` (who came or went
// next), `is refused`; and of other code `code signals` and `code finds`.

const PASSWORD = { password: "sesame" };
const LOBBY = "+label.mode:{topic}";

export const PLAYS = {
  relay: {
    params: { rate: 30 },
    steps: [
      ["ann", "joins"],
      ["ann", "sees", ["ann"], []],
      ["ann", "sends", 5, "alone"],
      ["bob", "joins"],
      ["ann", "sees", ["bob"], []],
      ["bob", "sees", ["bob"], []],
      ["bob", "sends", 7, "from bob"],
      ["ann", "hears", 107, "from bob", "bob"],
      ["ann", "sends", 8, "from ann"],
      ["bob", "hears", 108, "from ann", "ann"],
      ["code", "signals", "", "2"],
      ["bob", "leaves"],
      ["ann", "sees", [], ["bob"]],
      ["ann", "hears", 2, "left: 1"],
    ],
  },
  lobby: {
    params: { mode: "{topic}", seats: 1, password: "sesame" },
    steps: [
      ["code", "finds", `${LOBBY} +label.open:1`, [{ label: { mode: "{topic}", open: 1, taken: 0 }, size: 0 }]],
      ["ann", "is refused", {}, "the password is wrong"],
      ["ann", "joins", PASSWORD],
      ["ann", "hears", 1, '{"mode":"{topic}","open":1,"taken":0}'],
      ["code", "finds", `${LOBBY} +label.open:1`, []],
      ["bob", "is refused", PASSWORD, "the lobby is full"],
      ["code", "signals", "2", ""],
      ["code", "finds", `${LOBBY} +label.open:1`, [{ label: { mode: "{topic}", open: 1, taken: 1 }, size: 1 }]],
      ["bob", "joins", PASSWORD],
      ["bob", "hears", 1, '{"mode":"{topic}","open":1,"taken":1}'],
      ["ann", "leaves"],
      ["bob", "sees", ["bob"], []],
      ["bob", "sees", [], ["ann"]],
      ["code", "signals", "2", ""],
      ["code", "finds", `${LOBBY} +label.taken:>=1`, [{ label: { mode: "{topic}", open: 1, taken: 1 }, size: 1 }]],
    ],
  },
  turns: {
    params: {},
    steps: [
      ["ann", "joins"],
      ["code", "signals", "", '{"moves":0,"turn":1}'],
      ["bob", "joins"],
      ["ann", "hears", 2, "{ann}"],
      ["bob", "hears", 2, "{ann}"],
      ["bob", "sends", 1, '{"to":4}'],
      ["bob", "hears", 4, "not your turn"],
      ["ann", "sends", 1, '{"to":5}'],
      ["ann", "hears", 3, '{"moves":[5]}', "ann"],
      ["ann", "hears", 2, "{bob}"],
      ["bob", "hears", 3, '{"moves":[5]}', "ann"],
      ["bob", "hears", 2, "{bob}"],
      ["carl", "is refused", {}, "The match does not let you in."],
      ["bob", "sends", 1, '{"to":6}'],
      ["ann", "hears", 3, '{"moves":[5,6]}', "bob"],
      ["ann", "hears", 2, "{ann}"],
      ["code", "signals", "", '{"moves":2,"turn":1}'],
      ["bob", "leaves"],
      ["ann", "sees", ["ann"], []],
      ["ann", "sees", ["bob"], []],
      ["ann", "sees", [], ["bob"]],
      // The match is over, as its handler says when somebody goes.
      ["ann", "sees", [], ["ann"]],
    ],
  },
  signals: {
    params: { name: "{topic}" },
    steps: [
      ["ann", "joins"],
      ["code", "signals", '{"what":"say","code":9,"text":"hear"}', "done"],
      ["ann", "hears", 9, "hear"],
      ["code", "signals", '{"what":"keep"}', "kept"],
      ["code", "signals", '{"what":"ask"}', '{"heard":["say","keep","ask"],"ids":true,"label":"{topic}"}'],
      ["ann", "sees", ["ann"], []],
    ],
  },
  warden: {
    params: {},
    steps: [
      ["ann", "joins"],
      ["bob", "joins"],
      ["ann", "sees", ["ann"], []],
      ["ann", "sees", ["bob"], []],
      ["bob", "sees", ["bob"], []],
      ["bob", "sends", 1, "polite"],
      ["ann", "hears", 2, "polite"],
      ["bob", "hears", 2, "polite"],
      ["bob", "sends", 1, "rude"],
      ["bob", "sees", [], ["bob"]],
      ["ann", "sees", [], ["bob"]],
      ["ann", "hears", 2, "gone: {bob}"],
      ["bob", "joins"],
      ["bob", "sends", 3, ""],
      ["ann", "sees", ["bob"], []],
    ],
  },
  ticker: {
    params: {},
    steps: [
      ["ann", "joins"],
      ["ann", "hears", 30, "whole at 60"],
      ["ann", "hears", 60, "whole at 60"],
      ["ann", "hears", 90, "whole at 60"],
    ],
  },
};
