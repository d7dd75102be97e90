import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { eventHead, isTerminalType } from '#domain/responses/record/stream-events.ts';
import { answerFor } from '../errors.ts';
import { beginStream } from './begin-stream.ts';
import type { Restorer } from './restorer.ts';
import type { Attachment, StreamHub } from './stream-hub.ts';

const keepAliveMs = 15_000;
const recheckMs = 60_000;
const blockedMs = 30_000;

/** Renders a stored event; null for an event that the surface omits. */
export type RenderEvent = (line: string, type: string) => { type: string; line: string } | null;

export interface StreamOptions {
  responseId: string;
  /** The last sequence number that the reader has; -1 for none. */
  after: number;
  /** Time until the content expires. */
  expiresInMs: number;
  /** Max duration; then the stream is aborted, and the reader resumes elsewhere. */
  maxMs: number;
  render?: RenderEvent | undefined;
  /** For a reader who may see the values of tokens. */
  restorer: Restorer | null;
  /** @throws when the reader has lost access */
  authorize(): Promise<void>;
  onOpen(): void;
  onClose(): void;
}

/** Open streams and waits of this process, each as the function that aborts it when the drain time is over. */
export type OpenStreams = Set<() => void>;

/** Sends a response's events as SSE from the reader's cursor to its end. One write per frame. */
export function streamResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  hub: StreamHub,
  options: StreamOptions & { open: OpenStreams },
): void {
  const { responseId, render = asStored, restorer, maxMs } = options;
  // Clients of OpenAI parse every blank line after an id as an event, also a blank line after a comment.
  const aside = options.render === undefined ? '\n\n' : '\n';
  const raw = beginStream(reply, { 'X-Response-Id': responseId });

  let ended = false;
  let blockedSince: number | null = null;
  let waiting: string[] = [];
  /** The waiting lines need values that are still loading. */
  let preparing = false;
  let attachment: Attachment | null = null;
  const write = (frame: string) => {
    if (!ended && !raw.write(frame)) {
      blockedSince ??= Date.now();
    }
  };

  /** Sends waiting lines while the socket accepts them; the rest follows on `drain`. */
  const send = () => {
    if (preparing) {
      return;
    }
    for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
      const { type, n } = eventHead(line);
      const shown = render(restorer === null ? line : restorer.line(line, type), type);
      if (shown !== null) {
        write(`id: ${responseId}:${n}\nevent: ${shown.type}\ndata: ${shown.line}\n\n`);
      }
      if (isTerminalType(type)) {
        write('data: [DONE]\n\n');
        finish();
        raw.end();
        return;
      }
      if (blockedSince !== null) {
        return;
      }
    }
    attachment?.resume();
  };
  raw.on('drain', () => {
    blockedSince = null;
    send();
  });

  const follower = {
    tenantId: request.identity.tenantId,
    responseId,
    after: options.after,
    isReady: () => !ended && waiting.length === 0 && blockedSince === null,
    deliver: (lines: string[]) => {
      waiting = lines;
      const ready = restorer?.prepare(lines) ?? null;
      if (ready === null) {
        send();
        return;
      }
      preparing = true;
      ready.then(
        () => {
          preparing = false;
          send();
        },
        () => raw.destroy(),
      );
    },
    recheck: () =>
      options.authorize().catch((error: unknown) => {
        if (error instanceof DomainError) {
          endWith(error);
        }
      }),
  };

  /** Sent to this reader only, never stored: no id, and the number of the last event that was sent. */
  const endWith = (error: DomainError) => {
    const payload = {
      type: 'error',
      sequence_number: Math.max(follower.after - waiting.length, 0),
      error: answerFor(request, error).body,
    };
    write(`event: error\ndata: ${JSON.stringify(payload)}\n\n`);
    finish();
    raw.end();
  };
  /** Never a clean end, which many clients would treat as the end of the answer. */
  const breakOff = () => {
    const destroy = () =>
      request.raw.httpVersionMinor === 0 ? raw.socket?.resetAndDestroy() : raw.destroy();
    if (ended || blockedSince !== null) {
      destroy();
    } else {
      raw.write(`retry: 500${aside}`, destroy);
    }
    finish();
  };

  const timers = [
    setInterval(() => {
      if (blockedSince !== null && Date.now() - blockedSince > blockedMs) {
        finish();
        raw.destroy();
      } else {
        write(`: keep-alive${aside}`);
      }
    }, keepAliveMs),
    setInterval(() => void follower.recheck(), recheckMs),
    setTimeout(breakOff, maxMs),
    setTimeout(
      () => endWith(new DomainError('response_expired', 'This response has expired.')),
      Math.min(Math.max(options.expiresInMs, 0), maxMs),
    ),
  ];

  const finish = () => {
    if (!ended) {
      ended = true;
      timers.forEach((timer) => clearTimeout(timer));
      options.open.delete(breakOff);
      attachment?.detach();
      options.onClose();
    }
  };
  options.open.add(breakOff);
  options.onOpen();
  write(`retry: 2000${aside}`);
  attachment = hub.attach(follower);
  raw.on('close', finish);
  if (raw.destroyed) {
    // The client disconnected before the `close` listener was added.
    finish();
  }
}

function asStored(line: string, type: string): { type: string; line: string } {
  return { type, line };
}
