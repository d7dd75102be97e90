import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { providers } from '#adapters/sources/providers.ts';

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
