import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { withFoundNames } from '#api/found-names.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import {
  NamesNeeded,
  type FoundNames,
  type NameRecogniser,
  type NameSearch,
} from '#domain/governance/redaction/found-names.ts';
import { longTexts } from '../support/long-texts.ts';
import { piiSettings } from '#domain/governance/policy/pii-settings.ts';

const settings = piiSettings.parse({ presidio_url: 'https://names.example.com' });
const socket = new EventEmitter();
/** Of a use case that needs nothing from its context. */
const request = {
  inContext: <T>(_space: unknown, work: (ctx: Context) => Promise<T>) => work({} as Context),
  identity: { tenantId: 'tenant' },
  raw: { socket },
} as never;

function deps(asked: string[][]) {
  const find = (_url: string, _language: string, texts: readonly string[]) => {
    asked.push([...texts]);
    return Promise.resolve(texts.map(() => []));
  };
  return { names: { find }, longTexts };
}

/** Screens one text after the other, and continues only with a known result. */
const needing =
  (...texts: string[]) =>
  (_ctx: Context, names: FoundNames | null): Promise<number> => {
    const open = texts.find((text) => names?.has(text) !== true);
    return open === undefined
      ? Promise.resolve(texts.length)
      : Promise.reject(new NamesNeeded(settings, [open]));
  };

it('texts found one after the other are each sent to the recogniser once', async () => {
  const asked: string[][] = [];
  expect(await withFoundNames(deps(asked), request, 'space', needing('input', 'approved'))).toBe(2);
  expect(asked).toEqual([['input'], ['approved']]);
});

it('a use case that always finds another text is not repeated without end, and may be tried again', async () => {
  const asked: string[][] = [];
  const endless = (_ctx: Context, names: FoundNames | null) =>
    Promise.reject(new NamesNeeded(settings, [`text ${names?.size ?? 0}`]));
  await expect(withFoundNames(deps(asked), request, 'space', endless)).rejects.toMatchObject({
    code: 'overloaded',
    detail: { retryAfter: 1 },
  });
  expect(asked.length).toBeLessThan(20);
});

/** A recogniser that answers each text late. */
function late(asked: string[], afterMs: number): NameRecogniser {
  return {
    find: async (_url, _language, texts, search?: NameSearch) => {
      for (const text of texts) {
        asked.push(text);
        await sleep(afterMs, undefined, search);
      }
      return texts.map(() => []);
    },
  };
}

const many = Array.from({ length: 1_000 }, (_, index) => `text ${index}`);
const needingAll = (_ctx: Context, names: FoundNames | null): Promise<string> =>
  names === null ? Promise.reject(new NamesNeeded(settings, many)) : Promise.resolve('done');

it('all texts of a request share one deadline', async () => {
  const asked: string[] = [];
  const slow = { names: late(asked, 50), longTexts, namesWithinMs: 200 };
  await expect(withFoundNames(slow, request, 'space', needingAll)).rejects.toMatchObject({
    code: 'engine_unavailable',
  });
  expect(asked.length).toBeLessThan(10);
});

it('the texts of a client that has left are not searched any more', async () => {
  const asked: string[] = [];
  const left = withFoundNames({ names: late(asked, 50), longTexts }, request, 'space', needingAll);
  setTimeout(() => socket.emit('close'), 120);
  await expect(left).rejects.toMatchObject({ code: 'request_timeout' });
  expect(asked.length).toBeLessThan(10);
  expect(socket.listenerCount('close')).toBe(0);
});
