import type { FetchLike } from '@modelcontextprotocol/client';
import { AuthorizationFailure } from '#domain/capabilities/connections/authorization-servers.ts';
import { hasCause } from '../egress/has-cause.ts';
import { isNeverSent } from '../egress/is-never-sent.ts';
import { EgressRefused } from '../egress/public-address.ts';
import { retryAfterMs } from '../egress/retry-after.ts';
import { withoutNulls } from './without-nulls.ts';

const maxPauseMs = 3_600_000;

/** The requests of one operation, and what the packages' own errors do not say about them. */
export interface Wire {
  fetch: FetchLike;
  /** A request may have reached the server. */
  sent: boolean;
  /** Status of the last answer; null: there was none. */
  status: number | null;
  /** A server answered that it cannot answer now. */
  unavailable: boolean;
  /** The pause that the last answer asked for; null: none. */
  retryAfterMs: number | null;
  /** Text of the last answer, without members that are null. */
  text: string;
}

/**
 * Reads each answer whole, so that every limit ends the request itself: a failure is an `AuthorizationFailure` for all
 * packages alike.
 */
export function newWire(bounded: typeof globalThis.fetch, signal: AbortSignal): Wire {
  const wire: Wire = {
    sent: false,
    status: null,
    unavailable: false,
    retryAfterMs: null,
    text: '',
    fetch: async (url, init) => {
      const sentBefore = wire.sent;
      wire.sent = true;
      wire.status = null;
      try {
        const answer = await bounded(url, { ...init, signal });
        wire.status = answer.status;
        wire.retryAfterMs = retryAfterMs(answer.headers.get('retry-after'), maxPauseMs);
        wire.unavailable ||= answer.status >= 500 || answer.status === 429;
        wire.text = withoutNulls(await answer.text());
        return copyOf(answer, wire.text);
      } catch (error) {
        wire.sent = sentBefore || !hasCause(error, isNeverSent);
        const refused = hasCause(error, (cause) => cause instanceof EgressRefused);
        throw new AuthorizationFailure(refused ? 'url_not_allowed' : 'unreachable', { sent: wire.sent });
      }
    },
  };
  return wire;
}

/** Cookies and lengths of the original do not hold for the copy. */
function copyOf(answer: Response, text: string): Response {
  const withoutBody = answer.status === 204 || answer.status === 205 || answer.status === 304;
  return new Response(withoutBody ? null : text, {
    status: answer.status,
    headers: [...answer.headers].filter(([name]) => !/^(content-(encoding|length)|set-cookie)$/i.test(name)),
  });
}
