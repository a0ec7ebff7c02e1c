// Makes the contexts of calls: an object that is written down here costs a fraction of one whose properties are set from
// outside.
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
    const context = { env: { ...env }, executionMode, node, version, headers, queryParams };
    if (userId !== undefined) {
      context.userId = userId;
      context.username = username;
      context.userSessionExp = userSessionExp;
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
  // The engine knows the form of an object, and of each that it was while it grew, for as long as there is one of it.
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
