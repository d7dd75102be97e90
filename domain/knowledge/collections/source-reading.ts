import { raw } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { verifiedAddress } from '#domain/identity/principals/verified-address.ts';
import type { Collection } from './collection.entity.ts';

/** What a principal may read in collections that enforce the readers of their sources. */
export interface SourceReading {
  /** The collections that do; never empty. */
  enforcedIn: readonly string[];
  /** The readers that the principal is one of, as `documents.source_readers` stores them. */
  readers: readonly string[];
}

/** Max groups of one address that count. */
const maxGroups = 1_000;

/**
 * Everybody, and the address, its domain and the groups of a principal at the sources of these collections. Asked by each of the two
 * searches, and where their passages are read. @returns null where no collection enforces readers: nothing is asked for
 */
export async function sourceReading(
  em: EntityManager,
  collections: readonly Pick<Collection, 'tenantId' | 'id' | 'enforceSourceReaders'>[],
  principalId: string,
): Promise<SourceReading | null> {
  const enforced = collections.filter(({ enforceSourceReaders }) => enforceSourceReaders);
  const [first] = enforced;
  if (first === undefined) {
    return null;
  }
  const enforcedIn = enforced.map(({ id }) => id);
  const address = await verifiedAddress(em, principalId);
  if (address === null) {
    return { enforcedIn, readers: ['public'] };
  }
  const groups = await em.execute<{ reader: string }[]>(
    `select 'group:' || m.connector_id || ':' || m.group_id as reader
     from source_group_members m join connectors c on c.tenant_id = m.tenant_id and c.id = m.connector_id
     where m.tenant_id = ? and m.address = ? and c.collection_id = any(?::uuid[])
     order by m.connector_id, m.group_id limit ${maxGroups}`,
    [first.tenantId, address, `{${enforcedIn.join(',')}}`],
  );
  const own = ['public', `address:${address}`, ...domainReader(address)];
  return { enforcedIn, readers: [...own, ...groups.map(({ reader }) => reader)] };
}

/** Of what stands behind the last @ alone: subdomains are domains of others, and a text without one is of no domain. */
function domainReader(address: string): string[] {
  const at = address.lastIndexOf('@');
  return at > 0 ? [`domain:${address.slice(at + 1)}`] : [];
}

/**
 * The condition that a document is readable; it belongs before the limit of a statement. Parameters in its order. The
 * readers are looked up by hash: the operator `&&` compares each with each, which is slow with a thousand groups.
 */
export function isReadable(
  documents: string,
  { enforcedIn, readers }: SourceReading,
): { sql: string; params: string[] } {
  return {
    sql: `(${documents}.collection_id <> all (?::uuid[]) or ${documents}.source_readers is null
       or exists (select from unnest(${documents}.source_readers) reader where reader = any (?::text[])))`,
    params: [`{${enforcedIn.join(',')}}`, textArray(readers)],
  };
}

/** The same, without a condition for null. */
export function readableOf(
  documents: string,
  reading: SourceReading | null,
): { sql: string; params: string[] } {
  return reading === null ? { sql: 'true', params: [] } : isReadable(documents, reading);
}

/** A literal of PostgreSQL, for a parameter: the result of a subquery would not be looked up by hash. */
export function textArray(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`;
}

/** The same for a query of entities; no condition for null. */
export function whereReadable(reading: SourceReading | null): Record<symbol, never[]> {
  if (reading === null) {
    return {};
  }
  const { params } = isReadable('', reading);
  return { [raw((alias) => isReadable(alias, reading).sql, params)]: [] };
}
