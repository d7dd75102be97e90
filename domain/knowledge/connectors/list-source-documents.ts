import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { findConnector, type ConnectorRef } from './find-connector.ts';
import { SourceDocument } from './source-document.entity.ts';
import type { SourceDocumentState } from './sync-status.ts';

/**
 * The documents of a connector's source as the last runs saw them, the latest found first.
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
    where: { connectorId, ...(state === null ? {} : { state }) },
    operation: 'source_documents.list',
    filters: { connectorId, state },
  });
}
