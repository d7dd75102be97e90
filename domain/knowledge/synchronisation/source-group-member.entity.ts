import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'SourceGroupMember',
  tableName: 'source_group_members',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    connectorId: p.uuid().primary(),
    groupId: p.text().primary(),
    /** Lower case. */
    address: p.text().primary(),
    /** Number of the listing that it was seen in last. */
    listing: p.integer(),
  }),
});

/** A person's membership in a group of a source. */
export class SourceGroupMember extends schema.class {}
schema.setClass(SourceGroupMember);
