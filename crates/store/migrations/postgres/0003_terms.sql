-- Since when each job has its owner: what an earlier owner writes late changes nothing.
CREATE TABLE muster_term (
    job text NOT NULL,
    epoch bigint NOT NULL,
    CONSTRAINT muster_term_pkey PRIMARY KEY (job)
);
