// Makes the contexts of calls. An object written as a literal here costs a fraction of one whose properties are set
// from Rust.
(({ env, node, version }) => {
  const make = (
    executionMode,
    headers,
    queryParams,
    userId,
    username,
    userSessionExp,
    vars,
    sessionId,
    clientIp,
    clientPort,
    lang,
    traceId,
  ) => {
    const context = { env: { ...env }, executionMode, node, version };
    if (headers !== undefined) {
      context.headers = headers;
      context.queryParams = queryParams;
    }
    if (userId !== undefined) {
      context.userId = userId;
      context.username = username;
      context.userSessionExp = userSessionExp;
    }
    if (vars !== undefined) {
      context.vars = vars;
    }
    if (sessionId !== undefined) {
      context.sessionId = sessionId;
    }
    if (clientIp !== undefined) {
      context.clientIp = clientIp;
    }
    if (clientPort !== undefined) {
      context.clientPort = clientPort;
    }
    if (lang !== undefined) {
      context.lang = lang;
    }
    if (traceId !== undefined) {
      context.traceId = traceId;
    }
    return context;
  };
  // QuickJS shares the layout of objects, and of each stage of their growth, as long as one object of it exists.
  const grown = [];
  const names = [];
  for (const name of Object.keys(make("", {}, {}, "", "", 0, {}))) {
    names.push(name);
    const object = {};
    for (const name of names) {
      object[name] = null;
    }
    grown.push(object);
  }
  make.grown = grown;
  return make;
})
