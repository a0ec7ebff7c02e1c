// One function that calls any function of the server, or a probe, and tells what came of it.

var probes = {
  echo: function (ctx, logger, nk) {
    return Array.prototype.slice.call(arguments, 3);
  },
};

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

var InitModule = function (ctx, logger, nk, initializer) {
  initializer.registerRpc("conformance_javascript", conformance);
};
