-- Since when each job has its owner: what an earlier owner writes late changes nothing.
CREATE TABLE muster_term (
    job TEXT NOT NULL PRIMARY KEY,
    epoch INTEGER NOT NULL
) WITHOUT ROWID;
