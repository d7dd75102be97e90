import { defineEntity } from '@mikro-orm/core';
import { canBecome, type ThreadStatus } from './thread-status.ts';

const schema = defineEntity({
  name: 'Thread',
  tableName: 'threads',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    spaceId: p.uuid(),
    projectId: p.uuid().nullable(),
    createdBy: p.uuid(),
    title: p.text().nullable(),
    status: p.text().$type<ThreadStatus>().default('active'),
    nextPosition: p.integer().default(0),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

/** A conversation of a space. */
export class Thread extends schema.class {
  /** @returns whether the status changed. @throws for a transition that is not allowed */
  become(status: ThreadStatus): boolean {
    if (this.status === status) {
      return false;
    }
    if (!canBecome(this.status, status)) {
      throw new Error(`A thread that is ${this.status} cannot become ${status}.`);
    }
    this.status = status;
    return true;
  }
}
schema.setClass(Thread);
