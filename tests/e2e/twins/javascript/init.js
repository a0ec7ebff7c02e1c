// Registers what the other files have, for the server that finds functions by their names in this one.

function InitModule(ctx, logger, nk, initializer) {
  runOnce(nk, initializer);
  initializer.registerRpc("once", once);
  initializer.registerRpc("digests", digests);
  initializer.registerRpc("encodings", encodings);
  initializer.registerRpc("ciphers", ciphers);
  initializer.registerRpc("web_token", webToken);
  initializer.registerRpc("signed_token", signedToken);
  initializer.registerRpc("passwords", passwords);
  initializer.registerRpc("chance", chance);
  initializer.registerRpc("crons", crons);
  initializer.registerRpc("json", json);
  initializer.registerRpc("clock", clock);
  initializer.registerRpc("cache", cache);
  initializer.registerRpc("sql", sql);
  initializer.registerRpc("metrics", metrics);
  initializer.registerRpc("http", http);
  initializer.registerRpc("file", file);
  initializer.registerRpc("context", context);
  initializer.registerRpc("config", configured);
  initializer.registerRpc("log", log);
  initializer.registerRpc("refuse", refuse);
  initializer.registerRpc("caught", caught);
  initializer.registerRpc("nothing", nothing);
  initializer.registerRpc("echo", echo);
  initializer.registerRpc("account_change", accountChange);
  initializer.registerRpc("accounts_read", accountsRead);
  initializer.registerRpc("account_export", accountExport);
  initializer.registerRpc("users_random", usersRandom);
  initializer.registerRpc("account_delete", accountDelete);
  initializer.registerRpc("sign_in", signIn);
  initializer.registerRpc("sign_in_wrong", signInWrong);
  initializer.registerRpc("session_token", sessionToken);
  initializer.registerRpc("links", links);
  initializer.registerRpc("bans", bans);
  initializer.registerRpc("storage_write", storageWrite);
  initializer.registerRpc("storage_read", storageRead);
  initializer.registerRpc("storage_pages", storagePages);
  initializer.registerRpc("storage_delete", storageDelete);
  initializer.registerRpc("storage_race", storageRace);
  initializer.registerRpc("wallet", wallet);
  initializer.registerRpc("wallets", wallets);
  initializer.registerRpc("ledger", ledger);
  initializer.registerRpc("ledger_note", ledgerNote);
  initializer.registerRpc("multi", multi);
  initializer.registerRpc("multi_refused", multiRefused);
  initializer.registerRpc("notify", notify);
  initializer.registerRpc("notifications", notifications);
  initializer.registerRpc("notify_all", notifyAll);
  initializer.registerRpc("chat", chat);
  initializer.registerRpc("stream_join", streamJoin);
  initializer.registerRpc("stream_talk", streamTalk);
  initializer.registerRpc("stream_leave", streamLeave);
  initializer.registerRpc("status", status);
  initializer.registerRpc("disconnect", disconnect);
  initializer.registerRpc("logout", logout);
  initializer.registerRpc("parties", parties);
  initializer.registerRpc("match_make", matchMake);
  initializer.registerRpc("match_find", matchFind);
  initializer.registerRpc("match_tell", matchTell);
  initializer.registerRpc("match_missing", matchMissing);
  initializer.registerMatch("relay", {
    matchInit: relayInit,
    matchJoinAttempt: relayJoinAttempt,
    matchJoin: relayJoin,
    matchLeave: relayLeave,
    matchLoop: relayLoop,
    matchTerminate: relayTerminate,
    matchSignal: relaySignal,
  });
  initializer.registerMatch("lobby", {
    matchInit: lobbyInit,
    matchJoinAttempt: lobbyJoinAttempt,
    matchJoin: lobbyJoin,
    matchLeave: lobbyLeave,
    matchLoop: lobbyLoop,
    matchTerminate: lobbyTerminate,
    matchSignal: lobbySignal,
  });
  initializer.registerMatch("turns", {
    matchInit: turnsInit,
    matchJoinAttempt: turnsJoinAttempt,
    matchJoin: turnsJoin,
    matchLeave: turnsLeave,
    matchLoop: turnsLoop,
    matchTerminate: turnsTerminate,
    matchSignal: turnsSignal,
  });
  initializer.registerMatch("signals", {
    matchInit: signalsInit,
    matchJoinAttempt: signalsJoinAttempt,
    matchJoin: signalsJoin,
    matchLeave: signalsLeave,
    matchLoop: signalsLoop,
    matchTerminate: signalsTerminate,
    matchSignal: signalsSignal,
  });
  initializer.registerMatch("warden", {
    matchInit: wardenInit,
    matchJoinAttempt: wardenJoinAttempt,
    matchJoin: wardenJoin,
    matchLeave: wardenLeave,
    matchLoop: wardenLoop,
    matchTerminate: wardenTerminate,
    matchSignal: wardenSignal,
  });
  initializer.registerMatch("ticker", {
    matchInit: tickerInit,
    matchJoinAttempt: tickerJoinAttempt,
    matchJoin: tickerJoin,
    matchLeave: tickerLeave,
    matchLoop: tickerLoop,
    matchTerminate: tickerTerminate,
    matchSignal: tickerSignal,
  });
}

// Keeps bundlers from leaving the function out.
!InitModule && InitModule.bind(null);
