/** Restricts a search to some documents of its collections. */
export interface DocumentFilter {
  /** Each of these keys has this value in the document's metadata. */
  metadata?: Readonly<Record<string, string>>;
  /** Uploaded at or after. */
  createdFrom?: Date;
  /** Uploaded before. */
  createdBefore?: Date;
}

export interface SqlCondition {
  /** ` and …` for a statement's `where`, about the column of a document's id; empty when there is no filter. */
  sql: (column: string) => string;
  params: unknown[];
}

/** The condition belongs into the statement that ranks, before its limit. */
export function documentsMatching({
  tenantId,
  collectionIds,
  filter,
}: {
  tenantId: string;
  collectionIds: readonly string[];
  filter: DocumentFilter;
}): SqlCondition {
  const conditions: [sql: string, param: unknown][] = [];
  if (filter.metadata !== undefined && Object.keys(filter.metadata).length > 0) {
    conditions.push(['f.metadata @> ?::jsonb', JSON.stringify(filter.metadata)]);
  }
  if (filter.createdFrom !== undefined) {
    conditions.push(['f.created_at >= ?', filter.createdFrom]);
  }
  if (filter.createdBefore !== undefined) {
    conditions.push(['f.created_at < ?', filter.createdBefore]);
  }
  if (conditions.length === 0) {
    return { sql: () => '', params: [] };
  }
  const where = conditions.map(([sql]) => sql).join(' and ');
  return {
    sql: (column) =>
      `and ${column} = any (array(select f.id from documents f
         where f.tenant_id = ? and f.collection_id = any(?::uuid[]) and ${where}))`,
    params: [tenantId, `{${collectionIds.join(',')}}`, ...conditions.map(([, param]) => param)],
  };
}
