import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { RequestVerdict } from './request-limits.ts';

const rememberedCredentials = 10_000;
/** What comes in for a bucket meanwhile is given afterwards, so nobody loses by it. */
const rememberMs = 100;

/**
 * Credentials that were proved and refused a moment ago. They are refused again before they are looked up, so that a
 * flood costs neither the database nor its connections, which are everybody's.
 */
export class RejectionCache {
  readonly #verdicts = new LRUCache<string, RequestVerdict>({
    max: rememberedCredentials,
    ttl: rememberMs,
    ttlResolution: 10,
  });

  find(headers: IncomingHttpHeaders): RequestVerdict | undefined {
    return this.#verdicts.size === 0 ? undefined : this.#verdicts.get(keyOf(headers));
  }

  remember(headers: IncomingHttpHeaders, verdict: RequestVerdict): void {
    this.#verdicts.set(keyOf(headers), verdict);
  }
}

/** Of what was presented, without keeping it. */
function keyOf({ 'x-api-key': key, authorization }: IncomingHttpHeaders): string {
  return createHash('sha256')
    .update(JSON.stringify([key, authorization]))
    .digest('base64');
}
