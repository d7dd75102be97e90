import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConnectorActors } from '../support/sources/connector-actors.ts';
import { eachOf, expectHeld, makeDocuments } from './many-documents.ts';
import { largeProviders, type LargeProvider } from './providers.ts';

/** Servers that are away for so long in the middle of a run; test/workflows has some seconds of it. */
const seconds = Number(process.env['OUTAGE_SECONDS'] ?? 60);
/** Several pages of each source, so that a part of them is still to come. */
const count = 1_500;
const served = new Set(['git', 'imap', 'postgres', 's3', 'web', 'webdav']);

let actors: ConnectorActors;
beforeAll(async () => {
  actors = await ConnectorActors.open();
}, 60_000);
afterAll(() => actors.stop());

for (const provider of largeProviders.filter(({ title }) => served.has(title))) {
  const { title, missing } = provider;
  it.skipIf(missing !== null)(
    `${title}: a run goes on after ${seconds} s without its server${missing === null ? '' : `: ${missing}`}`,
    () => outlive(provider),
    (5 * seconds + 300) * 1_000,
  );
}

async function outlive(provider: LargeProvider): Promise<void> {
  const server = await provider.start(count);
  try {
    const all = makeDocuments(count);
    await eachOf(all, provider.writers, ([name, text]) => server.put(name, text));
    const { space, begin, end } = await actors.connectTo(server);
    const id = await begin();
    const seen = async () => {
      const { rows } = await actors.world.admin.query<{ seen: number; over: boolean }>(
        'select records_fetched as seen, completed_at is not null as over from sync_runs where id = $1',
        [id],
      );
      return rows[0] ?? { seen: 0, over: false };
    };
    await expect.poll(async () => (await seen()).seen, { timeout: 60_000, interval: 20 }).toBeGreaterThan(0);
    await server.stop();
    await sleep(seconds * 1_000);
    const missed = await seen();
    expect(missed.over).toBe(false);
    expect(missed.seen).toBeLessThan(count);
    await server.start();
    const run = await end(id, (4 * seconds + 180) * 1_000);
    expect(run).toMatchObject({ status: 'completed', added: count, failed: 0, skipped: 0 });
    await expectHeld(space, all, provider);
    console.log(`${provider.title}: ${missed.seen} of ${count} documents before, ${run.attempts} attempts`);
  } finally {
    await server.close();
  }
}
