-- Whether a revocation came with a ban, of which open sockets are told before they close.
ALTER TABLE muster_revocation ADD COLUMN banned BOOLEAN INTEGER NOT NULL DEFAULT 0;
