import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { splitFrames } from '../support/sse-frames.ts';
import { arrivalOf, followResponse, recordSegment } from '../support/sse-recorder.ts';
import { DONE, encodeFrame, RETRY, StreamBuilder } from '../support/stream-builder.ts';
import { checkStream } from '../support/stream-checker.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<string> {
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function frames(): string[] {
  const stream = new StreamBuilder('resp_1');
  stream.created();
  stream.iteration();
  stream.message(['Ein ', 'Satz 👩‍👩‍👧.']);
  stream.completed();
  return stream.frames.map(encodeFrame);
}

describe('splitting into frames', () => {
  test('gives the lines of each frame and the bytes behind the last one', () => {
    const { frames: found, rest } = splitFrames(
      Buffer.from(`${RETRY}: keep-alive\n\n${frames()[0]}data: [DO`),
    );
    expect(found.map(({ lines }) => lines)).toEqual([['retry'], [':'], ['id', 'event', 'data']]);
    expect(found).toMatchObject([
      { retry: '2000', data: null },
      { comment: 'keep-alive' },
      { id: 'resp_1:0', event: 'response.created', json: { sequence_number: 0 } },
    ]);
    expect(Buffer.from(rest).toString()).toBe('data: [DO');
    expect(found.map(({ raw }) => raw).join('')).toBe(`${RETRY}: keep-alive\n\n${frames()[0]}`);
  });
});

describe('recording', () => {
  test('keeps the exact bytes and when they came, over frames cut at any byte', async () => {
    const whole = Buffer.from(`${RETRY}${frames().join('')}${DONE}`);
    const url = await serve(async (_, response) => {
      for (let at = 0; at < whole.length; at += 101) {
        response.write(whole.subarray(at, at + 101));
        await sleep(2);
      }
      response.end();
    });
    const segment = await recordSegment({ url });
    expect(Buffer.from(segment.bytes).equals(whole)).toBe(true);
    expect(segment).toMatchObject({ status: 200, cursor: null, ended: 'server' });
    const times = splitFrames(segment.bytes).frames.map(({ end }) => arrivalOf(segment, end)!);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.at(-1)! - times[0]!).toBeGreaterThan(10);
  });

  test('stops after so many events and keeps no later bytes', async () => {
    const url = await serve(
      (_, response) => void response.write(`${RETRY}: keep-alive\n\n${frames().join('')}`),
    );
    const segment = await recordSegment({ url }, { stopAfter: 3 });
    expect(Buffer.from(segment.bytes).toString()).toBe(
      `${RETRY}: keep-alive\n\n${frames().slice(0, 3).join('')}`,
    );
    expect(segment.ended).toBe('stopped');
  });

  test('sends the body of a POST once and the cursor as Last-Event-ID', async () => {
    const seen: unknown[] = [];
    const url = await serve(async (request, response) => {
      seen.push(
        request.method,
        request.headers['last-event-id'],
        await new Response(request as never).text(),
      );
      response.end();
    });
    await recordSegment({ url, method: 'POST', body: { stream: true } }, { cursor: 'resp_1:4' });
    expect(seen).toEqual(['POST', 'resp_1:4', '{"stream":true}']);
  });
});

describe('following a response', () => {
  test('resumes from the last whole event over refusals, broken connections and its own stops', async () => {
    const all = frames();
    const cursors: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      const cursor = request.headers['last-event-id'] as string | undefined;
      cursors.push(cursor);
      if (cursors.length === 1) return response.writeHead(503).end();
      const rest = all.slice(Number(cursor?.split(':')[1] ?? -1) + 1);
      if (cursors.length > 3) return response.end(`${RETRY}${rest.join('')}${DONE}`);
      const partial = `${RETRY}${rest.slice(0, 3).join('')}${rest[3]!.slice(0, 50)}`;
      return response.write(partial, () => setTimeout(() => response.destroy(), 20));
    });
    const recording = await followResponse({ request: () => ({ url }), stops: [2], retryDelayMs: 5 });
    expect(cursors).toEqual([undefined, undefined, 'resp_1:1', 'resp_1:4']);
    expect(recording).toMatchObject({ responseId: 'resp_1', done: true, refusals: 1 });
    expect(recording.segments.map(({ ended }) => ended)).toEqual(['stopped', 'broken', 'server']);
    expect(checkStream({ responseId: 'resp_1', segments: recording.segments })).toEqual([]);
  });

  test('gives up after its time limit, with the bytes received so far', async () => {
    const url = await serve((_, response) => void response.write(frames()[0]));
    const recording = await followResponse({ request: () => ({ url }), timeoutMs: 150 });
    expect(recording).toMatchObject({ done: false, segments: [{ ended: 'broken' }] });
  });

  test('ends at a 204 behind the terminal event and throws at an error that is not retryable', async () => {
    const all = frames();
    const url = await serve((request, response) => {
      if (request.url === '/gone') response.writeHead(404).end('{"error":{"code":"response_not_found"}}');
      else if (request.headers['last-event-id']) response.writeHead(204).end();
      else response.end(all.join(''));
    });
    const recording = await followResponse({ request: () => ({ url }) });
    expect(recording.segments.map(({ status }) => status)).toEqual([200, 204]);
    expect(checkStream({ responseId: 'resp_1', segments: recording.segments })).toEqual([]);
    await expect(followResponse({ request: () => ({ url: `${url}gone` }) })).rejects.toThrow(
      'response_not_found',
    );
  });
});
