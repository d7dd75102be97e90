import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseRecord } from '#domain/responses/response-record.ts';
import { freshClone, type FreshClone } from '../support/fresh-clone.ts';
import { slack } from '../support/slack.ts';
import { splitFrames } from '../support/sse-frames.ts';

const firstStartMs = 30_000;
const laterStartMs = 10_000;
const stopMs = 10_000;

describe('the first run of a fresh clone', () => {
  let clone: FreshClone;

  beforeAll(async () => {
    clone = await freshClone();
  });
  afterAll(() => clone?.remove());

  it('prints two lines that stream a cited answer and read it back, also after a stop and a start', async () => {
    const since = Date.now();
    const first = await clone.start();
    let second: typeof first | undefined;
    try {
      expect(Date.now() - since).toBeLessThan(firstStartMs * slack());
      expect(first.curlLines).toHaveLength(2);
      const streamed = await streamAnswer(first.curlLines[0]!);
      expect(streamed.status).toBe('completed');
      const cited = citationsOf(streamed);
      expect(cited.length).toBeGreaterThan(0);
      expect(cited.filter((name) => !/^(README|CONTRIBUTING|docs\/.+)\.md$/.test(name))).toEqual([]);
      expect(textOf(streamed)).toMatch(/worker/);
      expect(await readBack(first.curlLines[1]!)).toEqual(streamed);
      for (const url of pagesOf(first.screen)) expect(await statusOf(url), url).toBe(200);

      const stopped = await first.stop();
      expect(stopped.tookMs).toBeLessThan(stopMs);
      expect(first.output()).toMatch(/^start +\| postgres stopped$/m);
      expect(first.output()).not.toMatch(/unexpected|warning|deprecat/i);

      const again = Date.now();
      second = await clone.start();
      expect(Date.now() - again).toBeLessThan(laterStartMs * slack());
      expect(second.curlLines).toEqual(first.curlLines);
      expect(await readBack(second.curlLines[1]!)).toEqual(streamed);
      expect((await second.stop('signal to npm')).tookMs).toBeLessThan(stopMs);
      expect(second.output()).toMatch(/^start +\| postgres stopped$/m);
    } finally {
      await first.stop();
      await second?.stop();
    }
  }, 150_000);
});

/** Runs the line as it was printed; its stream must end as a stream ends. */
async function streamAnswer(line: string): Promise<ResponseRecord> {
  const { frames, rest } = splitFrames(Buffer.from(await paste(line)));
  expect(rest).toHaveLength(0);
  expect(frames.at(-1)?.data).toBe('[DONE]');
  expect(frames.filter(({ event }) => event === 'response.output_text.delta').length).toBeGreaterThan(0);
  const last = frames.findLast(({ event }) => event !== null);
  expect(last?.event).toBe('response.completed');
  return (last!.json as unknown as { response: ResponseRecord }).response;
}

async function readBack(line: string): Promise<ResponseRecord> {
  const page = JSON.parse(await paste(line)) as { data: ResponseRecord[] };
  expect(page.data).toHaveLength(1);
  return page.data[0]!;
}

async function paste(line: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', line]);
  return stdout;
}

function partsOf(response: ResponseRecord) {
  return response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
}

function citationsOf(response: ResponseRecord): string[] {
  return partsOf(response).flatMap(({ annotations }) => annotations.map(({ filename }) => filename));
}

function textOf(response: ResponseRecord): string {
  return partsOf(response)
    .map(({ text }) => text)
    .join('');
}

function pagesOf(screen: string): string[] {
  const urls = [...screen.matchAll(/^ {2}(?:API page|Temporal UI) +(\S+)$/gm)].map(([, url]) => url!);
  expect(urls).toHaveLength(2);
  return urls;
}

async function statusOf(url: string): Promise<number> {
  const { status } = await fetch(url);
  return status;
}
