import { SourceFailure, type ListedDocument, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import { discardBody } from '../shared/bounded-body.ts';
import { requestFailure, statusFailure } from '../shared/http-failure.ts';
import type { Frontier } from './frontier.ts';
import { mediaTypeOf, versionOf } from '../shared/http-version.ts';
import { filterInTurns } from '#domain/foundation/kernel/loop-turns.ts';
import { readPage } from './read-page.ts';
import { nameOf, type Site } from './site.ts';
import type { Visit } from './visit.ts';
import type { WebClient } from './web-client.ts';

const maxVisits = 100;
/** Of contents that a page of the listing brings along. */
const maxContentBytes = 8 * 1_048_576;
const maxMs = 20_000;
const maxHops = 5;
/** Pages in a row that do not answer, after which the site does not. */
const maxBroken = 3;

export interface Crawl {
  client: WebClient;
  site: Site;
  frontier: Frontier;
  maxDepth: number;
}

type Found = Omit<ListedDocument, 'ref' | 'name' | 'url'>;

interface Visited {
  /** Null: no document. */
  found: Found | null;
  /** No page of the site answers at the address, with a content or another address. */
  isMissed: boolean;
}

const nothing: Visited = { found: null, isMissed: false };
const missed: Visited = { found: null, isMissed: true };

/** Visits the next addresses. After a failure the frontier is not to be used: its cursor from before is. */
export async function crawlPage(crawl: Crawl, signal: AbortSignal): Promise<SourcePage> {
  const { frontier } = crawl;
  const documents: ListedDocument[] = [];
  const end = Date.now() + maxMs;
  let bytes = 0;
  for (let visits = 0; visits < maxVisits && bytes < maxContentBytes && Date.now() < end; visits += 1) {
    const visit = frontier.take();
    if (visit === null) break;
    try {
      const { found, isMissed } = await visitPage(crawl, visit, signal);
      if (isMissed) frontier.miss(visit);
      if (found !== null) {
        if (!isMissed) frontier.list(visit.address);
        documents.push({ ...found, ref: visit.address, name: nameOf(visit.address), url: visit.address });
        bytes += found.content?.byteLength ?? 0;
      }
    } catch (error) {
      if (signal.aborted || visits === 0) throw error;
      // What was found until here counts; the next page begins with the failure.
      frontier.putBack(visit);
      break;
    }
  }
  if (frontier.isEmpty && frontier.answered === 0) {
    throw new SourceFailure(
      'scope_invalid',
      'The start addresses lead to no page: they redirect in a circle.',
    );
  }
  const next = frontier.isEmpty ? null : frontier.encode();
  const { truncated } = frontier;
  return { documents, gone: [], next, checkpoint: null, total: null, scope: 'everything', truncated };
}

const linked = { hops: 0, isStart: false, standsAlone: false, namedBy: [] };
const unread: Found = { version: null, byteSize: null, mediaType: null };

async function visitPage(crawl: Crawl, visit: Visit, signal: AbortSignal): Promise<Visited> {
  const { client, site, frontier } = crawl;
  const { address, depth, hops, isStart } = visit;
  try {
    const answer = await client.request(address, signal);
    if (answer.kind === 'disallowed') {
      if (!isStart) return missed;
      throw new SourceFailure('scope_invalid', 'The robots.txt of the site forbids a start address.');
    }
    if (answer.kind === 'redirect') {
      if (answer.to !== null && hops < maxHops) {
        if (!isStart && !site.accepts(answer.to)) return missed;
        frontier.redirect(visit, answer.to);
        return nothing;
      }
      if (isStart) {
        throw new SourceFailure('scope_invalid', 'A start address redirects to another site, or too often.');
      }
      return missed;
    }
    const { response } = answer;
    if (!response.ok) {
      await discardBody(response);
      return refusedPage(crawl, visit, response);
    }
    const { content, links, canonical } = await readPage(response, address, site);
    frontier.answered += 1;
    frontier.broken = 0;
    if (depth < crawl.maxDepth) {
      for (const link of await filterInTurns(links, (each) => site.accepts(each), signal)) {
        frontier.add({ ...linked, address: link, depth: depth + 1 });
      }
    }
    if (canonical !== null && !visit.standsAlone && (await isAllowed(crawl, canonical, signal))) {
      if (frontier.defer(visit, canonical)) return nothing;
    }
    if (response.status !== 200 || !site.accepts(address)) {
      return missed;
    }
    const found = { version: versionOf(response), byteSize: null, mediaType: mediaTypeOf(response) };
    return {
      found: content === null ? found : { ...found, byteSize: content.byteLength, content },
      isMissed: false,
    };
  } catch (error) {
    // A server that answers with an error is there.
    if (!(error instanceof SourceFailure)) frontier.broken += 1;
    return brokenPage(crawl, visit, requestFailure(error, signal));
  }
}

/** A page whose links are unknown: what only they lead to must not count as deleted. */
function brokenPage({ frontier, site }: Crawl, { address, isStart }: Visit, failure: unknown): Visited {
  const isOfPage =
    failure instanceof SourceFailure &&
    (failure.code === 'source_unreachable' || failure.code === 'source_invalid') &&
    !isStart;
  if (!isOfPage || frontier.broken > maxBroken) {
    throw failure;
  }
  frontier.truncated = true;
  return { found: site.accepts(address) ? unread : null, isMissed: false };
}

async function isAllowed({ client }: Crawl, address: string, signal: AbortSignal): Promise<boolean> {
  return (await client.robots(new URL(address).origin, signal)).allows(address);
}

function refusedPage({ site, frontier }: Crawl, { address, isStart }: Visit, response: Response): Visited {
  const { status } = response;
  const failure = statusFailure(response);
  if (isStart || failure.code === 'rate_limited' || failure.code === 'source_unreachable') {
    throw failure;
  }
  frontier.broken = 0;
  const isForbidden = status === 401 || status === 403 || status === 451;
  return { found: isForbidden && site.accepts(address) ? unread : null, isMissed: true };
}
