import { raw } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { findCollection } from '#domain/knowledge/collections/find-collection.ts';
import { isReadable, sourceReading } from '#domain/knowledge/collections/source-reading.ts';
import { findConnector, type ConnectorRef } from './find-connector.ts';
import { SourceDocument } from './source-document.entity.ts';
import type { SourceDocumentState } from './sync-status.ts';

/**
 * The documents of a connector's source as the last runs saw them, the latest found first. Where the collection
 * enforces the readers of its sources, only those that the caller may read there; the readers of a document that is not
 * stored are unknown, so that only callers who may change connectors see it.
 * @throws `missing_permission`, `collection_not_found`, `connector_not_found`, `invalid_cursor`
 */
export async function listSourceDocuments(
  ctx: Context,
  input: ConnectorRef & { state: SourceDocumentState | null; limit: number; cursor: string | null },
): Promise<Page<SourceDocument>> {
  authorize(ctx.caller, 'connectors.read');
  authorize(ctx.caller, 'documents.read');
  const { id: connectorId } = await findConnector(ctx, input);
  const { state, limit, cursor } = input;
  return keysetPage(ctx, {
    limit,
    cursor,
    entity: SourceDocument,
    where: {
      connectorId,
      ...(state === null ? {} : { state }),
      ...(await whereVisible(ctx, input.collectionId)),
    },
    operation: 'source_documents.list',
    filters: { connectorId, state },
  });
}

async function whereVisible(ctx: Context, collectionId: string): Promise<object> {
  const collection = await findCollection(ctx, collectionId);
  const reading = await sourceReading(ctx.em, [collection], ctx.caller.principalId);
  if (reading === null) {
    return {};
  }
  const { sql, params } = isReadable('d', reading);
  const unstored = ctx.caller.granted.has('connectors.update');
  return {
    [raw(
      (alias) =>
        `(${alias}.document_id in (select d.id from documents d
            where d.tenant_id = ${alias}.tenant_id and d.collection_id = ? and ${sql})
          ${unstored ? `or ${alias}.document_id is null` : ''})`,
      [collectionId, ...params],
    )]: [],
  };
}
