import { ProtocolError, type Client } from '@modelcontextprotocol/client';
import { SourceFailure, type WatchEnd, type WatchInput } from '#domain/knowledge/connectors/source.ts';
import { watchableRefs } from '#domain/knowledge/connectors/watchable-refs.ts';
import { EndingTransport } from '../../tools/ending-transport.ts';
import { watchedFetch } from '../../tools/watched-fetch.ts';
import type { SourceAccess } from '../provider.ts';
import { authorizationOf } from '../shared/authorization.ts';
import { createClient } from './client.ts';
import { answeredFailure, failureOf } from './failure.ts';
import { WatchFetch } from './watch-fetch.ts';

const requestMs = 30_000;
/** Subscriptions that are counted at once in the pace of the host. */
const pacedTogether = 50;
/** After so many refused subscriptions no other one is tried. */
const maxRefused = 10;

export interface WatchTarget {
  url: string;
  access: SourceAccess;
  /** Whether a URI is in the scope. */
  fits: (uri: string) => boolean;
}

interface Watching {
  client: Client;
  requests: WatchFetch;
  input: WatchInput;
  signal: AbortSignal;
  /** What the server declares. */
  offered: { subscribe: boolean; listChanged: boolean };
  /** An error of the client as what it says about the server. */
  describe: (error: unknown) => unknown;
}

/**
 * Subscribes to changes of resources over a session of its own, in either revision of the protocol, until the server ends
 * the stream. A server without subscriptions may still report changes of its list, and the other way round.
 */
export async function watchResources(
  { url, access, fits }: WatchTarget,
  input: WatchInput,
  signal: AbortSignal,
): Promise<WatchEnd> {
  signal.throwIfAborted();
  const stop = new AbortController();
  const requests = new WatchFetch(access, AbortSignal.any([signal, stop.signal]));
  const fetch: typeof globalThis.fetch = (...args) => requests.fetch(...args);
  const headers = await authorizationOf(access);
  const watched = watchedFetch({ fetch, briefFetch: fetch, headers, idempotencyKey: null });
  const describe = (error: unknown) =>
    failureOf(error, { wire: watched.rest, refusal: requests.refusal, isBroken: false, signal });
  const client = createClient();
  client.setNotificationHandler('notifications/resources/list_changed', () => input.onChange());
  client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
    if (fits(uri)) {
      input.onChange();
    }
  });
  const transport = new EndingTransport(new URL(url), { fetch: watched.fetch });
  try {
    await client.connect(transport, { signal, timeout: requestMs, maxTotalTimeout: requestMs });
    const { subscribe = false, listChanged = false } = client.getServerCapabilities()?.resources ?? {};
    if (!subscribe && !listChanged) {
      return 'unsupported';
    }
    const watching = { client, requests, input, signal, offered: { subscribe, listChanged }, describe };
    const end = await (client.getProtocolEra() === 'modern' ? listen(watching) : subscribeEach(watching));
    signal.throwIfAborted();
    return end;
  } catch (error) {
    signal.throwIfAborted();
    throw answeredFailure(describe(error));
  } finally {
    stop.abort();
    // Nothing waits for the end of the session: at a server that does not answer it expires.
    void transport
      .terminateSession()
      .catch(() => undefined)
      .then(() => client.close())
      .catch(() => undefined);
  }
}

/** Revision 2026-07-28: one request names all that is subscribed to, and its answer is the stream. */
async function listen({ client, input, signal, offered, describe }: Watching): Promise<WatchEnd> {
  const uris = offered.subscribe ? watchableRefs(input.refs) : [];
  const list = offered.listChanged ? { resourcesListChanged: true } : {};
  const open = (filter: Parameters<Client['listen']>[0]) =>
    client.listen(filter, { signal, timeout: requestMs });
  const subscription = await open(uris.length === 0 ? list : { ...list, resourceSubscriptions: uris }).catch(
    (error: unknown) => {
      if (uris.length === 0 || !offered.listChanged || !isRefused(describe(error))) {
        throw error;
      }
      return open(list);
    },
  );
  const { resourcesListChanged = false, resourceSubscriptions = [] } = subscription.honoredFilter;
  if (!resourcesListChanged && resourceSubscriptions.length === 0 && uris.length > 0) {
    return 'unsupported';
  }
  input.onSubscribed(offered.subscribe && (uris.length === 0 || resourceSubscriptions.length > 0));
  await subscription.closed;
  return 'closed';
}

/** Revisions before: a request for each resource, and a stream of its own for what the server reports. */
async function subscribeEach(watching: Watching): Promise<WatchEnd> {
  const { client, requests, input, signal, offered, describe } = watching;
  const hasStream = await Promise.race([requests.opened, noStream(signal)]);
  if (!hasStream) {
    return 'unsupported';
  }
  const uris = offered.subscribe ? watchableRefs(input.refs) : [];
  let accepted = 0;
  let refused = 0;
  for (const [n, uri] of uris.entries()) {
    if (n % pacedTogether === 0) {
      await input.pace(Math.min(pacedTogether, uris.length - n));
    }
    try {
      await client.subscribeResource({ uri }, { signal, timeout: requestMs, maxTotalTimeout: requestMs });
      accepted += 1;
    } catch (error) {
      if (!isRefused(describe(error))) {
        throw error;
      }
      refused += 1;
      if (refused >= maxRefused) {
        break;
      }
    }
  }
  if (accepted === 0 && uris.length > 0 && !offered.listChanged) {
    return 'unsupported';
  }
  input.onSubscribed(offered.subscribe && (uris.length === 0 || accepted > 0));
  await requests.ended;
  return 'closed';
}

/** The client asks for the stream by itself, unless the server answers its notification in an odd way. */
async function noStream(signal: AbortSignal): Promise<false> {
  const waiting = AbortSignal.any([signal, AbortSignal.timeout(requestMs)]);
  await new Promise((resolve) => waiting.addEventListener('abort', resolve, { once: true }));
  return false;
}

/** The server answers the request itself, or its body or method with a status: it can still be asked for less. */
function isRefused(failure: unknown): boolean {
  return (
    failure instanceof ProtocolError ||
    (failure instanceof SourceFailure &&
      (failure.code === 'scope_invalid' || failure.code === 'source_invalid'))
  );
}
