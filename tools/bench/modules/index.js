// What `muster-bench rpc-js` calls: reads its payload and writes it again.
function benchJs(ctx, logger, nk, payload) {
    return JSON.stringify(JSON.parse(payload));
}

// What `muster-bench rpc-js --waits-for URL` calls: while one call waits others begin, in the same machine.
async function benchWait(ctx, logger, nk, payload) {
    await nk.promises.httpRequest(JSON.parse(payload).url, "get");
    return payload;
}

// The same with `--one-by-one`.
function benchWaitOneByOne(ctx, logger, nk, payload) {
    nk.httpRequest(JSON.parse(payload).url, "get");
    return payload;
}

// What `muster-bench ticks --bombs` calls: it ends only because the server ends it.
const bombs = {
    loop() {
        for (;;);
    },
    memory() {
        for (const all = []; ; ) {
            all.push("x".repeat(10000) + all.length);
        }
    },
    text() {
        return "x".repeat(2 ** 29);
    },
    pattern() {
        return /(a+)+b/.test("a".repeat(100000));
    },
};

function benchBomb(ctx, logger, nk, kind) {
    bombs[kind]();
    return kind;
}

function InitModule(ctx, logger, nk, initializer) {
    initializer.registerRpc("bench_js", benchJs);
    initializer.registerRpc("bench_bomb_js", benchBomb);
    initializer.registerRpc("bench_wait_js", benchWait);
    initializer.registerRpc("bench_wait_js_one_by_one", benchWaitOneByOne);
}
