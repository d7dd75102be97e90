import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { getActiveResourcesInfo } from 'node:process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createResolve } from '#adapters/egress/resolve-names.ts';

/** Answers queries for `good` and `four`, and no others. */
let server: Socket;
let address: string;

beforeAll(async () => {
  server = createSocket('udp4');
  server.on('message', (question, { port, address: from }) => {
    const end = question.indexOf(0, 12) + 5;
    const asked = question.subarray(12, end);
    const isFour = question.readUInt16BE(end - 4) === 1;
    if (!/good|four/.test(asked.toString('latin1'))) return;
    const bytes = isFour ? [93, 184, 215, 14] : [0x26, 6, ...Array.from({ length: 13 }, () => 0), 1];
    const has = isFour || asked.includes('good');
    const head = Buffer.from([0x81, 0x80, 0, 1, 0, has ? 1 : 0, 0, 0, 0, 0]);
    const answer = [0xc0, 12, 0, isFour ? 1 : 28, 0, 1, 0, 0, 0, 9, 0, bytes.length, ...bytes];
    const parts = [question.subarray(0, 2), head, asked, Buffer.from(has ? answer : [])];
    server.send(Buffer.concat(parts), port, from);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  address = `127.0.0.1:${server.address().port}`;
});
afterAll(() => server.close());

const resolved = (name: string) =>
  new Promise((resolve, reject) => {
    createResolve([address])(name, (error, addresses) => {
      if (error === null) resolve(addresses.map((each) => each.address));
      else reject(error);
    });
  });

it('a name leads to its addresses of both kinds, or to those that it has', async () => {
  expect(await resolved('good.example')).toEqual(['93.184.215.14', '2606::1']);
  expect(await resolved('four.example')).toEqual(['93.184.215.14']);
});

it('a name that is never answered blocks no thread, and is given up', { timeout: 40_000 }, async () => {
  const silent = Array.from({ length: 20 }, (_, n) => resolved(`silent-${n}.example`));
  expect(getActiveResourcesInfo()).not.toContain('GetAddrInfoReqWrap');
  const failures = await Promise.allSettled(silent);
  expect(failures.map((each) => (each.status === 'rejected' ? each.reason : each))).toEqual(
    silent.map(() => expect.objectContaining({ code: 'ETIMEOUT' }) as unknown),
  );
});

it('names from tenants are not looked up in the shared thread pool', async () => {
  const fetch = createGuardedFetch([]);
  const asked = fetch('https://name.invalid/').catch(() => undefined);
  await new Promise(setImmediate);
  expect(getActiveResourcesInfo()).not.toContain('GetAddrInfoReqWrap');
  await asked;
});
