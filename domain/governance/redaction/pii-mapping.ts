import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { openFields } from '#domain/foundation/secrets/open-fields.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import type { Holder } from '#domain/governance/policy/pii-settings.ts';
import type { PiiEntry } from './redact.ts';

/** An entry with the principals who supplied its value. */
export interface KnownEntry extends PiiEntry {
  by: string[];
}

/** The entries of tokens, by token. */
export type PiiMapping = ReadonlyMap<string, KnownEntry>;

const place = (tenantId: string, row: string) => ({ tenantId, table: 'redactions', column: 'sealed', row });

interface Row {
  id: string;
  holder: string;
  sealed: string;
}

/** The entries of each holder: by thread id or response id. Holders without any are omitted. */
export async function readMappings(
  work: FieldWork,
  tenantId: string,
  holders: readonly Holder[],
): Promise<ReadonlyMap<string, PiiMapping>> {
  const rows = holders.length === 0 ? [] : await findRows(work.em, holders);
  const texts =
    rows.length === 0
      ? []
      : await openFields(
          work,
          rows.map((row) => ({ place: place(tenantId, row.id), sealed: row.sealed })),
        );
  const mappings = new Map<string, Map<string, KnownEntry>>();
  for (const [index, { holder }] of rows.entries()) {
    const mapping = mappings.get(holder) ?? new Map<string, KnownEntry>();
    mappings.set(holder, mapping);
    for (const entry of JSON.parse(texts[index] ?? '[]') as KnownEntry[]) {
      mapping.set(entry.token, joined(mapping.get(entry.token), entry));
    }
  }
  return mappings;
}

function joined(known: KnownEntry | undefined, entry: KnownEntry): KnownEntry {
  return known === undefined
    ? entry
    : { ...known, count: known.count + entry.count, by: [...new Set([...known.by, ...entry.by])] };
}

/** The entries of one conversation. */
export async function readMapping(
  work: FieldWork,
  tenantId: string,
  holders: readonly Holder[],
): Promise<PiiMapping> {
  const all = new Map<string, KnownEntry>();
  for (const mapping of (await readMappings(work, tenantId, holders)).values()) {
    mapping.forEach((entry, token) => all.set(token, joined(all.get(token), entry)));
  }
  return all;
}

function findRows(em: EntityManager, holders: readonly Holder[]): Promise<Row[]> {
  const threads = holders.flatMap((holder) => ('threadId' in holder ? [holder.threadId] : []));
  const responses = holders.flatMap((holder) => ('responseId' in holder ? [holder.responseId] : []));
  return em.execute<Row[]>(
    `select id, coalesce(thread_id::text, response_id) as holder, sealed from redactions
     where thread_id in (select jsonb_array_elements_text(?::jsonb)::uuid)
        or response_id in (select jsonb_array_elements_text(?::jsonb)) order by id`,
    [JSON.stringify(threads), JSON.stringify(responses)],
  );
}

/**
 * Appends a sealed batch. Batches are immutable, so concurrent writers do not wait for each other. Nothing is stored
 * for a deleted thread.
 */
export async function saveEntries(
  work: FieldWork,
  tenantId: string,
  { holder, entries }: { holder: Holder; entries: readonly KnownEntry[] },
): Promise<void> {
  if (entries.length === 0) {
    return;
  }
  const id = newId();
  const sealed = await sealField(work, place(tenantId, id), JSON.stringify(entries));
  await work.em.execute(
    'threadId' in holder
      ? `insert into redactions (tenant_id, id, thread_id, sealed)
         select tenant_id, ?, id, ? from threads where id = ? for key share`
      : `insert into redactions (tenant_id, id, sealed, response_id) values (?, ?, ?, ?)`,
    'threadId' in holder ? [id, sealed, holder.threadId] : [tenantId, id, sealed, holder.responseId],
  );
}

/** Attributes findings to the principal that supplied them. */
export function attributeTo(principalId: string, found: readonly PiiEntry[]): KnownEntry[] {
  return found.map((entry) => ({ ...entry, by: [principalId] }));
}
