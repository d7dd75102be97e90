import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { answerFor } from '../errors.ts';
import { beginStream } from './begin-stream.ts';
import type { OpenStreams } from './response-stream.ts';

/** At most one event in this time. */
const minPauseMs = 1_000;
/** Between two reads of a record that does not change. */
const maxPauseMs = 3_000;
const keepAliveMs = 15_000;
const blockedMs = 30_000;

/** A record at one time. */
export interface Snapshot {
  /** Of the event; a reader that has the last one sends it as Last-Event-ID. */
  id: string;
  record: object;
  isFinal: boolean;
}

export interface RecordStreamOptions {
  /** The type of the events. */
  event: string;
  first: Snapshot;
  /** @throws when the reader has lost access */
  read: () => Promise<Snapshot>;
  /** Max duration; then the stream is broken off, and the reader connects again. */
  maxMs: number;
  open: OpenStreams;
  onOpen(): void;
  onClose(): void;
}

/** Sends a record as server-sent events: now, whenever it changes, and to its final state, which ends the stream. */
export function streamRecord(
  request: FastifyRequest,
  reply: FastifyReply,
  options: RecordStreamOptions,
): void {
  const raw = beginStream(reply);
  const stop = new AbortController();
  const breakOff = () => stop.abort();
  const timer = setTimeout(breakOff, options.maxMs);
  raw.once('close', breakOff);
  options.open.add(breakOff);
  options.onOpen();
  if (raw.destroyed) {
    breakOff();
  }
  follow(raw, options, stop.signal)
    .catch((error: unknown) => {
      if (error instanceof DomainError && !stop.signal.aborted) {
        raw.end(
          `event: error\ndata: ${JSON.stringify({ type: 'error', error: answerFor(request, error).body })}\n\n`,
        );
      } else {
        // Never a clean end, which the reader would treat as the end of the run.
        raw.destroy();
      }
    })
    .finally(() => {
      clearTimeout(timer);
      options.open.delete(breakOff);
      options.onClose();
    });
}

async function follow(
  raw: FastifyReply['raw'],
  { event, first, read }: RecordStreamOptions,
  signal: AbortSignal,
): Promise<void> {
  const write = async (frame: string): Promise<void> => {
    signal.throwIfAborted();
    if (!raw.write(frame)) {
      await once(raw, 'drain', { signal: AbortSignal.any([signal, AbortSignal.timeout(blockedMs)]) });
    }
  };
  let current = first;
  let sent = '';
  let sentAt = Date.now();
  let pauseMs = minPauseMs;
  await write('retry: 2000\n\n');
  for (;;) {
    const text = JSON.stringify(current.record);
    if (text !== sent) {
      await write(`id: ${current.id}\nevent: ${event}\ndata: ${text}\n\n`);
      sent = text;
      sentAt = Date.now();
      pauseMs = minPauseMs;
    } else {
      pauseMs = Math.min(pauseMs * 1.5, maxPauseMs);
      if (Date.now() - sentAt > keepAliveMs) {
        await write(': keep-alive\n\n');
        sentAt = Date.now();
      }
    }
    if (current.isFinal) {
      raw.end('data: [DONE]\n\n');
      return;
    }
    await sleep(pauseMs, undefined, { signal });
    current = await read();
  }
}
