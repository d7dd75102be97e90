import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { changedFields } from '#domain/foundation/kernel/changed-fields.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { lockSpace } from '#domain/workspace/spaces/lock-space.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { piiSettings, type PiiSettings } from './pii-settings.ts';

export interface SpaceGovernance {
  spaceId: string;
  /** Increases with every change; each response shows the version that applied to it. */
  policyVersion: number;
  pii: PiiSettings;
  updatedAt: Date;
}

/** The settings of the caller's space. @throws `missing_permission` */
export async function readGovernance(ctx: Context): Promise<SpaceGovernance> {
  authorize(ctx.caller, 'governance.read');
  return toGovernance(await findSpace(ctx));
}

/**
 * Replaces the space's settings; running responses keep those of their start. Equal settings change nothing. @throws
 * `missing_permission`
 */
export async function updateGovernance(ctx: Context, pii: PiiSettings): Promise<SpaceGovernance> {
  authorize(ctx.caller, 'governance.update');
  const space = await lockSpace(ctx);
  const before = toGovernance(space);
  const fields = Object.keys(pii) as (keyof PiiSettings)[];
  const changed = changedFields(fields, pii, before.pii).map((name) => `pii.${name}`);
  if (changed.length === 0) {
    return before;
  }
  space.policy = { ...space.policy, pii, version: before.policyVersion + 1 };
  space.updatedAt = await databaseNow(ctx.em);
  await ctx.em.flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.governance_updated',
    resource: { type: 'space', id: space.id },
    metadata: { changed_fields: changed.join(','), mode: pii.mode, kinds: pii.kinds.join(',') },
  });
  return toGovernance(space);
}

async function findSpace(ctx: Context): Promise<Space> {
  const space = await ctx.em.findOne(Space, { id: spaceOf(ctx.caller) });
  if (space === null) {
    throw notFound('space_not_found');
  }
  return space;
}

function toGovernance({ id, policy, updatedAt }: Space): SpaceGovernance {
  return {
    spaceId: id,
    policyVersion: typeof policy.version === 'number' ? policy.version : 1,
    pii: piiSettings.parse(policy.pii ?? {}),
    updatedAt,
  };
}
