import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinSpace, type Client } from '../support/knowledge-gateway.ts';
import { openWorld, type KnowledgeWorld } from '../support/knowledge-world.ts';
import { LiveMemory, reportsLiveMemory } from '../support/live-memory.ts';
import { masterKey, startStack, type Stack } from '../support/stack.ts';

const fileBytes = 104_857_600;
const mebibyte = 1_048_576;

let world: KnowledgeWorld;
let stack: Stack;
let client: Client;
let collection: string;

beforeAll(async () => {
  world = await openWorld({ masterKey });
  stack = await startStack({ database: world.database, gateways: 1, workers: 0, env: reportsLiveMemory });
  client = await joinSpace(world);
  const made = await post('', { body: '{"name":"C"}', headers: { 'content-type': 'application/json' } });
  collection = ((await made.json()) as { data: { id: string } }).data.id;
});
afterAll(async () => {
  await stack?.stop();
  await world?.stop();
});

const base = () => `${stack.gateways[0]!.url}/api/v1/spaces/${client.spaceId}/collections`;

const post = (path: string, { headers, ...init }: RequestInit) =>
  fetch(`${base()}${path}`, {
    ...init,
    method: 'POST',
    headers: { 'x-api-key': client.key, ...(headers as Record<string, string>) },
  });

/** Text that is different in each piece. `beforeLast` is awaited when all but the last piece have been taken. */
async function* content(seed: string, bytes: number, beforeLast: () => Promise<unknown>) {
  for (let sent = 0, n = 0; sent < bytes; n += 1) {
    const piece = Buffer.alloc(Math.min(65_536, bytes - sent), `${seed} ${n} words of a file. `);
    sent += piece.length;
    if (sent === bytes) await beforeLast();
    yield piece;
  }
}

const streamed = (source: AsyncIterable<Uint8Array>) =>
  ({ body: Readable.toWeb(Readable.from(source)) as ReadableStream, duplex: 'half' }) as RequestInit;

const upload = async (seed: string, bytes: number, beforeLast = async () => {}) => {
  const path = `/${collection}/documents/content?filename=${seed}.txt`;
  const answer = await post(path, streamed(content(seed, bytes, beforeLast)));
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { data: { id: string; content_hash: string } }).data;
};

/** @returns the hash of the content; `meanwhile` is awaited after the first piece, with the rest unread. */
const download = async (id: string, meanwhile = async () => {}) => {
  const answer = await fetch(`${base()}/${collection}/documents/${id}/content`, {
    headers: { 'x-api-key': client.key },
  });
  const digest = createHash('sha256');
  let pieces = 0;
  for await (const piece of answer.body!) {
    digest.update(piece);
    if ((pieces += 1) === 1) await meanwhile();
  }
  return digest.digest('hex');
};

describe('a file of a hundred mebibytes', () => {
  it(
    'is received and sent with a fraction of it in memory, of which none stays, and comes back whole',
    { timeout: 180_000 },
    async () => {
      const memory = new LiveMemory(stack.gateways[0]!);
      await download((await upload('warm', 8 * mebibyte)).id);
      const before = await memory.read();
      const grown = async () => (await memory.read()) - before;
      /** The most that was live at any reading while `work` ran. */
      const peakOf = async (work: (read: () => Promise<void>) => Promise<void>) => {
        let peak = 0;
        const read = async () => {
          peak = Math.max(peak, await grown());
        };
        const ended = new AbortController();
        const working = work(read).finally(() => ended.abort());
        // A collection stops the gateway for a moment: read without a pause, it would do little else.
        while (!ended.signal.aborted) {
          await Promise.race([working, read()]);
          await Promise.race([working, sleep(1_000)]);
        }
        await working;
        return peak;
      };
      let file = { id: '', content_hash: '' };
      const received = await peakOf(async (read) => {
        file = await upload('large', fileBytes, read);
      });
      let hash = '';
      const sent = await peakOf(async (read) => {
        hash = await download(file.id, read);
      });
      const left = await grown();
      expect(hash).toBe(file.content_hash);
      const figures = [received, sent, left].map((bytes) => Math.round(bytes / mebibyte));
      console.info(
        `live memory: +${figures[0]} MiB at most in the upload, +${figures[1]} in the download, +${figures[2]} after`,
      );
      expect(received).toBeLessThanOrEqual(40 * mebibyte);
      expect(sent).toBeLessThanOrEqual(40 * mebibyte);
      expect(left).toBeLessThanOrEqual(15 * mebibyte);
    },
  );
});
