/**
 * Longer than a pool keeps an idle connection and than the pauses between the heartbeats of a listener: a session that
 * idles for so long has lost its client.
 */
export const idleSessionTimeoutMs = 90_000;

/**
 * Settings of a session from its start. A client whose host or network vanished closes nothing; sessions that nobody uses
 * any more would take one place after the other of the server's `max_connections`.
 */
export const sessionOptions = `-c idle_session_timeout=${idleSessionTimeoutMs}`;
