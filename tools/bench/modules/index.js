// The function of `muster-bench rpc-js`: parses its payload and serialises it again.
function benchJs(ctx, logger, nk, payload) {
    return JSON.stringify(JSON.parse(payload));
}

// The function of `muster-bench rpc-js --waits-for URL`. While one call waits, others run in the same machine.
async function benchWait(ctx, logger, nk, payload) {
    await nk.promises.httpRequest(JSON.parse(payload).url, "get");
    return payload;
}

// The function for `--one-by-one`.
function benchWaitOneByOne(ctx, logger, nk, payload) {
    nk.httpRequest(JSON.parse(payload).url, "get");
    return payload;
}

// The functions of `muster-bench ticks --bombs`, which end only because the server ends them.
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
