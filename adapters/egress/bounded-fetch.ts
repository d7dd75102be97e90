import { AnswerWatch } from './answer-watch.ts';
import type { ExceededLimit } from './answer-limit-exceeded.ts';
import { answerLimits, errorBodyMs, type AnswerLimits, type AnswerUse } from './answer-limits.ts';
import { longEventBytes, type AnswerShare } from './answer-shares.ts';
import { EventMeter } from './event-meter.ts';
import { relayBody, type Pull } from './relay-body.ts';

export interface BoundedFetchOptions {
  /** The guarded fetch. */
  fetch: typeof globalThis.fetch;
  /** Overrides of the limits that `answerLimits` has for the use. */
  limits?: Partial<AnswerLimits>;
  /** Share of the tenant whose request is answered. */
  share?: AnswerShare | undefined;
  onLimitExceeded?: (exceeded: ExceededLimit) => void;
}

/**
 * The only reader of answers of external servers. It counts after inflation, passes a chunk on only when it is
 * requested, and destroys the connection of an answer that exceeds a limit.
 * @throws AnswerLimitExceeded also while the body is read
 */
export function boundedFetch(use: AnswerUse, options: BoundedFetchOptions): typeof globalThis.fetch {
  const limits: AnswerLimits = { ...answerLimits[use], ...options.limits };
  return async (input, init) => {
    const watch = new AnswerWatch((exceeded) => options.onLimitExceeded?.({ use, ...exceeded }));
    watch.allow('total', limits.totalMs);
    watch.allow('headers', limits.headersMs);
    const signal = init?.signal ? AbortSignal.any([init.signal, watch.signal]) : watch.signal;
    let answer: Response;
    try {
      answer = await options.fetch(input, { ...init, signal });
      if ((answer.headers.get('content-encoding') ?? '').includes(',')) {
        throw watch.limitExceeded('encodings');
      }
    } catch (error) {
      watch.end();
      throw error;
    }
    watch.received('headers');
    if (answer.body === null) {
      watch.end();
      return answer;
    }
    const body =
      answer.status >= 400 && limits.maxErrorBytes !== null
        ? beginningOf(answer.body, watch, limits.maxErrorBytes)
        : within(answer.body, watch, { limits, signal, share: options.share });
    return new Response(body, {
      status: answer.status,
      statusText: answer.statusText,
      headers: [...answer.headers],
    });
  };
}

interface Reading {
  limits: AnswerLimits;
  signal: AbortSignal;
  share: AnswerShare | undefined;
}

function within(
  body: ReadableStream<Uint8Array>,
  watch: AnswerWatch,
  { limits, signal, share }: Reading,
): ReadableStream {
  const events = new EventMeter(limits);
  let releaseShare: (() => void) | null = null;
  watch.onEnd(() => releaseShare?.());
  return relayWatched(body, watch, async (reader, controller) => {
    watch.allow('idle', limits.idleMs);
    const { value } = await reader.read();
    watch.received('idle');
    if (value === undefined) {
      watch.end();
      controller.close();
      return;
    }
    watch.bytes += value.byteLength;
    if (watch.bytes > limits.maxBytes) {
      throw watch.limitExceeded('bytes');
    }
    await share?.read(value.byteLength, signal);
    if (limits.maxEventBytes !== null) {
      if (events.passes(value)) {
        throw watch.limitExceeded('event');
      }
      if (share !== undefined && events.length > longEventBytes) {
        releaseShare ??= await share.longEvent(signal);
      } else {
        releaseShare?.();
        releaseShare = null;
      }
    }
    controller.enqueue(value);
  });
}

/** Truncates at the limit: the status already carries the needed information. */
function beginningOf(body: ReadableStream<Uint8Array>, watch: AnswerWatch, max: number): ReadableStream {
  watch.allow('total', errorBodyMs);
  return relayWatched(body, watch, async (reader, controller) => {
    const value = await reader.read().then(
      (read) => read.value,
      () => undefined,
    );
    if (value !== undefined) {
      controller.enqueue(value.subarray(0, max - watch.bytes));
      watch.bytes += value.byteLength;
    }
    if (watch.bytes > max) {
      watch.limitExceeded('bytes');
    }
    if (value === undefined || watch.bytes > max) {
      watch.end();
      controller.close();
    }
  });
}

function relayWatched(body: ReadableStream<Uint8Array>, watch: AnswerWatch, pull: Pull): ReadableStream {
  const end = () => watch.end();
  return relayBody(body.getReader(), pull, { onFailure: end, onCancel: end });
}
