import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Project',
  tableName: 'projects',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    spaceId: p.uuid(),
    name: p.text(),
    description: p.text().nullable(),
    createdBy: p.uuid(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
    /** Its rows are being erased; only the purge role sees it. */
    deletedAt: p.datetime().nullable(),
  }),
});

export class Project extends schema.class {}
schema.setClass(Project);
