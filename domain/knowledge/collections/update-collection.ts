import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { changedFields } from '#domain/foundation/kernel/changed-fields.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import type { Collection } from './collection.entity.ts';
import { collectionLimits, requireDescription, requireText } from './collection-limits.ts';
import { lockCollection } from './find-collection.ts';
import { knownConfig, requireFewLanguages } from './text-search-config.ts';

export interface CollectionChange {
  collectionId: string;
  name?: string | undefined;
  description?: string | null | undefined;
  /** The language. Passages get its words in the background, and are found by those of the former until then. */
  textSearchConfig?: string | undefined;
  /** Holds for searches and reads that begin afterwards. */
  enforceSourceReaders?: boolean | undefined;
}

const fields = ['name', 'description', 'text_search_config', 'enforce_source_readers'] as const;

/**
 * Updates the given fields. The database records a change of the language for `reindexSlice`.
 * @throws `missing_permission`, `collection_not_found`, `invalid_request`, `invalid_state` for a language too many
 */
export async function updateCollection(ctx: Context, change: CollectionChange): Promise<Collection> {
  const { caller, em } = ctx;
  authorize(caller, 'collections.update');
  const collection = await lockCollection(ctx, change.collectionId);
  const before = {
    name: collection.name,
    description: collection.description ?? null,
    text_search_config: collection.textSearchConfig,
    enforce_source_readers: collection.enforceSourceReaders,
  };
  const { name, description, textSearchConfig: config, enforceSourceReaders: enforce } = change;
  const after = {
    name: name === undefined ? before.name : requireText('name', cleanText(name), collectionLimits.name),
    description: description === undefined ? before.description : requireDescription(description),
    text_search_config: config === undefined ? before.text_search_config : await knownConfig(ctx, config),
    enforce_source_readers: enforce ?? before.enforce_source_readers,
  };
  const changed = changedFields(fields, after, before);
  // Null equals absent there, but a description can be taken away.
  if (after.description === null && before.description !== null && !changed.includes('description')) {
    changed.push('description');
  }
  if (changed.length === 0) {
    return collection;
  }
  if (changed.includes('text_search_config')) {
    await requireFewLanguages(ctx, collection, after.text_search_config);
  }
  collection.name = after.name;
  collection.description = after.description;
  collection.textSearchConfig = after.text_search_config;
  collection.enforceSourceReaders = after.enforce_source_readers;
  collection.updatedAt = await databaseNow(em);
  await em.flush();
  await recordEvent(em, caller, {
    type: 'collection.updated',
    resource: { type: 'collection', id: collection.id },
    changedFields: changed,
    metadata: {
      space_id: collection.spaceId,
      ...(changed.includes('text_search_config') ? { text_search_config: after.text_search_config } : {}),
      ...(changed.includes('enforce_source_readers')
        ? { enforce_source_readers: after.enforce_source_readers }
        : {}),
    },
  });
  return collection;
}
