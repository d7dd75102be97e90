import { expect, inject, it } from 'vitest';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';

/** One statement over each of a process's two database clients. */
async function overBoth(parameters: Record<string, string>): Promise<PromiseSettledResult<unknown>[]> {
  const address = new URL(inject('postgres').adminUrl);
  address.search = new URLSearchParams(parameters).toString();
  const options = { url: address.href, statementTimeoutMs: 2_000 };
  const [hot, orm] = [new Database(options), createOrm(options)];
  const reached = 'select inet_server_addr() as host';
  try {
    return await Promise.allSettled([
      hot.call('reached', reached, []),
      orm.em.fork().execute<object[]>(reached),
    ]);
  } finally {
    await Promise.all([hot.close(), orm.close(true)]);
  }
}

it('required TLS is enforced by the ORM as by hot SQL: a server without it is refused', async () => {
  const refused = {
    status: 'rejected',
    reason: expect.objectContaining({ message: expect.stringMatching(/SSL/) }),
  };
  expect(await overBoth({ sslmode: 'require' })).toEqual([refused, refused]);
});

it('a socket of the file system is used by both, and TCP by both without one', async () => {
  const sockets = new URL(inject('postgres').adminUrl).searchParams.get('host');
  const through = (host: string | null) => ({ status: 'fulfilled', value: [{ host }] });
  // A run whose folder path is too long for a socket has none.
  if (sockets !== null) expect(await overBoth({ host: sockets })).toEqual([through(null), through(null)]);
  expect(await overBoth({})).toEqual([through('127.0.0.1'), through('127.0.0.1')]);
});
