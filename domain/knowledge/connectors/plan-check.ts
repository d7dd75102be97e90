import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { findCollection } from '#domain/knowledge/collections/find-collection.ts';
import { requireSource, sourceOf, type GivenSource } from './connector-spec.ts';
import type { SourceCatalogue, SourceUse } from './source-providers.ts';
import { requireSchedule, type SyncSchedule } from './sync-schedule.ts';

/**
 * The source of a connector that could be created: refused as its creation would be, and not stored.
 * @throws `missing_permission`, `collection_not_found`, `invalid_request`
 */
export async function planCheck(
  ctx: Context,
  providers: SourceCatalogue,
  input: GivenSource & { collectionId: string; syncSchedule: SyncSchedule | null },
): Promise<SourceUse> {
  const { tenantId, principalId } = ctx.caller;
  authorize(ctx.caller, 'connectors.create');
  const { spaceId } = await findCollection(ctx, input.collectionId);
  requireSchedule(input.syncSchedule);
  const scopeConfig = await requireSource(ctx, providers, input, spaceId);
  const { providerSlug, credentialId, clientCredentialId = null } = input;
  const connector = { tenantId, id: newId(), spaceId, principalId, providerSlug };
  return sourceOf(ctx.em, providers, connector, { scopeConfig, credentialId, clientCredentialId });
}
