-- The banned accounts by the time of their ban: each start looks for those that somebody else banned meanwhile.
CREATE INDEX users_disable_time_idx ON users (disable_time) WHERE disable_time <> 0;
