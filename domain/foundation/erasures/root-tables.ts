import type { RootType } from '#domain/foundation/durable/workflow-inputs.ts';

/**
 * The table of each root. Its rows have an `id` and a `deleted_at`, by which they are out of sight of the runtime role; a
 * principal has it as its end, and its row stays as the id that others refer to.
 */
export const rootTables = {
  collection: 'collections',
  space: 'spaces',
  project: 'projects',
  principal: 'principals',
} satisfies Record<RootType, string>;
