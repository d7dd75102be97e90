import { readFile } from 'node:fs/promises';
import { shownTexts } from '../replay/history-reader.ts';
import type { ToolWorld } from './tool-world.ts';

/** Everything that the database holds, row by row. */
export async function dumpOf(tools: ToolWorld): Promise<string> {
  const { rows: tables } = await tools.admin.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await tools.admin.query<{ row: string }>(`select t::text as row from ${name} t`);
    texts.push(...rows.map(({ row }) => row));
  }
  return texts.join('\n');
}

/** What gateways and workers have logged. */
export async function logsOf(tools: ToolWorld): Promise<string> {
  const { gateways, workers } = tools.stack;
  return (await Promise.all([...gateways, ...workers].map(({ log }) => readFile(log, 'utf8')))).join('\n');
}

/** What an operator sees of every workflow. */
export async function historiesOf(tools: ToolWorld): Promise<string> {
  const texts: string[] = [];
  const { workflow } = tools.stack.temporal;
  for await (const { workflowId, runId, memo } of workflow.list()) {
    texts.push(...shownTexts(memo), workflowId);
    const history = await workflow.getHandle(workflowId, runId).fetchHistory();
    texts.push(...shownTexts(JSON.parse(JSON.stringify(history))));
  }
  return texts.join('\n');
}

/** The inputs whose secret a text holds, as it was or in base64. */
export function foundIn(planted: ReadonlyMap<string, string>, text: string): string[] {
  return [...planted].flatMap(([input, secret]) => {
    const forms = [secret, encodeURIComponent(secret), ...[0, 1, 2].map((shift) => inBase64(secret, shift))];
    return forms.some((form) => text.includes(form)) ? [input] : [];
  });
}

/** The part of a text's base64 that is the same whatever stands around the text. */
export function inBase64(secret: string, shift: number): string {
  const text = Buffer.from('x'.repeat(shift) + secret)
    .toString('base64')
    .replaceAll('=', '');
  return text.slice(shift === 0 ? 0 : 4, -3);
}
