import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeIssue } from '#domain/foundation/validation/describe-issue.ts';
import { providers } from '#adapters/sources/providers.ts';

const contract = new URL('../../api/contract/', import.meta.url);
const files = readdirSync(contract, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);

/** Forms of what callers send, by the names of the exports. */
const isInput = (name: string): boolean => /(?:Body|Query|Params|Headers|Input|Fields)$/.test(name);

interface Format {
  place: string;
  format: string;
  message: string;
}

/** Every text of a schema that must fit a format, with what a refusal says about it. */
function formatsOf(schema: unknown, place: string, seen = new Set<unknown>()): Format[] {
  if (!(schema instanceof z.ZodType) || seen.has(schema)) {
    return [];
  }
  seen.add(schema);
  const def: Record<string, unknown> = { ...schema.def };
  const checks = [schema, ...((def['checks'] as z.core.$ZodCheck[] | undefined) ?? [])];
  const own = checks.flatMap((check): Format[] => {
    // oxlint-disable-next-line no-underscore-dangle -- where the schema library keeps it
    const { check: kind, format = '', error } = { ...check._zod.def } as Record<string, unknown>;
    return kind === 'string_format'
      ? [{ place, format: String(format), message: typeof error === 'function' ? String(error({})) : '' }]
      : [];
  });
  const shape = Object.entries((def['shape'] as object | undefined) ?? {});
  const parts = Object.values(def).flatMap((part): unknown[] => (Array.isArray(part) ? part : [part]));
  return [
    ...own,
    ...shape.flatMap(([name, member]) => formatsOf(member, `${place}.${name}`, seen)),
    ...parts.flatMap((part) => formatsOf(part, place, seen)),
  ];
}

async function allFormats(): Promise<Format[]> {
  const modules = await Promise.all(
    files.map(async (name): Promise<[string, Record<string, unknown>]> => [
      name,
      (await import(new URL(name, contract).href)) as Record<string, unknown>,
    ]),
  );
  const ofContract = modules.flatMap(([file, exported]) =>
    Object.entries(exported)
      .filter(([name]) => isInput(name))
      .flatMap(([name, schema]) => formatsOf(schema, `${file} ${name}`)),
  );
  return [...ofContract, ...providers.flatMap(({ slug, scope }) => formatsOf(scope, `scope of ${slug}`))];
}

describe('a text that is not of its form', () => {
  it('is refused with the form and an example, whatever the pattern', async () => {
    const formats = await allFormats();
    expect(formats.length).toBeGreaterThan(60);
    const said = formats.map(({ place, format, message }) => ({
      place,
      words: describeIssue({ code: 'invalid_format', format, message }, 'x'),
    }));
    const vague = said.filter(({ words }) => !/^must be .*(?:such as|UUID|beginning with)/.test(words));
    expect(vague).toEqual([]);
  });
});
