import { defineEntity } from '@mikro-orm/core';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { skillCanBecome, type SkillStatus } from './skill-status.ts';

const schema = defineEntity({
  name: 'Skill',
  tableName: 'skills',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    name: p.text(),
    description: p.text().nullable(),
    status: p.text().$type<SkillStatus>().default('disabled'),
    currentVersionId: p.uuid().nullable(),
    latestVersion: p.integer().default(0),
    createdBy: p.uuid(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

/** A skill is `active` only while it has a published version. */
export class Skill extends schema.class {
  /** @throws `invalid_state` */
  become(status: SkillStatus): void {
    if (status === this.status) {
      return;
    }
    if (!skillCanBecome(this.status, status)) {
      throw new DomainError('invalid_state', `A skill that is ${this.status} cannot become ${status}.`);
    }
    if (status === 'active' && this.currentVersionId == null) {
      throw new DomainError('invalid_state', 'A skill needs a published version to become active.');
    }
    this.status = status;
  }
}
schema.setClass(Skill);
