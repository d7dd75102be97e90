import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ProjectMember',
  tableName: 'project_members',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    spaceId: p.uuid(),
    projectId: p.uuid(),
    principalId: p.uuid(),
    roleKey: p.text(),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

export class ProjectMember extends schema.class {}
schema.setClass(ProjectMember);
