import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { findSkill } from './find-skill.ts';
import { optionalSkillText, requireSkillText } from './skill-limits.ts';
import { Skill } from './skill.entity.ts';

export interface CreateSkill {
  name: string;
  description: string | null;
  idempotency: IdempotentRequest | null;
}

/**
 * Creates a skill without a version: it is offered from its first publication on.
 * @throws `missing_permission`, `invalid_request`, `already_exists`, and the refusals of `claimKey`
 */
export async function createSkill(
  ctx: Context,
  input: CreateSkill,
): Promise<{ skill: Skill; replayed: boolean }> {
  authorize(ctx.caller, 'skills.create');
  const id = newId();
  const claimed = input.idempotency === null ? id : await claimKey(ctx, input.idempotency, id);
  if (claimed !== id) {
    return { skill: await findSkill(ctx, claimed), replayed: true };
  }
  const skill = ctx.em.create(Skill, {
    tenantId: ctx.caller.tenantId,
    id,
    name: requireSkillText('name', input.name),
    description: optionalSkillText('description', input.description),
    createdBy: ctx.caller.principalId,
  });
  await ctx.em.persist(skill).flush().catch(mapUniqueViolation('A skill with this name exists.', 'name'));
  await recordEvent(ctx.em, ctx.caller, {
    type: 'system.skill_changed',
    resource: { type: 'skill', id },
    metadata: { change: 'created', name: skill.name },
  });
  return { skill, replayed: false };
}
