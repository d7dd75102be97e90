import { inject, expect, it } from 'vitest';
import { Database } from '#domain/foundation/persistence/database.ts';
import { idleSessionTimeoutMs } from '#domain/foundation/persistence/session-options.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';

// A server that kept them would have none left after some failures of the network between it and its clients.
it('the server ends sessions that idle because their client vanished, of both pools and of listeners', async () => {
  const options = { url: inject('postgres').adminUrl, statementTimeoutMs: 2_000 };
  const [hot, orm] = [new Database(options), createOrm(options)];
  const listener = hot.newClient();
  const setting = `select setting from pg_settings where name = 'idle_session_timeout'`;
  try {
    await listener.connect();
    const settings = await Promise.all([
      hot.call('setting', setting, []),
      orm.em.fork().execute<object[]>(setting),
      listener.query<object>(setting).then(({ rows }) => rows),
    ]);
    const expected = { setting: String(idleSessionTimeoutMs) };
    expect(settings.flat()).toEqual([expected, expected, expected]);
  } finally {
    await Promise.all([listener.end(), hot.close(), orm.close(true)]);
  }
});
