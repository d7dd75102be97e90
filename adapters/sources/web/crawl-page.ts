import { SourceFailure, type ListedDocument, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import { discardBody } from '../shared/bounded-body.ts';
import { requestFailure, statusFailure } from '../shared/http-failure.ts';
import type { Frontier, Visit } from './frontier.ts';
import { mediaTypeOf, versionOf } from '../shared/http-version.ts';
import { readPage } from './read-page.ts';
import { nameOf, type Site } from './site.ts';
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
      const found = await visitPage(crawl, visit, signal);
      if (found !== null) {
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

const unread: Found = { version: null, byteSize: null, mediaType: null };

/** @returns null: no document */
async function visitPage(crawl: Crawl, visit: Visit, signal: AbortSignal): Promise<Found | null> {
  const { client, site, frontier } = crawl;
  const { address, depth, hops } = visit;
  const isStart = depth === 0;
  try {
    const answer = await client.request(address, signal);
    if (answer.kind === 'disallowed') {
      if (!isStart) return null;
      throw new SourceFailure('scope_invalid', 'The robots.txt of the site forbids a start address.');
    }
    if (answer.kind === 'redirect') {
      if (answer.to !== null && hops < maxHops) {
        if (isStart || site.accepts(answer.to))
          frontier.add({ ...visit, address: answer.to, hops: hops + 1 });
      } else if (isStart) {
        throw new SourceFailure('scope_invalid', 'A start address redirects to another site, or too often.');
      }
      return null;
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
      for (const link of links.filter((each) => site.accepts(each))) {
        frontier.add({ address: link, depth: depth + 1, hops: 0, isCanonical: false });
      }
    }
    if (canonical !== null && !visit.isCanonical && (await isAllowed(crawl, canonical, signal))) {
      frontier.add({ address: canonical, depth, hops: 0, isCanonical: true });
      return null;
    }
    if (response.status !== 200 || !site.accepts(address)) {
      return null;
    }
    const found = { version: versionOf(response), byteSize: null, mediaType: mediaTypeOf(response) };
    return content === null ? found : { ...found, byteSize: content.byteLength, content };
  } catch (error) {
    // A server that answers with an error is there.
    if (!(error instanceof SourceFailure)) frontier.broken += 1;
    return brokenPage(crawl, visit, requestFailure(error, signal));
  }
}

/** A page whose links are unknown: what only they lead to must not count as deleted. */
function brokenPage({ frontier, site }: Crawl, { address, depth }: Visit, failure: unknown): Found | null {
  const isOfPage =
    failure instanceof SourceFailure &&
    (failure.code === 'source_unreachable' || failure.code === 'source_invalid') &&
    depth > 0;
  if (!isOfPage || frontier.broken > maxBroken) {
    throw failure;
  }
  frontier.truncated = true;
  return site.accepts(address) ? unread : null;
}

async function isAllowed({ client }: Crawl, address: string, signal: AbortSignal): Promise<boolean> {
  return (await client.robots(new URL(address).origin, signal)).allows(address);
}

function refusedPage({ site, frontier }: Crawl, { address, depth }: Visit, response: Response): Found | null {
  const { status } = response;
  const failure = statusFailure(response);
  if (depth === 0 || failure.code === 'rate_limited' || failure.code === 'source_unreachable') {
    throw failure;
  }
  frontier.broken = 0;
  return (status === 401 || status === 403 || status === 451) && site.accepts(address) ? unread : null;
}
