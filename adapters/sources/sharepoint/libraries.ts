import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { GraphClient } from './graph-client.ts';
import { maxLibraries, type SharepointScope } from './scope.ts';
import type { Drive, DriveHome } from './wire.ts';

/**
 * The drives that the scope names, in the order of their ids.
 * @throws SourceFailure `scope_invalid` where it names too many, or what is not there
 */
export async function findLibraries(
  client: GraphClient,
  { site_url: site, drive_ids: ids, libraries }: SharepointScope,
  signal: AbortSignal,
): Promise<Drive[]> {
  if (site === undefined) {
    const found: Drive[] = [];
    for (const id of new Set(ids)) {
      found.push(await client.drive(id, signal));
    }
    return inOrder(found);
  }
  const all = await client.drives(await client.siteId(site, signal), signal);
  const wanted = new Set(libraries.map((name) => name.normalize('NFC')));
  const found = all.filter(({ name }) => wanted.size === 0 || wanted.has(name.normalize('NFC')));
  if (new Set(found.map(({ name }) => name.normalize('NFC'))).size < wanted.size) {
    throw new SourceFailure('scope_invalid', 'The site has no document library with a title of the scope.');
  }
  if (found.length === 0) {
    throw new SourceFailure('scope_invalid', 'The site shows no document library.');
  }
  if (found.length > maxLibraries) {
    throw new SourceFailure(
      'scope_invalid',
      `The site has more than ${maxLibraries} document libraries: name some in the scope.`,
    );
  }
  return inOrder(found);
}

/**
 * Asked before documents of a drive that the site does not list count as gone.
 * @throws SourceFailure where it is a library of the scope nevertheless, or may be one
 */
export async function expectNoLibrary(
  client: GraphClient,
  { site_url: site, libraries }: SharepointScope,
  driveId: string,
  signal: AbortSignal,
): Promise<void> {
  if (site === undefined || libraries.length > 0) {
    return;
  }
  const home = await client.driveHome(driveId, signal);
  if (home !== null && isOfSite(home, await client.siteId(site, signal))) {
    throw new SourceFailure('source_unreachable', 'The site does not list one of its document libraries.');
  }
}

/** The id of a site consists of the name of its host, the id of its collection, and its own. */
function isOfSite({ sharePointIds: ids }: DriveHome, site: string): boolean {
  const [, collection, web] = site.toLowerCase().split(',');
  const isSame = (id: string | null | undefined, other: string | undefined) =>
    id == null || other === undefined || id.toLowerCase() === other;
  return isSame(ids?.siteId, collection) && isSame(ids?.webId, web);
}

function inOrder(drives: readonly Drive[]): Drive[] {
  return drives.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
