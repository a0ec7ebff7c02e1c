// What `muster-bench rpc-js` calls: reads its payload and writes it again.
function benchJs(ctx, logger, nk, payload) {
    return JSON.stringify(JSON.parse(payload));
}

function InitModule(ctx, logger, nk, initializer) {
    initializer.registerRpc("bench_js", benchJs);
}
