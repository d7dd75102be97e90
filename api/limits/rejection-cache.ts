import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { RequestVerdict } from './request-limits.ts';

const rememberedCredentials = 10_000;
/** Tokens that refill meanwhile are granted afterwards, so no caller loses by the delay. */
const rememberMs = 100;

/**
 * Caches valid credentials that were rate limited a moment ago. They are refused before their look-up, so that a flood
 * uses neither the database nor the connections that all tenants share.
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

/** A hash of the presented credential, which is not stored. */
function keyOf({ 'x-api-key': key, authorization }: IncomingHttpHeaders): string {
  return createHash('sha256')
    .update(JSON.stringify([key, authorization]))
    .digest('base64');
}
