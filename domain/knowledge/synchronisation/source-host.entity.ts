import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'SourceHost',
  tableName: 'source_hosts',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    /** `host:port`. */
    host: p.text().primary(),
    /** When the next request may be sent to it. */
    nextAt: p.datetime(),
  }),
});

/** The shared bucket of requests to one host for one tenant. */
export class SourceHost extends schema.class {}
schema.setClass(SourceHost);
