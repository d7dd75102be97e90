import { isDeepStrictEqual } from 'node:util';
import { splitFrames } from './sse-frames.ts';
import { asList, asObject, partText, supersededBy, TERMINAL_TYPES } from './stream-events.ts';
import type { Json, Report, SeenEvent } from './stream-events.ts';
import { ItemTracker } from './stream-items.ts';
import type { TrackedItem } from './stream-items.ts';

/** O5 (and the last link of O3) for one response object shown at or after the end. */
export function checkOutput(
  response: Json,
  items: TrackedItem[],
  { where, at }: { where: string; at: number },
  report: Report,
) {
  const kept = items.flatMap(({ done }) => (done === null || supersededBy(done) !== null ? [] : [done]));
  const output = asList(response['output']);
  const ids = (list: Json[]) => list.map((item) => String(item['id'])).join(' ');
  if (ids(kept) !== ids(output)) {
    report('O5', `${where} has items [${ids(output)}], done were [${ids(kept)}]`, at);
    return;
  }
  kept.forEach((item, i) => {
    const shown = output[i]!;
    if (isDeepStrictEqual(item, shown)) return;
    const onlyText = isDeepStrictEqual(withoutText(item), withoutText(shown));
    report(onlyText ? 'O3' : 'O5', `${where} shows item ${String(item['id'])} other than its done event`, at);
  });
}

/** O5: an item marked as superseded is incomplete and names a later item. */
export function checkSuperseded(items: TrackedItem[], report: Report): void {
  for (const { done, doneAt, index } of items) {
    const id = done === null ? null : supersededBy(done);
    if (id === null) continue;
    const successor = items.find((item) => item.id === id);
    if (successor === undefined || successor.index <= index)
      report('O5', `superseded by ${id}, no later item`, doneAt);
    if (done?.['status'] !== 'incomplete')
      report('O5', `item ${index} is superseded but not incomplete`, doneAt);
  }
}

function withoutText(item: Json): unknown {
  const blank = (key: string, value: unknown) =>
    ['text', 'refusal', 'arguments'].includes(key) ? '' : value;
  return JSON.parse(JSON.stringify(item, blank));
}

export interface Snapshot {
  /** The last event received before the request. */
  afterN: number;
  /** The response object of the answer. */
  response: Json;
}

/** O6: a response read after event n shows at least the content of the events up to n. */
export function checkSnapshot(
  { afterN, response }: Snapshot,
  stream: { events: SeenEvent[]; items: TrackedItem[]; openItems: 'shown' | 'hidden' },
  report: Report,
): void {
  const seen = stream.events.filter(({ n }) => n <= afterN);
  const fail = (message: string) => report('O6', `a read after ${afterN} ${message}`, afterN);
  const received = seen.map(({ data }) => asObject(data['response'])).filter((each) => 'status' in each);
  const status = received.at(-1)?.['status'] ?? 'queued';
  const ended = seen.some(({ type }) => TERMINAL_TYPES.has(type));
  const behind = ended ? response['status'] !== status : rankOf(response['status']) < rankOf(status);
  if (behind) fail(`is ${String(response['status'])}, not yet ${JSON.stringify(status)}`);
  const iterations = (each: Json) => Number(asObject(each['platform'])['iteration_count'] ?? 0);
  if (iterations(response) < Math.max(0, ...received.map(iterations))) fail('shows fewer iterations');
  checkItemsShown(asList(response['output']), { ...stream, seen, fail });
}

/** A status other than these two is an end, and so later than both. */
function rankOf(status: unknown): number {
  const index = ['queued', 'in_progress'].indexOf(String(status));
  return index === -1 ? 2 : index;
}

function checkItemsShown(
  output: Json[],
  stream: {
    seen: SeenEvent[];
    items: TrackedItem[];
    openItems: 'shown' | 'hidden';
    fail: (message: string) => void;
  },
): void {
  const then = new ItemTracker(() => {});
  for (const event of stream.seen) then.read(event);
  for (const { id, index, done, content } of then.items) {
    const later = stream.items.find((item) => item.id === id);
    if (later?.done && supersededBy(later.done) !== null) continue;
    const shown = output.find((item) => item['id'] === id);
    if (shown === undefined) {
      if (done !== null || stream.openItems === 'shown') stream.fail(`lacks item ${index}`);
    } else if (done !== null) {
      if (!isDeepStrictEqual(shown, done)) stream.fail(`shows item ${index} other than its done event`);
    } else {
      const parts = asList(shown['content']);
      const behind = content.some(({ text }, i) => {
        const now = partText(parts[i] ?? {});
        return text !== '' && !(typeof now === 'string' && now.startsWith(text));
      });
      if (behind) stream.fail(`shows less text of item ${index}`);
    }
  }
}

/** O7: a full replay has the bytes of the recording, apart from comments, `retry` and error events. */
export function checkReplay(
  replay: Uint8Array,
  recorded: { events: SeenEvent[]; done: boolean },
  report: Report,
): void {
  const { frames, rest } = splitFrames(replay);
  const replayed = frames
    .filter(({ data, json }) => data !== null && json?.['type'] !== 'error')
    .map(({ raw }) => raw);
  const expected = recorded.events.map(({ raw }) => raw);
  if (recorded.done) expected.push('data: [DONE]\n\n');
  const length = recorded.done ? Math.max(expected.length, replayed.length) : expected.length;
  for (let i = 0; i < length; i += 1) {
    if (replayed[i] === expected[i]) continue;
    report(
      'O7',
      `a replay differs: ${JSON.stringify(replayed[i] ?? 'nothing')} for ${JSON.stringify(expected[i] ?? 'nothing')}`,
      i,
    );
    return;
  }
  if (rest.length > 0) report('O7', 'a replay ends inside a frame', length);
}
