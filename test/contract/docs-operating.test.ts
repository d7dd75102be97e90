import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { answerLimits } from '#adapters/egress/answer-limits.ts';
import { workflows, type WorkflowType } from '#domain/foundation/durable/workflow-types.ts';

const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');

/** Rows of the table whose first column has this title, without the backticks. */
function rowsOf(title: string): string[][] {
  const [, list = ''] = new RegExp(`^\\| ${title} .*\n\\| -.*\n((?:\\|.*\n)+)`, 'm').exec(page) ?? [];
  return [...list.matchAll(/^\|(.*)\|$/gm)].map(([, row]) =>
    row!.split('|').map((cell) => cell.trim().replaceAll('`', '')),
  );
}

/** Stands for an id of any name. */
const anyIds = new Proxy({}, { get: () => 'x' });

it('the table of workflow ids has a row for each type, with its id and its queue', () => {
  const documented = rowsOf('workflow id').map(([id = '', type = '', queue]) => {
    const [prefix, ...parts] = id.split('/');
    return [type, { prefix, parts: parts.length, queue }] as const;
  });
  const existing = (Object.keys(workflows) as WorkflowType[]).map((type) => {
    const { prefix, parts, queue } = workflows[type];
    return [type, { prefix, parts: parts(anyIds as never).length, queue }] as const;
  });
  expect(documented).toHaveLength(existing.length);
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(existing));
});

it('the table of limits has each kind of server, with its bytes and its time', () => {
  const bytes = (count: number | null) =>
    count === null ? '' : count < 1_048_576 ? `${count / 1_024} KiB` : `${count / 1_048_576} MiB`;
  const seconds = (ms: number) =>
    ms < 120_000 ? `${ms / 1_000} s` : ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`;
  const documented = rowsOf('`use`').map(([use, all, event, refusal, , , total]) => ({
    use,
    all,
    event,
    refusal,
    total,
  }));
  expect(documented).toEqual(
    Object.entries(answerLimits).map(([use, limits]) => ({
      use,
      all: bytes(limits.maxBytes),
      event: bytes(limits.maxEventBytes),
      refusal: bytes(limits.maxErrorBytes),
      total: limits.totalMs === null ? expect.stringMatching(/^the /) : seconds(limits.totalMs),
    })),
  );
});
