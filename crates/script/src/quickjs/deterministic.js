// Clock and randomness of recorded matches, in place of JavaScript's builtins.
(function (now, fraction) {
    "use strict";
    const Original = Date;
    function MatchDate(...parts) {
        if (new.target === undefined) {
            return new Original(now()).toString();
        }
        return Reflect.construct(Original, parts.length === 0 ? [now()] : parts, new.target);
    }
    MatchDate.prototype = Original.prototype;
    Object.defineProperty(MatchDate, "name", { value: "Date", configurable: true });
    Object.defineProperty(MatchDate, "length", { value: 7, configurable: true });
    const method = (on, name, value) =>
        Object.defineProperty(on, name, { value, writable: true, enumerable: false, configurable: true });
    method(MatchDate, "now", () => now());
    method(MatchDate, "parse", Original.parse);
    method(MatchDate, "UTC", Original.UTC);
    method(Original.prototype, "constructor", MatchDate);
    method(globalThis, "Date", MatchDate);
    method(Math, "random", () => fraction());
    // When they tell that a value is gone depends on the collection of garbage, which is another one in every machine.
    delete globalThis.WeakRef;
    delete globalThis.FinalizationRegistry;
    if (typeof performance === "object") {
        // The functions of `performance` cannot be replaced, but the object can.
        method(globalThis, "performance", { now: () => now(), timeOrigin: 0 });
    }
})
