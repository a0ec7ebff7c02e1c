-- Whether a revocation came with a ban, of which open sockets are told before they close. Servers that do not know the
-- column yet go on writing beside those that do.
ALTER TABLE muster_revocation ADD COLUMN banned boolean NOT NULL DEFAULT false;
