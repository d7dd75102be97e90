import { ModelFailure } from '#domain/capabilities/models/model-gateway.ts';
import { toVendorRefusal } from '#domain/capabilities/models/vendor-refusal.ts';
import type { VendorConnection } from './vendor-connection.ts';

type Fetch = typeof globalThis.fetch;

/** The run's id must occur within this many characters of the answer. */
const maxBegun = 16_384;

/** A call that runs at OpenAI, whether or not a client is connected. */
export interface BackgroundRun {
  fetch: Fetch;
  /** The vendor's id of the run, as soon as the answer contains it. */
  named: Promise<string>;
  id(): string | null;
  /** Whether the vendor still has the run that was to be resumed. */
  found(): boolean;
}

/**
 * The provider package does not support background runs, so its fetch implements them. A new call is sent with
 * `background`. `resume` requests a run's events again, from the first event, because reasoning and calls that came
 * before the crash were not stored. The package reads both as the stream of a call.
 */
export function backgroundRun(fetch: Fetch, resume: string | null): BackgroundRun {
  let id = resume;
  let isFound = false;
  const { promise: named, resolve } = Promise.withResolvers<string>();
  if (resume !== null) {
    resolve(resume);
  }
  const start: Fetch = async (input, init) => {
    const body = JSON.parse(typeof init?.body === 'string' ? init.body : '{}') as Record<string, unknown>;
    const answer = await fetch(input, {
      ...init,
      body: JSON.stringify({ ...body, background: true, store: true }),
    });
    return watched(answer, (said) => {
      id = said;
      resolve(said);
    });
  };
  const again: Fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    url.pathname += `/${encodeURIComponent(String(resume))}`;
    url.search = '?stream=true';
    const { body: _body, method: _method, ...rest } = init ?? {};
    const answer = await fetch(url, { ...rest, method: 'GET' });
    if (answer.status === 404 || answer.status === 400) {
      await answer.body?.cancel();
      const refusal = toVendorRefusal(answer.status, null);
      throw new ModelFailure('run_lost', { retryable: true, retryAfterMs: 1, refusal });
    }
    isFound = answer.ok;
    return answer;
  };
  return { fetch: resume === null ? start : again, named, id: () => id, found: () => isFound };
}

/** Passes the answer through and extracts the id from its first event. */
function watched(answer: Response, found: (id: string) => void): Response {
  if (!answer.ok || answer.body === null) {
    return answer;
  }
  const decoder = new TextDecoder();
  let begun = '';
  let seen = false;
  const eye = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      begun += seen ? '' : decoder.decode(chunk, { stream: true });
      const match = seen ? null : /"response":\{"id":"([A-Za-z0-9_-]{1,200})"/.exec(begun);
      if (match?.[1] !== undefined) {
        found(match[1]);
      }
      if (match !== null || begun.length > maxBegun) {
        seen = true;
        begun = '';
      }
      controller.enqueue(chunk);
    },
  });
  return new Response(answer.body.pipeThrough(eye), {
    status: answer.status,
    headers: answer.headers,
  });
}

/** Cancels a run; a run that has already ended is no error. */
export async function cancelRun(
  { baseURL, apiKey, fetch }: VendorConnection,
  runId: string,
  signal: AbortSignal,
): Promise<void> {
  const answer = await fetch(`${baseURL}/responses/${encodeURIComponent(runId)}/cancel`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    signal,
  });
  await answer.body?.cancel();
}
