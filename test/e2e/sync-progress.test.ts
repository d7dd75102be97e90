import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { joinSpace } from '../support/knowledge-gateway.ts';
import { ConnectorActors } from '../support/sources/connector-actors.ts';
import { isEvent, splitFrames } from '../support/sse-frames.ts';
import { masterKey } from '../support/stack.ts';

let actors: ConnectorActors;
let gateway: TestGateway;
let origin: string;

beforeAll(async () => {
  actors = await ConnectorActors.open();
  gateway = await openGateway(actors.world);
  await gateway.app.listen({ host: '127.0.0.1', port: 0 });
  origin = `http://127.0.0.1:${(gateway.app.server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await gateway?.close();
  await actors?.stop();
});

interface Run {
  status: string;
  records_fetched: number;
  metadata: { rate: number | null; bytes: number } & Record<string, unknown>;
}

/** Records of a run, as its stream sends them. */
async function* follow(address: string, key: string): AsyncGenerator<Run> {
  const answer = await fetch(address, { headers: { 'x-api-key': key, accept: 'text/event-stream' } });
  let rest = new Uint8Array();
  for await (const bytes of answer.body!) {
    const split = splitFrames(Buffer.concat([rest, bytes]));
    rest = Uint8Array.from(split.rest);
    for (const frame of split.frames.filter(isEvent)) yield frame.json as unknown as Run;
  }
}

it('the stream of a run shows its counts, its rate and what remains while it runs', async () => {
  const { source, space, sync, begin } = await actors.connect({ a0: 'A0.', a1: 'A1.', a2: 'A2.' });
  await sync();
  for (const ref of ['b0', 'b1', 'b2', 'c0', 'c1']) source.put(ref, `Document ${ref}.`);
  let seen = -1;
  source.before = async (request, argument) => {
    if (request === 'fetch' && argument === 'b2') {
      throw new SourceFailure('source_invalid', 'The source sends no document.');
    }
    if (request === 'list') {
      // A page comes when the counts of those before it have been read.
      while (seen < Number(argument)) await sleep(20);
    }
  };
  const secrets = new Secrets(masterKey);
  const { key } = await joinSpace({ ...actors.world, secrets }, 'space_admin', space.fixture);
  const runId = await begin();
  const { collectionId, connectorId } = space.ref;
  const path = `/api/v1/spaces/${space.fixture.spaceId}/collections/${collectionId}/connectors/${connectorId}/sync/${runId}`;
  const shown: Run[] = [];
  for await (const run of follow(`${origin}${path}`, key)) {
    if (run.records_fetched > seen || run.status !== 'running') shown.push(run);
    seen = run.records_fetched;
  }
  const counts = shown.map(({ status, records_fetched: fetched, metadata }) => {
    const { unchanged, added, failed, total, remaining } = metadata;
    return [status, { fetched, unchanged, added, failed, total, remaining }];
  });
  const end = { fetched: 8, unchanged: 3, added: 4, failed: 1, total: 8, remaining: 0 };
  expect(counts.slice(-3)).toEqual([
    ['running', { fetched: 3, unchanged: 3, added: 0, failed: 0, total: 8, remaining: 5 }],
    ['running', { fetched: 6, unchanged: 3, added: 2, failed: 1, total: 8, remaining: 2 }],
    ['completed_with_errors', end],
  ]);
  const [, second, last] = shown.slice(-3).map(({ metadata }) => metadata);
  expect(second!.bytes).toBe('Document b0.'.length * 2);
  expect(last!.bytes).toBe('Document b0.'.length * 4);
  for (const { metadata } of shown.slice(-3)) expect(metadata.rate).toBeGreaterThan(0);
});
