import { expect, it } from 'vitest';
import { withFoundNames } from '#api/found-names.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { NamesNeeded, type FoundNames } from '#domain/governance/redaction/found-names.ts';
import { longTexts } from '../support/long-texts.ts';
import { piiSettings } from '#domain/governance/policy/pii-settings.ts';

const settings = piiSettings.parse({ presidio_url: 'https://names.example.com' });
/** Of a use case that needs nothing from its context. */
const request = {
  inContext: <T>(_space: unknown, work: (ctx: Context) => Promise<T>) => work({} as Context),
};

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

it('a use case that always finds another text is not repeated without end', async () => {
  const asked: string[][] = [];
  const endless = needing('a', 'b', 'c', 'd');
  await expect(withFoundNames(deps(asked), request, 'space', endless)).rejects.toBeInstanceOf(NamesNeeded);
  expect(asked).toHaveLength(2);
});
