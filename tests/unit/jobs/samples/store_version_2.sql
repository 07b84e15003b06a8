-- A store as version 2 of its schema left it: one job in each state.
CREATE TABLE pool(
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  paused INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE instance(
  pool INTEGER NOT NULL,
  number INTEGER NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0,
  processed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(pool, number)) STRICT, WITHOUT ROWID;
CREATE TABLE job(
  seq INTEGER PRIMARY KEY,
  pool INTEGER NOT NULL,
  state INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  enqueued_at INTEGER NOT NULL,
  at INTEGER NOT NULL,
  id TEXT NOT NULL,
  key TEXT,
  result TEXT,
  event TEXT) STRICT;
CREATE UNIQUE INDEX job_id ON job(pool, id);
CREATE INDEX job_waiting ON job(pool) WHERE state = 0;
CREATE INDEX job_dead ON job(pool) WHERE state = 2;
CREATE TABLE failure(
  seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  at INTEGER NOT NULL,
  what TEXT NOT NULL,
  PRIMARY KEY(seq, attempt)) STRICT, WITHOUT ROWID;
ALTER TABLE job ADD COLUMN log TEXT;
CREATE TABLE memo(name TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
PRAGMA application_id = 0x6D737472;
PRAGMA user_version = 2;
INSERT INTO pool(number, name, paused) VALUES(1, 'mails', 1);
INSERT INTO instance(pool, number, paused, processed) VALUES(1, 0, 0, 41);
INSERT INTO memo VALUES('nightly', 7);
INSERT INTO job(seq, pool, state, priority, attempts, turn, enqueued_at, at, id, key, result, event, log) VALUES
  (3, 1, 0, 5, 1, 2, 100, 200, 'waits', 'k', NULL, '{"a":1}', 'one'),
  (4, 1, 1, 0, 0, 3, 101, 201, 'done', NULL, '42', '{"a":2}', NULL),
  (5, 1, 2, -1, 2, 4, 102, 202, 'dead', 'k', NULL, '{"a":3}', NULL),
  (6, 1, 3, 0, 0, 5, 103, 203, 'cancelled', NULL, NULL, '{"a":4}', NULL),
  (9, 1, 1, 0, 1, 6, 104, 204, 'emptied', NULL, NULL, NULL, NULL);
INSERT INTO failure(seq, attempt, kind, at, what) VALUES (3, 1, 0, 150, 'no'), (5, 2, 0, 160, 'never'), (10, 1, 0, 170, 'of a job that is gone');
