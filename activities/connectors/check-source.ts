import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { dropFormerMembers, saveGroups } from '#domain/knowledge/synchronisation/save-groups.ts';
import type { SyncConnectorInput } from '#workflows/sync-connector/messages.ts';
import { withSource, type SourceDependencies } from './run-steps.ts';

const maxGroupPages = 1_000;

/** Checks the source at the beginning of a run, unless its listing does, and synchronises the members of its groups. */
export async function checkSource(
  deps: SourceDependencies,
  input: SyncConnectorInput,
  signal: AbortSignal,
): Promise<void> {
  await withSource(deps, input, async ({ source, pace, tenantId, run }) => {
    if (source.isCheckedByListing !== true) {
      await pace(1, signal);
      await source.check(signal);
    }
    if (source.groups === undefined) {
      return;
    }
    let cursor: string | null = null;
    for (let page = 0; page < maxGroupPages; page += 1) {
      await pace(1, signal);
      const { groups, next } = await source.groups(cursor, signal);
      await deps.unitOfWork.inTenant(tenantId, (em) => saveGroups(em, run.id, groups));
      cursor = next;
      if (next === null) {
        await deps.unitOfWork.inTenant(tenantId, (em) => dropFormerMembers(em, run.id));
        return;
      }
    }
    // Without its end, former members could not be distinguished from those that were not listed.
    throw new SourceFailure('source_invalid', 'The source lists its groups without an end.');
  });
}
