import { isDeepStrictEqual } from 'node:util';
import { asList, asObject, type Json } from '../support/stream-events.ts';
import { knowledge, silent, type Part } from './scripts.ts';
import { expectedCall } from './tool-parts.ts';

/** The end of a response, checked against its script alone; each sentence names one fault. */
export function compareWithScript(part: Part, final: Json, continued: boolean): string[] {
  return part === silent ? compareSilent(final) : compareSpoken(part, final, continued);
}

function compareSpoken(part: Part, final: Json, continued: boolean): string[] {
  const losses: string[] = [];
  if (final['status'] !== 'completed')
    losses.push(
      `ended ${String(final['status'])}: ${JSON.stringify(asObject(final['platform'])['failure_reason'])}`,
    );
  const output = asList(final['output']).map(withoutId);
  const expected = expectedOutput(part, continued, output);
  if (output.length !== expected.length) losses.push(`has ${output.length} items, not ${expected.length}`);
  expected.forEach((item, i) => {
    if (isDeepStrictEqual(output[i], item)) return;
    losses.push(`item ${i} is ${shorten(output[i])}, not ${shorten(item)}`);
  });
  return losses;
}

function withoutId(item: Json): Json {
  return Object.fromEntries(Object.entries(item).filter(([key]) => key !== 'id'));
}

/** The output without ids: per round the text before the call and the call, then the answer. */
function expectedOutput({ script, wire }: Part, continued: boolean, actual: readonly Json[]): Json[] {
  const { toolRounds = 0, commentary, calls } = script;
  // That fake numbers its requests.
  const query = wire === undefined ? knowledge.query : `${knowledge.query} 0`;
  const search = { type: 'file_search_call', status: 'completed', queries: [query], results: null };
  const rounds: Json[][] = [];
  for (let round = 0; round < (calls?.length ?? toolRounds); round += 1) {
    // Citations refer to results that are already there.
    const said =
      commentary === undefined ? [] : [message(commentary, 'commentary', calls === undefined && round > 0)];
    const before = rounds.flat().length + said.length;
    const made = calls?.[round]?.map((each, i) => expectedCall(each, actual[before + i])) ?? [search];
    rounds.push([...said, ...made]);
  }
  const diverged = script.manner === 'diverges' && continued;
  const text = diverged ? (script.alternateText ?? '') : script.text;
  return [...rounds.flat(), message(text, 'final_answer', toolRounds > 0)];
}

function message(text: string, phase: string, cites: boolean): Json {
  const marks = cites ? [...text.matchAll(/\[1\]/g)] : [];
  const annotations = marks.map(({ index }) => ({
    type: 'file_citation',
    filename: knowledge.filename,
    anchor: knowledge.anchor,
    index: 0,
    start_index: index,
    end_index: index + 3,
  }));
  return {
    type: 'message',
    status: 'completed',
    role: 'assistant',
    phase,
    content: [{ type: 'output_text', text, annotations, logprobs: [] }],
  };
}

/** Its deadline is its script's end: the text so far stays, and nothing else. */
function compareSilent(final: Json): string[] {
  const losses: string[] = [];
  const reason = asObject(final['platform'])['incomplete_reason'];
  if (final['status'] !== 'incomplete' || reason !== 'deadline_exceeded')
    losses.push(`ended ${String(final['status'])} (${String(reason)}), not by its deadline`);
  const said = asList(final['output'])
    .flatMap((item) => asList(item['content']))
    .map((content) => String(content['text']))
    .join('');
  if (!silent.script.text.startsWith(said)) losses.push(`said ${shorten(said)}`);
  return losses;
}

/** Ids of files are the run's own, so a script cannot know them. */
export function withoutFileIds(response: Json): Json {
  return JSON.parse(
    JSON.stringify(response, (key, value: unknown) => (key === 'file_id' ? undefined : value)),
  ) as Json;
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > 400 ? `${text.slice(0, 200)}…${text.slice(-200)}` : text;
}
