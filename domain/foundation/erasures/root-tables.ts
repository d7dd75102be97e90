import type { RootType } from '#domain/foundation/durable/workflow-inputs.ts';

/** The table of each root. Its rows have an `id` and a `deleted_at`, by which they are out of sight of the runtime role. */
export const rootTables = {
  collection: 'collections',
  space: 'spaces',
} satisfies Record<RootType, string>;
