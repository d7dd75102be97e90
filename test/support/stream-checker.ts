import { TERMINAL_TYPES } from './stream-events.ts';
import { asObject } from './stream-events.ts';
import type { Json, Report, SeenEvent, Violation } from './stream-events.ts';
import { ItemTracker } from './stream-items.ts';
import { checkOutput, checkReplay, checkSnapshot, checkSuperseded } from './stream-outcome.ts';
import type { Snapshot } from './stream-outcome.ts';
import { readSequence } from './stream-sequence.ts';
import type { CheckedSegment } from './stream-sequence.ts';

/** The recorded bytes of one response on the native surface, and other reads of it. */
export interface CheckedStream {
  responseId: string;
  /** Its connections in order. */
  segments: CheckedSegment[];
  /** The response object read after the end. */
  final?: Json;
  /** Response objects read while it ran. */
  snapshots?: Snapshot[];
  /** Recordings from event 0, made after the end. */
  replays?: Uint8Array[];
  /** False for a recording that was stopped before the end; true by default. */
  complete?: boolean;
  /** Whether the request asked for `platform.*` events. */
  platformEvents?: boolean;
  /**
   * Whether a read shows the item that is still being written (then O6 holds for its text, too): `shown` by
   * default.
   */
  openItems?: 'shown' | 'hidden';
}

/** Checks the invariants O1 to O10 and the form of the frames; an empty list means that all hold. */
export function checkStream(stream: CheckedStream): Violation[] {
  const violations: Violation[] = [];
  const report: Report = (invariant, message, at = null) => void violations.push({ invariant, message, at });
  const { responseId, platformEvents = false, complete = true, openItems = 'shown' } = stream;
  const sequence = readSequence(stream.segments, { responseId, platformEvents }, report);
  const { events } = sequence;

  checkCreated(events, responseId, report);
  const tracker = new ItemTracker(report);
  for (const event of events) tracker.read(event);
  checkSuperseded(tracker.items, report);

  const terminal = checkTerminal(events, report);
  if (terminal !== null) {
    tracker.end();
    const at = terminal.n;
    const response = asObject(terminal.data['response']);
    checkOutput(response, tracker.items, { where: terminal.type, at }, report);
    if (stream.final !== undefined) {
      checkOutput(stream.final, tracker.items, { where: 'the final read', at }, report);
      if (stream.final['status'] !== response['status'])
        report('O6', 'the final read has another status', at);
    }
  }
  if (complete && !sequence.errored) {
    const last = events.at(-1)?.n ?? null;
    if (terminal === null) report('O4', 'no terminal event', last);
    if (!sequence.done) report('O4', 'the last connection does not end with [DONE]', last);
  }
  for (const snapshot of stream.snapshots ?? []) {
    checkSnapshot(snapshot, { events, items: tracker.items, openItems }, report);
  }
  for (const replay of stream.replays ?? []) checkReplay(replay, { events, done: terminal !== null }, report);
  return violations;
}

function checkCreated(events: SeenEvent[], responseId: string, report: Report): void {
  const [first] = events;
  const count = events.filter(({ type }) => type === 'response.created').length;
  if (count !== 1) report('O1', `response.created came ${count} times`, 0);
  if (first !== undefined && first.type !== 'response.created')
    report('O1', `${first.type} came first`, first.n);
  if (first?.type !== 'response.created') return;
  const { id, status } = asObject(first.data['response']);
  if (id !== responseId) report('O1', `response.created shows ${String(id)}`, first.n);
  if (status !== 'queued' && status !== 'in_progress') report('O1', `created as ${String(status)}`, first.n);
}

/** The terminal event, if there is one; every other rule of O4 about it is reported. */
function checkTerminal(events: SeenEvent[], report: Report): SeenEvent | null {
  const terminals = events.filter(({ type }) => TERMINAL_TYPES.has(type));
  const [terminal = null] = terminals;
  if (terminal === null) return null;
  if (terminals.length > 1) report('O4', `${terminals.length} terminal events`, terminals[1]!.n);
  else if (events.at(-1) !== terminal) report('O4', 'events behind the terminal one', terminal.n);
  const { status } = asObject(terminal.data['response']);
  if (`response.${String(status)}` !== terminal.type)
    report('O4', `${terminal.type} shows ${String(status)}`, terminal.n);
  return terminal;
}
