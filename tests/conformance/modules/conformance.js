// One function that calls any function of the server, or a probe, and tells what came of it.

function caught(run) {
  try {
    return [true, shown(run())];
  } catch (error) {
    return [false, shownError(error)];
  }
}

function deep(n) {
  return n === 0 ? 0 : 1 + deep(n - 1);
}

// Pieces of game code whose behaviour is a server's: errors, numbers, and what a language does by itself.
var probes = {
  echo: function (ctx, logger, nk) {
    return Array.prototype.slice.call(arguments, 3);
  },
  error_of_server: function (ctx, logger, nk) {
    return caught(function () {
      nk.accountGetId("x");
    });
  },
  error_of_server_parts: function (ctx, logger, nk) {
    try {
      nk.accountGetId(nk.uuidv4());
    } catch (error) {
      return [typeof error, error instanceof Error, Object.keys(error).sort().join(" "), typeof error.code, typeof error.stack];
    }
  },
  global_undeclared: function () {
    return caught(function () {
      conformance_global = 7;
      return typeof conformance_global;
    });
  },
  global_kept: function () {
    return typeof conformance_global;
  },
  global_declared: function () {
    return caught(function () {
      declared.count += 1;
      return declared.count;
    });
  },
  global_replaced: function () {
    return caught(function () {
      replaced = 1;
      return replaced;
    });
  },
  global_object_write: function () {
    return caught(function () {
      globalThis.markOfProbe = 7;
      var kind = typeof globalThis.markOfProbe;
      delete globalThis.markOfProbe;
      return kind;
    });
  },
  prototype_write: function () {
    return caught(function () {
      Array.prototype.conformance = 7;
      var kind = typeof [].conformance;
      delete Array.prototype.conformance;
      return kind;
    });
  },
  builtin_write: function () {
    return caught(function () {
      Math.conformance = 7;
      var kind = typeof Math.conformance;
      delete Math.conformance;
      return kind;
    });
  },
  nk_write: function (ctx, logger, nk) {
    return caught(function () {
      nk.conformance = 7;
      var kind = typeof nk.conformance;
      delete nk.conformance;
      return kind;
    });
  },
  context_write: function (ctx) {
    return caught(function () {
      ctx.conformance = 7;
      return typeof ctx.conformance;
    });
  },
  env_write: function (ctx) {
    return caught(function () {
      ctx.env.conformance = "7";
      return typeof ctx.env.conformance;
    });
  },
  error_name: function () {
    return caught(function () {
      var error = new Error("boom");
      error.name = "Mine";
      return error.name;
    });
  },
  deep_calls: function () {
    return caught(function () {
      return deep(150);
    });
  },
  deeper_calls: function () {
    return caught(function () {
      return deep(1500);
    });
  },
  globals: function () {
    return [
      "Map", "Set", "WeakMap", "Symbol", "Promise", "Proxy", "Reflect", "BigInt", "Intl", "globalThis", "console",
      "setTimeout", "require", "process", "fetch", "TextEncoder", "Uint8Array", "DataView", "nkruntime", "eval",
      "Function", "WebAssembly", "Atomics", "structuredClone",
    ].map(function (name) {
      return name + ":" + typeof globalThis[name];
    }).join(" ");
  },
  syntax: function () {
    return ["a?.b", "a ?? b", "({...a})", "async () => 1", "class A { #b = 1 }", "1n", "a ||= 1", "`x`", "let {b, ...c} = a", "function* f() {}", "for (const x of []) {}", "/(?<n>a)/u", "/(?<=a)b/", "try {} catch {}", "1_000", "2 ** 3"].map(
      function (text) {
        try {
          new Function("a", "b", text);
          return text + ":yes";
        } catch (error) {
          return text + ":" + error.name;
        }
      },
    );
  },
  json_numbers: function () {
    return JSON.stringify([1e20, 1e21, 0.1, -0, 1e-7, NaN, Infinity]);
  },
  binary_to_string: function (ctx, logger, nk) {
    return caught(function () {
      return nk.binaryToString(nk.stringToBinary("ü"));
    });
  },
  context_names: function (ctx) {
    return Object.keys(ctx).sort().join(" ");
  },
  nk_kind: function (ctx, logger, nk) {
    return [typeof nk, typeof logger, Object.keys(logger).sort().join(" ")];
  },
  logger_calls: function (ctx, logger) {
    return caught(function () {
      logger.info("%s and %d", "words", 7);
      logger.withField("a", 1).withFields({ b: 2 }).debug("words");
      return typeof logger.getFields();
    });
  },
  stack_kind: function () {
    return typeof new Error("boom").stack;
  },
};

var declared = { count: 0 };
var replaced = 0;

function fromHex(text) {
  var bytes = new Uint8Array(text.length / 2);
  for (var index = 0; index < bytes.length; index += 1) {
    bytes[index] = parseInt(text.substr(index * 2, 2), 16);
  }
  return bytes.buffer;
}

function toHex(buffer) {
  var bytes = new Uint8Array(buffer);
  var text = "";
  for (var index = 0; index < bytes.length; index += 1) {
    text += (bytes[index] + 256).toString(16).slice(1);
  }
  return text;
}

// A value that JSON can hold; texts stand for the others.
function shown(value) {
  if (value === undefined) {
    return "(undefined)";
  }
  if (typeof value === "function") {
    return "(function)";
  }
  if (typeof value === "number" && !isFinite(value)) {
    return "(number)";
  }
  if (value instanceof ArrayBuffer) {
    return "(bytes) " + toHex(value);
  }
  return value;
}

// An error as a caller sees it: its kind, and the fields that it has beside its sentence.
function shownError(error) {
  if (error === null || typeof error !== "object") {
    return { thrown: shown(error) };
  }
  var told = { is_error: error instanceof Error };
  if (error.name !== undefined) {
    told.name = error.name;
  }
  if (error.message !== undefined) {
    told.message = String(error.message);
  }
  if (error.code !== undefined) {
    told.code = error.code;
  }
  return told;
}

function conformance(ctx, logger, nk, payload) {
  var request = JSON.parse(payload);
  var given = request.arguments.map(function (argument) {
    return argument.bytes !== undefined ? fromHex(argument.bytes) : argument.value;
  });
  var name = request["function"];
  var isProbe = name.indexOf("probe:") === 0;
  var run = isProbe ? probes[name.slice(6)] : nk[name];
  if (run === undefined) {
    return JSON.stringify({ missing: name });
  }
  try {
    var result = isProbe ? run.apply(null, [ctx, logger, nk].concat(given)) : run.apply(nk, given);
    return JSON.stringify({ result: shown(result) });
  } catch (error) {
    return JSON.stringify({ error: shownError(error) });
  }
}

function echo(ctx, logger, nk, payload) {
  return payload;
}

function nothing() {}

// The context, with a fixed text for what differs from call to call.
function context(ctx) {
  var told = {};
  Object.keys(ctx).forEach(function (name) {
    told[name] = ctx[name];
  });
  ["clientIp", "clientPort", "node", "version", "userSessionExp", "traceId"].forEach(function (name) {
    told[name] = told[name] === undefined ? undefined : typeof told[name];
  });
  told.env = told.env && told.env.GAME;
  if (told.headers) {
    told.headers = { mine: told.headers["X-Mine"], kind: typeof told.headers };
  }
  return JSON.stringify(told);
}

function contextKeys(ctx) {
  return Object.keys(ctx).sort().join(" ");
}

var failures = {
  error_text: function () {
    throw new Error("boom");
  },
  error_table: function () {
    throw { message: "boom", code: 9 };
  },
  error_table_code_only: function () {
    throw { code: 9 };
  },
  error_code_zero: function () {
    throw { message: "boom", code: 0 };
  },
  error_code_text: function () {
    throw { message: "boom", code: "9" };
  },
  error_code_big: function () {
    throw { message: "boom", code: 1001 };
  },
  error_status: function () {
    throw ["boom", 9];
  },
  error_nil: function () {
    throw null;
  },
  error_number: function () {
    throw 7;
  },
  error_flag: function () {
    throw true;
  },
  error_nested: function () {
    try {
      throw { message: "boom", code: 9 };
    } catch (failure) {
      throw failure;
    }
  },
  error_of_server: function (nk) {
    nk.accountGetId("not an id");
  },
  error_of_server_again: function (nk) {
    try {
      nk.accountGetId("not an id");
    } catch (failure) {
      throw failure;
    }
  },
  return_status: function () {
    return '{"a":1}', 401;
  },
  return_status_only: function () {
    return null;
  },
  return_nil_text: function () {
    return undefined;
  },
  return_number: function () {
    return 7;
  },
  return_table: function () {
    return { a: 1 };
  },
  return_flag: function () {
    return true;
  },
  return_two: function () {
    return ["a", "b"];
  },
};

function failing(ctx, logger, nk, payload) {
  return failures[payload](nk);
}

// A match that tells its players what it is asked, and does what it is told.

function matchInit(ctx, logger, nk, params) {
  params = params || {};
  return { state: { params: params, asked: null }, tickRate: params.rate || 10, label: params.label || "" };
}

function matchJoinAttempt(ctx, logger, nk, dispatcher, tick, state, presence, metadata) {
  var names = Object.keys(ctx).sort().join(" ");
  state.asked = { context: names, presence: Object.keys(presence).sort().join(" "), metadata: metadata };
  if (metadata.answer === "refuse") {
    return { state: state, accept: false };
  }
  if (metadata.answer === "reason") {
    return { state: state, accept: false, rejectMessage: "not today" };
  }
  if (metadata.answer === "error") {
    throw new Error("boom");
  }
  if (metadata.answer === "nothing") {
    return null;
  }
  return { state: state, accept: true };
}

function matchJoin(ctx, logger, nk, dispatcher, tick, state, presences) {
  dispatcher.broadcastMessage(1, "joined " + presences.length);
  return { state: state };
}

function matchLeave(ctx, logger, nk, dispatcher, tick, state, presences) {
  dispatcher.broadcastMessage(2, "left " + presences.length);
  return { state: state };
}

function matchLoop(ctx, logger, nk, dispatcher, tick, state, messages) {
  for (var index = 0; index < messages.length; index += 1) {
    var message = messages[index];
    if (message.opCode === 101) {
      return null;
    } else if (message.opCode === 102) {
      throw new Error("boom");
    } else if (message.opCode === 103) {
      dispatcher.matchKick([message.sender]);
    } else if (message.opCode === 104) {
      dispatcher.matchLabelUpdate(nk.binaryToString(message.data));
    } else if (message.opCode === 105) {
      dispatcher.broadcastMessage(5, null, [message.sender], message.sender);
    } else if (message.opCode === 106) {
      var kind = message.data === null ? "null" : typeof message.data;
      dispatcher.broadcastMessage(6, Object.keys(message).sort().join(" ") + " " + kind);
    } else if (message.opCode === 107) {
      return;
    } else if (message.opCode === 108) {
      dispatcher.broadcastMessage(8, "to one presence in place of a list", message.sender);
      dispatcher.broadcastMessage(9, "behind it");
    } else {
      dispatcher.broadcastMessage(message.opCode, message.data, null, message.sender);
    }
  }
  return { state: state };
}

function matchTerminate(ctx, logger, nk, dispatcher, tick, state, graceSeconds) {
  dispatcher.broadcastMessage(3, "over in " + graceSeconds);
  return { state: state };
}

function matchSignal(ctx, logger, nk, dispatcher, tick, state, data) {
  if (data === "asked") {
    return { state: state, data: JSON.stringify(state.asked) };
  }
  if (data === "nothing") {
    return { state: state };
  }
  if (data === "number") {
    return { state: state, data: 7 };
  }
  if (data === "end") {
    return null;
  }
  if (data === "error") {
    throw new Error("boom");
  }
  return { state: state, data: data };
}

// Hooks in JavaScript: each does what a word in the message says.

function hooked(word, message) {
  if (word === "refuse") {
    throw new Error("boom");
  } else if (word === "refuse_code") {
    throw { message: "boom", code: 9 };
  } else if (word === "refuse_big") {
    throw { message: "boom", code: 1001 };
  } else if (word === "refuse_null") {
    throw null;
  } else if (word === "nothing") {
    return null;
  } else if (word === "undefined") {
    return undefined;
  } else if (word === "number") {
    return 7;
  } else if (word === "text") {
    return "words";
  } else if (word === "empty") {
    return {};
  } else if (word === "unknown") {
    message.unknownField = 7;
  } else if (word === "type") {
    message.vars = 7;
  }
  return message;
}

function beforeLinkCustom(ctx, logger, nk, data) {
  var word = (data.id || "").split(" ")[0];
  if (word === "change") {
    data.id = data.id.replace("change ", "changed-");
  }
  return hooked(word, data);
}

function afterLinkCustom(ctx, logger, nk, data, request) {
  nk.localcachePut("after " + ctx.userId, JSON.stringify([data === null ? "null" : typeof data, request]));
  if ((request.id || "").indexOf("after-fails") === 0) {
    throw new Error("boom");
  }
}

function beforeListNotifications(ctx, logger, nk, data) {
  return hooked({ 11: "nothing", 12: "refuse", 13: "refuse_code" }[data.limit], data);
}

function beforeDeleteAccount(ctx, logger, nk, data) {
  if (ctx.username.indexOf("hooked") === 0) {
    var kind = data === null ? "null" : typeof data;
    throw { message: kind + " boom", code: 9 };
  }
  return data;
}

function beforeChannelJoin(ctx, logger, nk, envelope) {
  var word = envelope.channelJoin.target.split("~")[0];
  if (word === "refuse") {
    throw new Error("boom");
  } else if (word === "refuse_code") {
    throw { message: "boom", code: 9 };
  } else if (word === "nothing") {
    return null;
  } else if (word === "change") {
    envelope.channelJoin.target = envelope.channelJoin.target.replace("change~", "changed-");
  } else if (word === "names") {
    throw { message: "boom " + JSON.stringify(envelope), code: 3 };
  } else if (word === "cid") {
    envelope.cid = "other";
  } else if (word === "unknown") {
    envelope.channelJoin.unknownField = 7;
  }
  return envelope;
}

// What came into the language after the version that the original's engine has.

probes.newer_builtins = function () {
  return [
    "Array.prototype.findLast", "Array.prototype.toSorted", "Object.groupBy", "String.prototype.isWellFormed",
    "Promise.withResolvers", "Set.prototype.union", "Iterator",
  ].map(function (name) {
    var value = name.split(".").reduce(function (at, part) {
      return at === undefined ? undefined : at[part];
    }, globalThis);
    return name + ":" + typeof value;
  }).join(" ");
};

probes.newer_syntax = function () {
  return ["class A { static { } }", "async function* f() {}", "for await (const a of []) {}", "/[a--b]/v", "/a/d"].map(
    function (text) {
      try {
        new Function("return async function () { " + text + " }");
        return text + ":yes";
      } catch (error) {
        return text + ":" + error.name;
      }
    },
  );
};

probes.nkruntime = function () {
  return typeof nkruntime === "undefined" ? "none" : [nkruntime.Codes.NOT_FOUND, nkruntime.SystemUserId];
};

var InitModule = function (ctx, logger, nk, initializer) {
  initializer.registerRpc("conformance_javascript", conformance);
  initializer.registerRpc("echo_javascript", echo);
  initializer.registerRpc("nothing_javascript", nothing);
  initializer.registerRpc("context_javascript", context);
  initializer.registerRpc("context_keys_javascript", contextKeys);
  initializer.registerRpc("failing_javascript", failing);
  initializer.registerMatch("conformance_match_javascript", {
    matchInit: matchInit,
    matchJoinAttempt: matchJoinAttempt,
    matchJoin: matchJoin,
    matchLeave: matchLeave,
    matchLoop: matchLoop,
    matchTerminate: matchTerminate,
    matchSignal: matchSignal,
  });
  initializer.registerBeforeLinkCustom(beforeLinkCustom);
  initializer.registerAfterLinkCustom(afterLinkCustom);
  initializer.registerBeforeListNotifications(beforeListNotifications);
  initializer.registerBeforeDeleteAccount(beforeDeleteAccount);
  initializer.registerRtBefore("ChannelJoin", beforeChannelJoin);
};
