import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { providers } from '#adapters/sources/providers.ts';
import { syncErrorCodes } from '#domain/knowledge/connectors/sync-status.ts';

const root = new URL('../../', import.meta.url);
const read = (page: string) => readFileSync(new URL(page, root), 'utf8');
const slugsIn = (text: string | undefined) => [...(text ?? '').matchAll(/`(\w+)`/g)].map(([, slug]) => slug!);
const slugs = (beta: boolean) => providers.filter((each) => each.beta === beta).map(({ slug }) => slug);

it('the README names every provider, and which are beta', () => {
  const [, tested, beta] = /Its sources are (.*?), and as beta (.*?):/s.exec(read('README.md')) ?? [];
  expect(slugsIn(tested)).toEqual(slugs(false));
  expect(slugsIn(beta)).toEqual(slugs(true));
});

it('the list of providers has a row and a page for each, in their order', () => {
  const rows = [...read('docs/connectors.md').matchAll(/^\| \[`(\w+)`\]\((\S+)\)\s*\|([^|]*)\|/gm)];
  expect(rows.map(([, slug, , source]) => [slug, source!.includes('beta')])).toEqual(
    providers.map(({ slug, beta }) => [slug, beta]),
  );
  expect(rows.filter(([, , page]) => !existsSync(new URL(`docs/${page}`, root)))).toEqual([]);
});

it('the list of providers has the credentials that each accepts, and which can be connected to an account', () => {
  const rows = [...read('docs/connectors.md').matchAll(/^\| \[`(\w+)`\].*\|([^|]*)\|$/gm)];
  const documented = rows.map(([, slug, credentials = '']) => ({
    slug,
    kinds: slugsIn(credentials).toSorted(),
    account: credentials.includes('account'),
  }));
  expect(documented).toEqual(
    providers.map(({ slug, credentialKinds, connection }) => ({
      slug,
      kinds: credentialKinds.toSorted(),
      account: connection !== undefined,
    })),
  );
});

it('the sentence on readers names the providers that can read them, and no others', () => {
  const [, sentence] = /^Who may read what is read by (.*?)\. /m.exec(read('docs/connectors.md')) ?? [];
  const named = slugsIn(sentence).filter((name) => name !== 'readers');
  const reading = providers.filter(({ detects }) => detects.readers).map(({ slug }) => slug);
  expect(named.toSorted()).toEqual(reading.toSorted());
});

it('the table of failures has each code of a run', () => {
  const [, section = ''] = /^## When it fails\n([^]+?)^## /m.exec(read('docs/connectors.md')) ?? [];
  const rows = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, code]) => code!);
  expect(rows.toSorted()).toEqual(syncErrorCodes.toSorted());
});
