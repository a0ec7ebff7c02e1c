// Routes of routes.test.mjs; twin of ../lua/web.lua.

function show(ctx, logger, nk, request) {
  return {
    status: 201,
    headers: { "Content-Type": "application/json", "X-Many": ["one", "two"] },
    body: JSON.stringify({
      mode: ctx.executionMode,
      method: request.method,
      path: request.path,
      params: request.pathParams,
      query: request.query.tag,
      header: request.headers["X-Asked"],
      body: nk.base64Encode(request.body),
      has_address: Boolean(request.clientIp),
    }),
  };
}

function best() {
  return "the best";
}

function bytes(ctx, logger, nk) {
  const body = new Uint8Array([0, 255, ...new Uint8Array(nk.stringToBinary("bytes"))]);
  return { body, headers: { "Content-Type": "application/octet-stream", "Cache-Control": "max-age=60" } };
}

function nothing() {}

function broken() {
  throw { message: "a secret of the studio", code: 9 };
}

function unfit() {
  return { status: 1000 };
}

function endless() {
  for (;;);
}

// What a webhook of a shop would do.
function paid(ctx, logger, nk, request) {
  if (request.headers["X-Signature"] === undefined) {
    return { status: 403, body: "not signed" };
  }
  const { user, gems } = JSON.parse(nk.binaryToString(request.body));
  const { updated } = nk.walletUpdate(user, { gems }, {}, true);
  return JSON.stringify({ gems: updated.gems });
}

// Large enough to be compressed.
function large() {
  return { body: "a".repeat(4000), headers: { Vary: "Origin" } };
}

// Calls somebody twice.
function calls(ctx, logger, nk, request) {
  for (const place of ["/first", "/second"]) {
    nk.httpRequest(request.query.url[0] + place, "get", {});
  }
}

function InitModule(ctx, logger, nk, initializer) {
  initializer.registerHttp("/shop/{item}/{rest...}", show, "GET", "POST");
  initializer.registerHttp("/shop/best/of", best, "GET");
  initializer.registerHttp("/bytes", bytes);
  initializer.registerHttp("/nothing", nothing, "DELETE");
  initializer.registerHttp("/broken", broken);
  initializer.registerHttp("/unfit", unfit);
  initializer.registerHttp("/endless", endless);
  initializer.registerHttp("/hooks/paid", paid, "POST");
  initializer.registerHttp("/large", large, "GET");
  initializer.registerHttp("/calls", calls, "GET");
}
