import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { isEvent, splitFrames } from './sse-frames.ts';
import type { SseFrame } from './sse-frames.ts';

export interface SseRequest {
  url: string;
  /** GET without it. */
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
}

/** The bytes of one connection. */
export interface Segment {
  /** The `Last-Event-ID` that it resumed from; null from the beginning. */
  cursor: string | null;
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Uint8Array;
  /**
   * The arrival of each piece of `bytes`: milliseconds of `performance.now()` and the number of bytes so far.
   */
  arrivals: { at: number; length: number }[];
  /** By the server's proper end, by us after enough frames, or by a broken connection. */
  ended: 'server' | 'stopped' | 'broken';
}

export interface RecordOptions {
  cursor?: string | null;
  /** Stop after so many events (frames with data, `[DONE]` not counted); later bytes are not kept. */
  stopAfter?: number;
  /** Called with every complete frame on arrival; the connection stops when it returns true. */
  onFrame?: (frame: SseFrame) => boolean | void;
  signal?: AbortSignal;
}

/**
 * Opens one connection of its own and records its exact bytes to its end. Sends `cursor` as `Last-Event-ID`.
 * A connection that cannot be opened throws; a connection that breaks later, `signal` included, is a segment that ended `broken`.
 */
export async function recordSegment(target: SseRequest, options: RecordOptions = {}): Promise<Segment> {
  const { cursor = null, signal } = options;
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 2000 } });
  try {
    const response = await request(target.url, {
      method: target.method ?? 'GET',
      headers: {
        accept: 'text/event-stream',
        ...(target.body !== undefined && { 'content-type': 'application/json' }),
        ...(cursor !== null && { 'last-event-id': cursor }),
        ...target.headers,
      },
      ...(target.body !== undefined && { body: JSON.stringify(target.body) }),
      ...(signal && { signal }),
      dispatcher: agent,
    });
    const { statusCode: status, headers } = response;
    return { cursor, status, headers, ...(await readBody(response.body, options)) };
  } finally {
    await agent.destroy();
  }
}

async function readBody(
  body: AsyncIterable<Uint8Array>,
  { stopAfter = Infinity, onFrame }: RecordOptions,
): Promise<Pick<Segment, 'bytes' | 'arrivals' | 'ended'>> {
  const arrivals: Segment['arrivals'] = [];
  let bytes: Uint8Array = new Uint8Array();
  let read = 0;
  let events = 0;
  try {
    for await (const piece of body) {
      bytes = Buffer.concat([bytes, piece]);
      arrivals.push({ at: performance.now(), length: bytes.length });
      const from = read;
      for (const frame of splitFrames(bytes.subarray(from)).frames) {
        read = from + frame.end;
        if (isEvent(frame)) events += 1;
        const stop = onFrame?.(frame) === true || events >= stopAfter;
        if (stop) return { bytes: bytes.subarray(0, read), arrivals, ended: 'stopped' };
      }
    }
    return { bytes, arrivals, ended: 'server' };
  } catch {
    // The received bytes count, however the connection broke.
    return { bytes, arrivals, ended: 'broken' };
  }
}

/** One response as its client saw it, over any number of connections. */
export interface Recording {
  responseId: string | null;
  segments: Segment[];
  /** Whether `[DONE]` (or a 204 at the end) was reached. */
  done: boolean;
  /** Connections that could not be opened or were answered by 429 or 5xx, and so recorded nothing. */
  refusals: number;
}

export interface FollowOptions extends Pick<RecordOptions, 'onFrame'> {
  /**
   * The request to send, given the last event id (null: none yet, so a POST needs an Idempotency-Key) and the
   * number of attempts. `Last-Event-ID` is added.
   */
  request: (cursor: string | null, attempt: number) => SseRequest;
  /** The time limit. */
  timeoutMs?: number;
  retryDelayMs?: number;
  /** Drop the connection after so many events, once per entry, and resume. */
  stops?: number[];
  signal?: AbortSignal;
}

/** Records a response to its end, resuming from the last complete event whenever the connection is lost. */
export async function followResponse(options: FollowOptions): Promise<Recording> {
  const { timeoutMs = 60_000, retryDelayMs = 100, onFrame } = options;
  const signal = AbortSignal.any([
    AbortSignal.timeout(timeoutMs),
    ...(options.signal ? [options.signal] : []),
  ]);
  const stops = [...(options.stops ?? [])];
  const recording: Recording = { responseId: null, segments: [], done: false, refusals: 0 };
  let cursor: string | null = null;
  for (let attempt = 0; !recording.done && !signal.aborted; attempt += 1) {
    const stopAfter = stops.shift();
    const segment = await tryRecord(options.request(cursor, attempt), {
      cursor,
      signal,
      ...(onFrame && { onFrame }),
      ...(stopAfter !== undefined && { stopAfter }),
    });
    if (segment === null) {
      recording.refusals += 1;
      if (stopAfter !== undefined) stops.unshift(stopAfter);
      await sleep(retryDelayMs);
      continue;
    }
    recording.segments.push(segment);
    const { frames } = splitFrames(segment.bytes);
    const resumedFrom: string | null = cursor;
    cursor = frames.findLast((frame) => frame.id !== null)?.id ?? cursor;
    recording.responseId ??= cursor === null ? null : cursor.slice(0, cursor.lastIndexOf(':'));
    recording.done = segment.status === 204 || frames.at(-1)?.data === '[DONE]';
    if (cursor === resumedFrom && !recording.done) await sleep(retryDelayMs);
  }
  return recording;
}

async function tryRecord(target: SseRequest, options: RecordOptions): Promise<Segment | null> {
  let segment: Segment;
  try {
    segment = await recordSegment(target, options);
  } catch {
    return null;
  }
  if (segment.status === 429 || segment.status >= 500) return null;
  if (segment.status >= 400) {
    throw new Error(
      `${target.url} answered ${segment.status}: ${Buffer.from(segment.bytes).toString('utf8')}`,
    );
  }
  return segment;
}

/** The arrival, in milliseconds of `performance.now()`, of the last byte of the frame that ends at `end`. */
export function arrivalOf(segment: Segment, end: number): number | undefined {
  return segment.arrivals.find((arrival) => arrival.length >= end)?.at;
}
